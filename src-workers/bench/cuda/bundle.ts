import { createHash } from 'node:crypto';
import type { BenchPlan, PlanLine, PlanSource } from '../../domain/benchmark.ts';
import { ok, type Result } from '../../domain/result.ts';
import type { WorkloadContext } from '../../parse/grammar.ts';
import { keptPlan } from '../plan-files.ts';
import { wordBytes } from '../words.ts';
import { LAST_RELEASES } from './releases.ts';
import { COMPILE_FLAGS, cudaPlan, EXIT_HUNG, LINK_FLAGS, type CudaObject, type PlacedFile } from './cuda-plan.ts';

export interface BundleContents {
  /** The CUDA sources, by name: what `readCudaSources` gives. */
  readonly sources: readonly PlacedFile[];
  /** The sweep that the plan's designs come from, if they do. */
  readonly source: PlanSource | null;
  /** Reads the files that workloads of `matrix-power` name. */
  readonly context: WorkloadContext;
}

/**
 * Everything that a machine with a GPU and nvcc needs to measure the plan without Lockstep: sources, plan, and `run.sh`, which
 * leaves `results.jsonl`, a result file. Fails as `cudaPlan` does.
 */
export async function makeBundle(plan: BenchPlan, contents: BundleContents): Promise<Result<readonly PlacedFile[]>> {
  const made = await cudaPlan(plan, contents.context);
  if (!made.ok) return made;
  const text = (path: string, lines: string): PlacedFile => ({ path, bytes: new TextEncoder().encode(lines) });
  return ok([
    text('README.txt', readme(plan)),
    { ...text('run.sh', script(made.value.objects, plan.cases.length)), executable: true },
    text('plan.jsonl', `${JSON.stringify(planLine(plan, contents.source))}\n`),
    ...made.value.files,
    ...contents.sources.map(({ path, bytes }) => ({ path: `sources/${path}`, bytes })),
  ]);
}

/** The first line of a result file of this plan. */
export function planLine(plan: BenchPlan, source: PlanSource | null): PlanLine {
  const { workload } = plan;
  const digest = workload && createHash('sha256').update(wordBytes(workload.lengths)).digest('hex');
  return keptPlan(plan, digest, source);
}

function readme(plan: BenchPlan): string {
  return `Measurements for Lockstep
=========================

${plan.cases.length} cases, ${plan.warmUps} warm-ups and ${plan.repeats} repeats each, for one CUDA device.

1. Copy this folder to a machine with an NVIDIA GPU, its driver, the CUDA toolkit (nvcc) and a C++17 compiler.
2. Run  ./run.sh      for the first GPU, or  ./run.sh 1  for the second, and so on.
3. Import results.jsonl into Lockstep:  lockstep import results.jsonl

Run it again to continue where it was interrupted: cases that are done, or that failed, are not measured again. Delete
results.jsonl to measure everything anew.

Settings, as environment variables:
  NVCC                   the compiler. By default the first one that knows the GPUs of this machine, of PATH, CUDA_HOME,
                         CUDA_PATH, /usr/local/cuda and /usr/local/cuda-*
  LOCKSTEP_ARCHITECTURE  such as sm_90; by default the GPUs of this machine, as nvidia-smi names them
`;
}

/** Plain words only: flags are made of letters, digits and a few signs that mean nothing to a shell. */
function shellWords(words: readonly string[]): string {
  return words.map((word) => (/^[\w=+./:-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(' ');
}

function script(objects: readonly CudaObject[], cases: number): string {
  const builds = objects.map(
    ({ name, source, flags }) => `build ${shellWords([`build/${name}.o`, ...flags, '-c', `sources/${source}`])}`,
  );
  const files = shellWords(objects.map(({ name }) => `build/${name}.o`));
  return `#!/bin/sh
# Builds the program for this machine's GPUs, measures the plan beside this file, and leaves results.jsonl.
# Usage: ./run.sh [DEVICE]
set -eu
cd "$(dirname "$0")"
device=\${1:-0}

stop() {
  echo "$1" >&2
  exit 1
}

case $device in
  '' | *[!0-9]*) stop "device $device is not a number from 0 on" ;;
esac

# Compute capabilities of this machine's GPUs, 90 for 9.0.
capabilities=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | tr -d ' .\\r' | grep -x '[0-9][0-9]*' | sort -nu || true)

# How the compiler $1 compiles for GPUs: flags of those that it knows; the newest code for a newer one, for the driver to
# assemble. GPUs that are too old for it are left in $lacking.
flags_of() {
  codes=$("$1" --list-gpu-code 2>/dev/null | sed -n 's/^sm_\\([0-9]*\\)$/\\1/p' | sort -n || true)
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
# The toolkit that a GPU needs which is too old for a compiler.
explain() {
${LAST_RELEASES.map(([upTo, release], at) => `  ${at === 0 ? 'if' : 'elif'} [ "$1" -le ${upTo} ]; then older='CUDA ${release} or older'`).join('\n')}
  else older='another release of CUDA'; fi
  echo "compute capability \${1%?}.\${1#"\${1%?}"} needs $older; set NVCC=/path/to/nvcc" >&2
}

# The first compiler with the fewest GPUs that are too old for it.
nvcc='' fewest=''
if [ -n "\${NVCC:-}" ]; then set -- "$NVCC"
else set -- nvcc "\${CUDA_HOME:-}/bin/nvcc" "\${CUDA_PATH:-}/bin/nvcc" /usr/local/cuda/bin/nvcc /usr/local/cuda-*/bin/nvcc /opt/cuda*/bin/nvcc; fi
for candidate in "$@"; do
  command -v "$candidate" >/dev/null 2>&1 || continue
  flags_of "$candidate"
  count=$(echo "$lacking" | wc -w)
  if [ -z "$nvcc" ] || [ "$count" -lt "$fewest" ]; then nvcc=$candidate fewest=$count; fi
done
if [ -z "$nvcc" ]; then
  stop "nvcc was not found. Install the CUDA toolkit in PATH, CUDA_HOME or /usr/local/cuda, or set NVCC=/path/to/nvcc"
fi
flags_of "$nvcc"
if [ -n "\${LOCKSTEP_ARCHITECTURE:-}" ]; then flags="-arch=$LOCKSTEP_ARCHITECTURE"
elif [ -z "$capabilities" ]; then flags=-arch=native
else
  for capability in $lacking; do explain "$capability"; done
  [ -n "$flags" ] || stop "$nvcc compiles for none of this machine's GPUs"
fi

# A result file that is there already has to be of this plan; what is unfinished in it is measured again.
if [ -f results.jsonl ] && ! head -n 1 results.jsonl | cmp -s - plan.jsonl; then
  stop "results.jsonl is of another plan; move it away first"
fi

# Built once for a machine, a compiler and its settings.
mkdir -p build
settings="\${NVCC_PREPEND_FLAGS:-} \${NVCC_APPEND_FLAGS:-} \${NVCC_CCBIN:-}"
stamp="$(uname -n) $nvcc $flags $settings $("$nvcc" --version | tr '\\n' ' ')"
build() {
  object=$1
  shift
  echo "compiling $object"
  # shellcheck disable=SC2086
  "$nvcc" $flags ${shellWords(COMPILE_FLAGS)} "$@" -o "$object" >build/log.txt 2>&1 || {
    cat build/log.txt >&2
    if grep -q 'Unsupported gpu architecture' build/log.txt; then
      echo "$nvcc does not know this GPU. If the GPU is newer, set LOCKSTEP_ARCHITECTURE to the newest of these:" >&2
      "$nvcc" --list-gpu-arch >&2 || true
      capability=$(sed -n "s/.*Unsupported gpu architecture 'compute_\\([0-9]*\\).*/\\1/p" build/log.txt | head -n 1)
      if [ -n "$capability" ] && [ "$capability" -le ${LAST_RELEASES.at(-1)![0]} ]; then explain "$capability"; fi
    fi
    stop "nvcc could not compile $object"
  }
}
if [ ! -x build/lockstep-cuda ] || [ "$(cat build/stamp.txt 2>/dev/null)" != "$stamp" ]; then
  rm -f build/lockstep-cuda
${builds.map((line) => `  ${line}`).join('\n')}
  # shellcheck disable=SC2086
  "$nvcc" $flags ${files} ${shellWords(LINK_FLAGS)} -o build/lockstep-cuda
  echo "$stamp" >build/stamp.txt
fi

if ! ./build/lockstep-cuda --list >build/devices.jsonl; then
  cat build/devices.jsonl >&2
  # Without a device, nvcc cannot know what to build for: next time it asks again.
  rm -f build/stamp.txt
  stop "this machine has no CUDA device that answers"
fi
if [ "$(grep -c '"type":"device"' build/devices.jsonl)" -le "$device" ]; then
  cat build/devices.jsonl >&2
  stop "there is no device $device; the devices are those above, from 0 on"
fi

# A case is done once its result was checked, or it failed; lines of others, and a line cut short, are dropped.
[ -f results.jsonl ] || cp plan.jsonl results.jsonl
settle() {
  awk '
    /^[{]"type":"(check|failed)",.*"[}]$/ && match($0, /"case":"[^"]*"/) { print substr($0, RSTART + 8, RLENGTH - 9) }
  ' results.jsonl >build/done.txt
  awk '
    FILENAME != "results.jsonl" { done[$0] = 1; next }
    FNR == 1 || /^[{]"type":"device",.*[}][}]$/ { print; next }
    match($0, /"case":"[^"]*"/) && substr($0, RSTART + 8, RLENGTH - 9) in done
  ' build/done.txt results.jsonl >build/kept.jsonl
  mv build/kept.jsonl results.jsonl
}

settle
echo "measuring; $(wc -l <build/done.txt | tr -d ' ') of ${cases} cases are done already"
while :; do
  status=0
  ./build/lockstep-cuda --plan plan.txt --device "$device" --done build/done.txt >>results.jsonl || status=$?
  # A launch hung: its case has failed, and the others are measured by a new process.
  [ "$status" -eq ${EXIT_HUNG} ] || break
  tail -n 1 results.jsonl >&2
  settle
done
if [ "$status" -ne 0 ]; then
  tail -n 1 results.jsonl >&2
  stop "measuring ended early; run this again to continue with the next case"
fi
echo "$(grep -c '"type":"check"' results.jsonl) cases measured, $(grep -c '"type":"failed"' results.jsonl) failed: results.jsonl"
`;
}
