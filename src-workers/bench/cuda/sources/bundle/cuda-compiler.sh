# Compute capabilities of this machine's GPUs, 90 for 9.0; none without nvidia-smi.
# On WSL it is not in PATH.
capabilities=$(PATH=$PATH:/usr/lib/wsl/lib nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | tr -d ' .\r' | grep -x '[0-9][0-9]*' | sort -nu || true)

# Sets the flags of compiler $1: machine code for the GPUs that it knows, and for newer GPUs its newest PTX, which the
# driver compiles. $lacking gets the GPUs that are too old for this compiler.
flags_of() {
  codes=$("$1" --list-gpu-code 2>/dev/null | sed -n 's/^sm_\([0-9]*\)$/\1/p' | sort -n || true)
  flags='' lacking=''
  for capability in $capabilities; do
    older=''
    for code in $codes; do if [ "$code" -le "$capability" ]; then older=$code; fi; done
    if [ -z "$codes" ] || [ "$older" = "$capability" ]; then code="arch=compute_$capability,code=sm_$capability"
    elif [ -n "$older" ]; then code="arch=compute_$older,code=compute_$older"
    else
      lacking="$lacking $capability"
      continue
    fi
    case $flags in *"$code"*) ;; *) flags="$flags -gencode $code" ;; esac
  done
}
# Prints which toolkit compiles for GPU $1, which is too old for the compiler.
explain() {
@RELEASES@
  else older='another release of CUDA'; fi
  echo "compute capability ${1%?}.${1#"${1%?}"} needs $older; set NVCC=/path/to/nvcc" >&2
}
# Prints why the compiler refused a source, if that is known.
refused() {
  grep -q 'Unsupported gpu architecture' "$build/log.txt" || return 0
  echo "$compiler does not know this GPU. If the GPU is newer, set LOCKSTEP_ARCHITECTURE to the newest of these:" >&2
  "$compiler" --list-gpu-arch >&2 || true
  capability=$(sed -n "s/.*Unsupported gpu architecture 'compute_\([0-9]*\).*/\1/p" "$build/log.txt" | head -n 1)
  if [ -n "$capability" ] && [ "$capability" -le @NEWEST_OLD@ ]; then explain "$capability"; fi
}

# The first compiler with the fewest GPUs that are too old for it.
if [ -n "${NVCC:-}" ]; then set -- "$NVCC"
else set -- nvcc "${CUDA_HOME:-}/bin/nvcc" "${CUDA_PATH:-}/bin/nvcc" /usr/local/cuda/bin/nvcc /usr/local/cuda-*/bin/nvcc /opt/cuda*/bin/nvcc; fi
choose() {
  compiler='' fewest=''
  for candidate in "$@"; do
    command -v "$candidate" >/dev/null 2>&1 || continue
    flags_of "$candidate"
    count=$(echo "$lacking" | wc -w)
    if [ -z "$compiler" ] || [ "$count" -lt "$fewest" ]; then compiler=$candidate fewest=$count; fi
  done
}
choose "$@"
if [ -z "$compiler" ]; then
  stop "nvcc was not found. Install the CUDA toolkit in PATH, CUDA_HOME or /usr/local/cuda, or set NVCC=/path/to/nvcc"
fi
settings="${NVCC_PREPEND_FLAGS:-} ${NVCC_APPEND_FLAGS:-} ${NVCC_CCBIN:-}"
