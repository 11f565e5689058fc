import { createHash } from 'node:crypto';
import type { BenchPlan, PlanLine, PlanSource } from '../../domain/benchmark.ts';
import { ok, type Result } from '../../domain/result.ts';
import type { WorkloadContext } from '../../parse/grammar.ts';
import { keptPlan } from '../plan-files.ts';
import { wordBytes } from '../words.ts';
import { LAST_RELEASES } from './releases.ts';
import { HIP_COMPILE_FLAGS, withoutCap } from './compile.ts';
import {
  COMPILE_FLAGS,
  cudaPlan,
  DEVICES_OBJECT,
  EXIT_HUNG,
  LINK_FLAGS,
  type CudaObject,
  type PlacedFile,
} from './cuda-plan.ts';

export interface BundleContents {
  readonly sources: readonly PlacedFile[];
  readonly source: PlanSource | null;
  /** Reads the files that workloads of `matrix-power` name. */
  readonly context: WorkloadContext;
  /** Number of tasks in a job array. */
  readonly slurmTasks?: number;
}

/** Makes all files that a machine with nvcc, or hipcc, needs to measure the plan. Fails as `cudaPlan` does. */
export async function makeBundle(plan: BenchPlan, contents: BundleContents): Promise<Result<readonly PlacedFile[]>> {
  const made = await cudaPlan(plan, contents.context);
  if (!made.ok) return made;
  const text = (path: string, lines: string): PlacedFile => ({ path, bytes: new TextEncoder().encode(lines) });
  return ok([
    text('README.txt', readme(plan, contents.slurmTasks)),
    { ...text('run.sh', script(plan, made.value.objects)), executable: true },
    ...(contents.slurmTasks === undefined
      ? []
      : [{ ...text('run.slurm', slurmScript(contents.slurmTasks)), executable: true as const }]),
    ...(plan.backend === 'hip' ? [] : [text('run.ps1', windowsScript(made.value.objects, plan.cases.length))]),
    text('plan.jsonl', `${JSON.stringify(planLine(plan, contents.source))}\n`),
    ...made.value.files,
    ...contents.sources.map(({ path, bytes }) => ({ path: `sources/${path}`, bytes })),
  ]);
}

export function planLine(plan: BenchPlan, source: PlanSource | null): PlanLine {
  const { workload } = plan;
  const digest = workload && createHash('sha256').update(wordBytes(workload.lengths)).digest('hex');
  return keptPlan(plan, digest, source);
}

function readme(plan: BenchPlan, slurmTasks: number | undefined): string {
  const hip = plan.backend === 'hip';
  return `Measurements for Lockstep
=========================

${plan.cases.length} cases, ${plan.warmUps} warm-ups and ${plan.repeats} repeats each, for one ${hip ? 'HIP' : 'CUDA'} device.

1. Copy this folder to a machine with ${hip ? `an AMD GPU whose thread groups have ${plan.threadGroupWidth} lanes, and ROCm (hipcc).` : 'an NVIDIA GPU, its driver, the CUDA toolkit (nvcc) and a C++17 compiler.'}
2. Run  ./run.sh      for the first GPU, or  ./run.sh 1  for the second${
    hip
      ? '.'
      : `, as nvidia-smi lists them. On Windows:
        powershell -ExecutionPolicy Bypass -File run.ps1      (needs the C++ build tools of Visual Studio)`
  }
3. Import results.jsonl into Lockstep:  lockstep import results.jsonl

${slurmTasks === undefined ? '' : slurmText(slurmTasks)}Run it again to continue where it was interrupted: cases that are done, or that failed, are not measured again. Delete
results.jsonl to measure everything anew.

Settings, as environment variables:
${
  hip
    ? `  HIPCC                  the compiler; by default the first in PATH, HIP_PATH, ROCM_PATH, /opt/rocm and /opt/rocm-*
  LOCKSTEP_ARCHITECTURE  such as gfx90a; by default the GPUs of this machine, as HIP names them
`
    : CUDA_SETTINGS
}`;
}

const CUDA_SETTINGS = `  NVCC                   the compiler; by default the first that knows this machine's GPUs, searched in PATH, CUDA_HOME,
                         CUDA_PATH, /usr/local/cuda and /usr/local/cuda-*
  LOCKSTEP_ARCHITECTURE  such as sm_90; by default the GPUs of this machine, as nvidia-smi or CUDA names them
  NVCC_CCBIN             on Windows: the folder of cl.exe, if neither PATH nor the installer of Visual Studio knows it

If a GPU draws a screen, the system ends launches that take more than a few seconds (on Windows two: TdrDelay below
HKEY_LOCAL_MACHINE\\SYSTEM\\CurrentControlSet\\Control\\GraphicsDrivers). Pack the bundle with fewer units (--units), or use another GPU.
If a GPU is divided (MIG), CUDA sees one slice. CUDA_VISIBLE_DEVICES=MIG-… selects it; nvidia-smi -L lists the slices.
`;

const slurmText = (tasks: number): string => `On a cluster with Slurm, in a folder that all machines share:
1. sbatch run.slurm      starts ${tasks} tasks with a GPU each; write options of your cluster before the name: sbatch --partition=gpu run.slurm
2. When it is done:  lockstep import FOLDER   merges results-*.jsonl. All tasks must have had the same kind of GPU and driver.
To measure what is missing, run the same sbatch again.

`;

function slurmScript(tasks: number): string {
  return `#!/bin/sh
#SBATCH --job-name=lockstep
#SBATCH --array=0-${tasks - 1}
#SBATCH --gres=gpu:1
#SBATCH --output=slice-%a.log
# Usage: sbatch run.slurm in this folder, which all machines must share. Run it again to measure what is missing.
set -eu
# Slurm runs a copy of this script from another folder.
cd "\${SLURM_SUBMIT_DIR:-$(dirname "$0")}"
LOCKSTEP_SLICE="\${SLURM_ARRAY_TASK_ID:?start this by sbatch}/${tasks}" exec ./run.sh
`;
}

function shellWords(words: readonly string[]): string {
  return words.map((word) => (/^[\w=+./:-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(' ');
}

function script(plan: BenchPlan, objects: readonly CudaObject[]): string {
  const hip = plan.backend === 'hip';
  const width = plan.threadGroupWidth;
  const [platform, toolchain, choice] = hip
    ? ['HIP', HIP_TOOLCHAIN, hipChoice(width)]
    : ['CUDA', CUDA_TOOLCHAIN, CUDA_CHOICE];
  const built = ({ name, source, flags }: CudaObject): string =>
    `build ${shellWords([`${name}.o`, ...(hip ? withoutCap(flags) : flags), '-c', `sources/${source}`])}`;
  const linked = (program: string, names: readonly string[]): string =>
    `make ${program} ${names.map((name) => `"$build/${name}.o"`).join(' ')} ${shellWords(LINK_FLAGS)}`;
  const program = hip ? 'lockstep-hip' : 'lockstep-cuda';
  const flags = shellWords(hip ? [...HIP_COMPILE_FLAGS, `-DLOCKSTEP_GROUP_WIDTH=${width}`] : COMPILE_FLAGS);
  const names = objects.map(({ name }) => name);
  const building = [...objects.map(built), linked(program, names)].map((line) => `  ${line}`).join('\n');
  return `${SHELL_OPENING}${toolchain}
# The program is built once for a machine, a compiler and its settings.
mkdir -p "$build" "$work"
if [ "$slices" -gt 1 ] && command -v flock >/dev/null 2>&1; then
  # Slices of one machine build one after another.
  exec 9>"$build/lock"
  flock 9
fi
stamp="$(uname -n) $compiler $settings $("$compiler" --version | tr '\\n' ' ')"
make() {
  made=$build/$1
  shift
  # shellcheck disable=SC2086
  "$compiler" $flags "$@" -o "$made" >"$build/log.txt" 2>&1 || {
    cat "$build/log.txt" >&2
    refused
    stop "\${compiler##*/} could not make $made"
  }
}
build() {
  echo "compiling $build/$1"
  make "$@" ${flags}
}

# A program that only lists the devices comes first: it builds in seconds, and the others take longer.
if [ ! -x "$build/devices" ] || [ "$(cat "$build/devices.txt" 2>/dev/null)" != "$stamp" ]; then
  rm -f "$build/devices"
  flags=''
  ${built(DEVICES_OBJECT)}
  ${linked('devices', ['devices'])}
  echo "$stamp" >"$build/devices.txt"
fi
if ! "./$build/devices" >"$work/devices.jsonl"; then
  cat "$work/devices.jsonl" >&2
  stop "this machine has no ${platform} device that answers"
fi
if [ "$(grep -c '"type":"device"' "$work/devices.jsonl")" -le "$device" ]; then
  cat "$work/devices.jsonl" >&2
  stop "there is no device $device; the devices above are numbered from 0"
fi

${choice}
stamp="$stamp $compiler $flags"
if [ ! -x "$build/${program}" ] || [ "$(cat "$build/stamp.txt" 2>/dev/null)" != "$stamp" ]; then
  rm -f "$build/${program}"
${building}
  echo "$stamp" >"$build/stamp.txt"
fi
exec 9>&-

${shellMeasuring(program, plan.cases.length)}`;
}

const SHELL_OPENING = `#!/bin/sh
# Builds the program for this machine's GPUs, measures the plan beside this file, and writes results.jsonl.
# Usage: ./run.sh [DEVICE]. With LOCKSTEP_SLICE=2/10 it measures the third tenth of the cases, and writes results-2.jsonl.
set -eu
cd "$(dirname "$0")"
device=\${1:-0}

stop() {
  echo "$1" >&2
  exit 1
}

# Slices share a folder. Each slice has its own files, and each machine its own program.
slice=\${LOCKSTEP_SLICE:-0/1}
slices=\${slice#*/} slice=\${slice%%/*} build=build work=build results=results.jsonl
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

`;

const shellMeasuring = (
  program: string,
  cases: number,
): string => `# A case is done once its result was checked, or it failed. Lines of other cases, and a truncated line, are dropped.
[ -f "$results" ] || cp plan.jsonl "$results"
awk -v slice="$slice" -v slices="$slices" '$1 == "case" && n++ % slices != slice { print $2 }' plan.txt >"$work/others.txt"
cases=$((${cases} - $(wc -l <"$work/others.txt")))
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
  "./$build/${program}" --plan plan.txt --device "$device" --done "$work/skipped.txt" >>"$results" || status=$?
  # A launch hung. Its case has failed, and a new process measures the others.
  [ "$status" -eq ${EXIT_HUNG} ] || break
  tail -n 1 "$results" >&2
  settle
done
if [ "$status" -ne 0 ]; then
  tail -n 1 "$results" >&2
  stop "measuring ended early; run this again to continue with the next case"
fi
echo "$(grep -c '"type":"check"' "$results") cases measured, $(grep -c '"type":"failed"' "$results") failed: $results"
`;

const CUDA_TOOLCHAIN = `# Compute capabilities of this machine's GPUs, 90 for 9.0; none without nvidia-smi.
# On WSL it is not in PATH.
capabilities=$(PATH=$PATH:/usr/lib/wsl/lib nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | tr -d ' .\\r' | grep -x '[0-9][0-9]*' | sort -nu || true)

# The flags of compiler $1 for the GPUs: code for those that it knows; for a newer one its newest code, which the driver
# assembles. $lacking gets the GPUs that are too old for it.
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
# The toolkit for a GPU that is too old for a compiler.
explain() {
${LAST_RELEASES.map(([upTo, release], at) => `  ${at === 0 ? 'if' : 'elif'} [ "$1" -le ${upTo} ]; then older='CUDA ${release} or older'`).join('\n')}
  else older='another release of CUDA'; fi
  echo "compute capability \${1%?}.\${1#"\${1%?}"} needs $older; set NVCC=/path/to/nvcc" >&2
}
# Why the compiler refused a source, if that is known.
refused() {
  grep -q 'Unsupported gpu architecture' "$build/log.txt" || return 0
  echo "$compiler does not know this GPU. If the GPU is newer, set LOCKSTEP_ARCHITECTURE to the newest of these:" >&2
  "$compiler" --list-gpu-arch >&2 || true
  capability=$(sed -n "s/.*Unsupported gpu architecture 'compute_\\([0-9]*\\).*/\\1/p" "$build/log.txt" | head -n 1)
  if [ -n "$capability" ] && [ "$capability" -le ${LAST_RELEASES.at(-1)![0]} ]; then explain "$capability"; fi
}

# The first compiler with the fewest GPUs that are too old for it.
if [ -n "\${NVCC:-}" ]; then set -- "$NVCC"
else set -- nvcc "\${CUDA_HOME:-}/bin/nvcc" "\${CUDA_PATH:-}/bin/nvcc" /usr/local/cuda/bin/nvcc /usr/local/cuda-*/bin/nvcc /opt/cuda*/bin/nvcc; fi
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
settings="\${NVCC_PREPEND_FLAGS:-} \${NVCC_APPEND_FLAGS:-} \${NVCC_CCBIN:-}"
`;

const CUDA_CHOICE = `if [ -n "\${LOCKSTEP_ARCHITECTURE:-}" ]; then flags="-arch=$LOCKSTEP_ARCHITECTURE"
else
  if [ -z "$capabilities" ]; then
    capabilities=$(sed -n 's/.*"computeCapability":"\\([0-9]*\\)\\.\\([0-9]\\)".*/\\1\\2/p' "$work/devices.jsonl" | grep -vx 00 | sort -nu || true)
    choose "$@"
  fi
  flags_of "$compiler"
  for capability in $lacking; do explain "$capability"; done
  [ -n "$flags$lacking" ] || flags=-arch=native
  [ -n "$flags" ] || stop "$compiler compiles for none of this machine's GPUs"
fi
`;

const HIP_TOOLCHAIN = `compiler='' settings="\${HIPCC_COMPILE_FLAGS_APPEND:-}"
# Without this variable, hipcc would prefer nvcc, if it is installed.
export HIP_PLATFORM=amd
if [ -n "\${HIPCC:-}" ]; then set -- "$HIPCC"
else set -- hipcc "\${HIP_PATH:-}/bin/hipcc" "\${ROCM_PATH:-}/bin/hipcc" /opt/rocm/bin/hipcc /opt/rocm-*/bin/hipcc; fi
for candidate in "$@"; do
  if [ -z "$compiler" ] && command -v "$candidate" >/dev/null 2>&1; then compiler=$candidate; fi
done
[ -n "$compiler" ] || stop "hipcc was not found. Install ROCm in PATH, ROCM_PATH or /opt/rocm, or set HIPCC=/path/to/hipcc"
refused() { :; }
`;

const hipChoice = (
  width: number | undefined,
): string => `width=$(sed -n 's/.*"threadGroupWidth":\\([0-9]*\\).*/\\1/p' "$work/devices.jsonl" | sed -n "$((device + 1))p")
[ "$width" = ${width} ] || stop "thread groups of device $device have $width lanes, but this bundle is for ${width}: predict for a device with $width lanes, and pack a new bundle"
names=\${LOCKSTEP_ARCHITECTURE:-$(sed -n 's/.*"architecture":"\\([a-z0-9]*\\).*/\\1/p' "$work/devices.jsonl" | sort -u)}
flags=''
for name in $names; do flags="$flags --offload-arch=$name"; done
`;

/** The script needs Windows PowerShell 5.1. `>` would change the encoding, so output is copied byte by byte. */
function windowsScript(objects: readonly CudaObject[], cases: number): string {
  const quoted = (words: readonly string[]): string =>
    words.map((word) => `'${word.replaceAll("'", "''")}'`).join(', ');
  const builds = objects.map(
    ({ name, source, flags }) =>
      `  Build ($compile + @(${quoted([...flags, '-c', `sources/${source}`, '-o', `build/${name}.obj`])}))`,
  );
  const link = `  Build @(${quoted(objects.map(({ name }) => `build/${name}.obj`))}, '-o', 'build/lockstep-cuda.exe')`;
  return [
    WINDOWS_OPENING,
    windowsBuild([...builds, link].join('\n'), quoted(COMPILE_FLAGS)),
    windowsMeasuring(cases),
  ].join('');
}

const WINDOWS_OPENING = `# Builds the program for this machine's GPUs, measures the plan beside this file, and leaves results.jsonl.
# Usage: powershell -ExecutionPolicy Bypass -File run.ps1 [DEVICE]
param([int]$Device = 0)
$ErrorActionPreference = 'Stop'
Set-Location $PSScriptRoot
[Environment]::CurrentDirectory = $PSScriptRoot
function Fail([string]$Text) { [Console]::Error.WriteLine($Text); exit 1 }

# Compute capabilities of this machine's GPUs, 90 for 9.0.
$capabilities = @()
if (Get-Command nvidia-smi -ErrorAction SilentlyContinue) {
  $capabilities = @(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | Where-Object { $_ -match '^\\d+\\.\\d\\s*$' } |
    ForEach-Object { [int]($_.Trim() -replace '\\.', '') } | Sort-Object -Unique)
}

# The flags of a compiler for the GPUs: code for those that it knows, its newest code for newer ones. Others are lacking.
function Choose([string]$Compiler) {
  $codes = @(& $Compiler --list-gpu-code | Where-Object { $_ -match '^sm_\\d+$' } | ForEach-Object { [int]$_.Substring(3) })
  $flags = @(); $lacking = @()
  foreach ($capability in $capabilities) {
    $older = ($codes | Where-Object { $_ -le $capability } | Measure-Object -Maximum).Maximum
    if ($codes.Count -eq 0 -or $older -eq $capability) { $flags += '-gencode', "arch=compute_$capability,code=sm_$capability" }
    elseif ($older) { $flags += '-gencode', "arch=compute_$older,code=compute_$older" }
    else { $lacking += $capability }
  }
  [pscustomobject]@{ Compiler = $Compiler; Flags = $flags; Lacking = $lacking }
}
if ($env:NVCC) { $places = @($env:NVCC) }
else {
  $places = @((Get-Command nvcc.exe -ErrorAction SilentlyContinue).Source; if ($env:CUDA_PATH) { "$env:CUDA_PATH\\bin\\nvcc.exe" }
    (Get-ChildItem "$env:ProgramFiles\\NVIDIA GPU Computing Toolkit\\CUDA\\v*\\bin\\nvcc.exe" -ErrorAction SilentlyContinue).FullName)
}
function Best {
  $choices = @($places | Where-Object { $_ -and (Test-Path $_) } | ForEach-Object { Choose $_ })
  if ($choices.Count -eq 0) { Fail 'nvcc was not found. Install the CUDA toolkit, or set NVCC to the path of nvcc.exe' }
  $fewest = ($choices | ForEach-Object { $_.Lacking.Count } | Measure-Object -Minimum).Minimum
  @($choices | Where-Object { $_.Lacking.Count -eq $fewest })[0]
}
$choice = Best

# nvcc needs the compiler of Visual Studio.
$host64 = @()
if (-not $env:NVCC_CCBIN -and -not (Get-Command cl.exe -ErrorAction SilentlyContinue)) {
  $vswhere = "\${env:ProgramFiles(x86)}\\Microsoft Visual Studio\\Installer\\vswhere.exe"
  $cl = if (Test-Path $vswhere) { @(& $vswhere -latest -products * -find 'VC\\Tools\\MSVC\\**\\bin\\Hostx64\\x64\\cl.exe')[-1] }
  if (-not $cl) { Fail 'cl.exe was not found. Install the C++ build tools of Visual Studio, or set NVCC_CCBIN to the folder of cl.exe' }
  $host64 = '-ccbin', (Split-Path $cl)
}

`;

const windowsBuild = (
  builds: string,
  compileFlags: string,
): string => `# A program that only lists the devices comes first: it builds in seconds, and the others take longer.
New-Item build -ItemType Directory -Force | Out-Null
$flags = $host64
$compile = @(${compileFlags})
function Build([string[]]$Words) {
  Write-Host "nvcc $Words"
  & $choice.Compiler @flags @Words
  if ($LASTEXITCODE -ne 0) { Fail "nvcc could not build: $Words" }
}
if (-not (Test-Path build/devices.exe)) {
  Build ($compile + @('-c', 'sources/devices.cu', '-o', 'build/devices.obj'))
  Build @('build/devices.obj', '-o', 'build/devices.exe')
}
$listed = @(& build/devices.exe)
if ($LASTEXITCODE -ne 0) { Fail "$listed this machine has no CUDA device that answers" }
if ($listed.Count -le $Device) { Fail "$($listed -join [Environment]::NewLine) there is no device $Device; the devices above are numbered from 0" }
if ($capabilities.Count -eq 0) {
  $capabilities = @($listed | Where-Object { $_ -match '"computeCapability":"(\\d+)\\.(\\d)"' } | ForEach-Object { [int]($Matches[1] + $Matches[2]) } | Sort-Object -Unique)
  $choice = Best
}
foreach ($capability in $choice.Lacking) {
  $needed = 'another release of CUDA'
  foreach ($last in ${LAST_RELEASES.map(([upTo, release]) => `@(${upTo}, '${release}')`).join(', ')}) { if ($capability -le $last[0]) { $needed = "CUDA $($last[1]) or older"; break } }
  [Console]::Error.WriteLine("compute capability $([math]::Floor($capability / 10)).$($capability % 10) needs $needed; set NVCC to its nvcc.exe")
}
$flags = $choice.Flags
if ($env:LOCKSTEP_ARCHITECTURE) { $flags = @("-arch=$env:LOCKSTEP_ARCHITECTURE") }
elseif ($flags.Count -eq 0) { Fail "$($choice.Compiler) compiles for none of this machine's GPUs" }
$flags += $host64

# An existing result file must belong to this plan; its unfinished cases are measured again.
if ((Test-Path results.jsonl) -and (Get-Content results.jsonl -TotalCount 1) -cne (Get-Content plan.jsonl -TotalCount 1)) {
  Fail 'results.jsonl belongs to another plan; move it away first'
}
$stamp = "$env:COMPUTERNAME $($choice.Compiler) $flags $env:NVCC_PREPEND_FLAGS $env:NVCC_APPEND_FLAGS $env:NVCC_CCBIN"
if (-not (Test-Path build/lockstep-cuda.exe) -or -not (Test-Path build/stamp.txt) -or (Get-Content build/stamp.txt -Raw) -cne $stamp) {
${builds}
  [IO.File]::WriteAllText("$PSScriptRoot\\build\\stamp.txt", $stamp)
}

`;

const windowsMeasuring = (
  cases: number,
): string => `# A case is done once its result was checked, or it failed. Lines of other cases, and a truncated line, are dropped.
$noMark = New-Object Text.UTF8Encoding $false
function Settle {
  $lines = @([IO.File]::ReadAllLines("$PSScriptRoot\\results.jsonl"))
  $script:done = @{}
  foreach ($line in $lines) { if ($line -cmatch '^\\{"type":"(check|failed)","case":"([^"]*)".*"\\}$') { $script:done[$Matches[2]] = $true } }
  $kept = @($lines[0]) + @($lines | Select-Object -Skip 1 | Where-Object {
    $_ -cmatch '^\\{"type":"device",.*\\}\\}$' -or ($_ -cmatch '"case":"([^"]*)"' -and $script:done.ContainsKey($Matches[1]))
  })
  [IO.File]::WriteAllLines("$PSScriptRoot\\results.jsonl", [string[]]$kept, $noMark)
  [IO.File]::WriteAllLines("$PSScriptRoot\\build\\done.txt", [string[]]@($script:done.Keys), $noMark)
}
if (-not (Test-Path results.jsonl)) { Copy-Item plan.jsonl results.jsonl }
Settle
Write-Host "measuring; $($done.Count) of ${cases} cases are done already"
do {
  $words = "--plan plan.txt --device $Device --done build/done.txt"
  $run = Start-Process build\\lockstep-cuda.exe $words -NoNewWindow -Wait -PassThru -RedirectStandardOutput build\\output.jsonl
  [IO.File]::AppendAllText("$PSScriptRoot\\results.jsonl", [IO.File]::ReadAllText("$PSScriptRoot\\build\\output.jsonl"), $noMark)
  # ${EXIT_HUNG}: a launch hung. Its case has failed, and a new process measures the others.
  if ($run.ExitCode -ne 0) { [Console]::Error.WriteLine((Get-Content results.jsonl -Tail 1)) }
  if ($run.ExitCode -eq ${EXIT_HUNG}) { Settle }
} while ($run.ExitCode -eq ${EXIT_HUNG})
if ($run.ExitCode -ne 0) { Fail 'measuring ended early; run this again to continue with the next case' }
$text = [IO.File]::ReadAllText("$PSScriptRoot\\results.jsonl")
$measured = [regex]::Matches($text, '"type":"check"').Count
$failed = [regex]::Matches($text, '"type":"failed"').Count
Write-Host "$measured cases measured, $failed failed: results.jsonl"
`;
