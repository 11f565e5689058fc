if [ -n "${LOCKSTEP_ARCHITECTURE:-}" ]; then flags="-arch=$LOCKSTEP_ARCHITECTURE"
else
  if [ -z "$capabilities" ]; then
    capabilities=$(sed -n 's/.*"computeCapability":"\([0-9]*\)\.\([0-9]\)".*/\1\2/p' "$work/devices.jsonl" | grep -vx 00 | sort -nu || true)
    choose "$@"
  fi
  flags_of "$compiler"
  for capability in $lacking; do explain "$capability"; done
  [ -n "$flags$lacking" ] || flags=-arch=native
  [ -n "$flags" ] || stop "$compiler compiles for none of this machine's GPUs"
fi
