#!/bin/sh
# Builds the program for this machine's GPUs, measures the plan beside this file, and writes results.jsonl.
# Usage: ./run.sh [DEVICE]. With LOCKSTEP_SLICE=2/10 it measures the third tenth of the cases, and writes results-2.jsonl.
set -eu
cd "$(dirname "$0")"
device=${1:-0}

stop() {
  echo "$1" >&2
  exit 1
}

# Slices share a folder. Each slice has its own files, and each machine its own program.
slice=${LOCKSTEP_SLICE:-0/1}
slices=${slice#*/} slice=${slice%%/*} build=build work=build results=results.jsonl
case $slice/$slices in
  *[!0-9/]* | /* | */ | */*/*) stop "LOCKSTEP_SLICE must be SLICE/SLICES, such as 2/10; slices are counted from 0" ;;
esac
[ "$slice" -lt "$slices" ] || stop "slice $slice is not among 0 to $((slices - 1))"
if [ "$slices" -gt 1 ]; then build=build-$(uname -n) work=slice-$slice results=results-$slice.jsonl; fi

case $device in
  '' | *[!0-9]*) stop "device $device is not a number from 0 on" ;;
esac

# An existing result file must belong to this plan; its unfinished cases are measured again.
if [ -f "$results" ] && ! head -n 1 "$results" | cmp -s - plan.jsonl; then
  stop "$results belongs to another plan; move it away first"
fi

@COMPILER@
# The program is built once for a machine, a compiler and its settings.
mkdir -p "$build" "$work"
if [ "$slices" -gt 1 ] && command -v flock >/dev/null 2>&1; then
  # Slices of one machine build one after another.
  exec 9>"$build/lock"
  flock 9
fi
stamp="$(uname -n) $compiler $settings $("$compiler" --version | tr '\n' ' ')"
make() {
  made=$build/$1
  shift
  # shellcheck disable=SC2086
  "$compiler" $flags "$@" -o "$made" >"$build/log.txt" 2>&1 || {
    cat "$build/log.txt" >&2
    refused
    stop "${compiler##*/} could not make $made"
  }
}
build() {
  echo "compiling $build/$1"
  make "$@" @FLAGS@
}

# A program that only lists the devices comes first: it builds in seconds, and the others take longer.
if [ ! -x "$build/devices" ] || [ "$(cat "$build/devices.txt" 2>/dev/null)" != "$stamp" ]; then
  rm -f "$build/devices"
  flags=''
  @COMPILE_DEVICES@
  @LINK_DEVICES@
  echo "$stamp" >"$build/devices.txt"
fi
if ! "./$build/devices" >"$work/devices.jsonl"; then
  cat "$work/devices.jsonl" >&2
  stop "this machine has no @PLATFORM@ device that answers"
fi
if [ "$(grep -c '"type":"device"' "$work/devices.jsonl")" -le "$device" ]; then
  cat "$work/devices.jsonl" >&2
  stop "there is no device $device; the devices above are numbered from 0"
fi

@TARGETS@
stamp="$stamp $compiler $flags"
if [ ! -x "$build/@PROGRAM@" ] || [ "$(cat "$build/stamp.txt" 2>/dev/null)" != "$stamp" ]; then
  rm -f "$build/@PROGRAM@"
@BUILD@
  echo "$stamp" >"$build/stamp.txt"
fi
exec 9>&-

# A case is done once its result was checked, or it failed. Lines of other cases, and a truncated line, are dropped.
[ -f "$results" ] || cp plan.jsonl "$results"
awk -v slice="$slice" -v slices="$slices" '$1 == "case" && n++ % slices != slice { print $2 }' plan.txt >"$work/others.txt"
cases=$((@CASES@ - $(wc -l <"$work/others.txt")))
settle() {
  awk '
    /^[{]"type":"(check|failed)",.*"[}]$/ && match($0, /"case":"[^"]*"/) { print substr($0, RSTART + 8, RLENGTH - 9) }
  ' "$results" >"$work/done.txt"
  awk -v results="$results" '
    FILENAME != results { done[$0] = 1; next }
    FNR == 1 || /^[{]"type":"device",.*[}][}]$/ { print; next }
    match($0, /"case":"[^"]*"/) && substr($0, RSTART + 8, RLENGTH - 9) in done
  ' "$work/done.txt" "$results" >"$work/kept.jsonl"
  mv "$work/kept.jsonl" "$results"
  cat "$work/done.txt" "$work/others.txt" >"$work/skipped.txt"
}

settle
echo "measuring; $(wc -l <"$work/done.txt" | tr -d ' ') of $cases cases are done already"
while :; do
  status=0
  "./$build/@PROGRAM@" --plan plan.txt --device "$device" --done "$work/skipped.txt" >>"$results" || status=$?
  # A launch hung. Its case has failed, and a new process measures the others.
  [ "$status" -eq @HUNG@ ] || break
  tail -n 1 "$results" >&2
  settle
done
if [ "$status" -ne 0 ]; then
  tail -n 1 "$results" >&2
  stop "measuring ended early; run this again to continue with the next case"
fi
echo "$(grep -c '"type":"check"' "$results") cases measured, $(grep -c '"type":"failed"' "$results") failed: $results"
