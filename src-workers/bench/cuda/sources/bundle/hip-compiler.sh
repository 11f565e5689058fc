compiler='' settings="${HIPCC_COMPILE_FLAGS_APPEND:-}"
# Without this variable, hipcc would prefer nvcc, if it is installed.
export HIP_PLATFORM=amd
if [ -n "${HIPCC:-}" ]; then set -- "$HIPCC"
else set -- hipcc "${HIP_PATH:-}/bin/hipcc" "${ROCM_PATH:-}/bin/hipcc" /opt/rocm/bin/hipcc /opt/rocm-*/bin/hipcc; fi
for candidate in "$@"; do
  if [ -z "$compiler" ] && command -v "$candidate" >/dev/null 2>&1; then compiler=$candidate; fi
done
[ -n "$compiler" ] || stop "hipcc was not found. Install ROCm in PATH, ROCM_PATH or /opt/rocm, or set HIPCC=/path/to/hipcc"
refused() { :; }
