# Builds the program for this machine's GPUs, measures the plan beside this file, and leaves results.jsonl.
# Usage: powershell -ExecutionPolicy Bypass -File run.ps1 [DEVICE]
param([int]$Device = 0)
$ErrorActionPreference = 'Stop'
Set-Location $PSScriptRoot
[Environment]::CurrentDirectory = $PSScriptRoot
function Fail([string]$Text) { [Console]::Error.WriteLine($Text); exit 1 }

# Compute capabilities of this machine's GPUs, 90 for 9.0.
$capabilities = @()
if (Get-Command nvidia-smi -ErrorAction SilentlyContinue) {
  $capabilities = @(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | Where-Object { $_ -match '^\d+\.\d\s*$' } |
    ForEach-Object { [int]($_.Trim() -replace '\.', '') } | Sort-Object -Unique)
}

# The flags of a compiler: machine code for GPUs that it knows, its newest PTX for newer ones. Older ones are lacking.
function Choose([string]$Compiler) {
  $codes = @(& $Compiler --list-gpu-code | Where-Object { $_ -match '^sm_\d+$' } | ForEach-Object { [int]$_.Substring(3) })
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
  $places = @((Get-Command nvcc.exe -ErrorAction SilentlyContinue).Source; if ($env:CUDA_PATH) { "$env:CUDA_PATH\bin\nvcc.exe" }
    (Get-ChildItem "$env:ProgramFiles\NVIDIA GPU Computing Toolkit\CUDA\v*\bin\nvcc.exe" -ErrorAction SilentlyContinue).FullName)
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
  $vswhere = "${env:ProgramFiles(x86)}\Microsoft Visual Studio\Installer\vswhere.exe"
  $cl = if (Test-Path $vswhere) { @(& $vswhere -latest -products * -find 'VC\Tools\MSVC\**\bin\Hostx64\x64\cl.exe')[-1] }
  if (-not $cl) { Fail 'cl.exe was not found. Install the C++ build tools of Visual Studio, or set NVCC_CCBIN to the folder of cl.exe' }
  $host64 = '-ccbin', (Split-Path $cl)
}

# A program that only lists the devices comes first: it builds in seconds, and the others take longer.
New-Item build -ItemType Directory -Force | Out-Null
$flags = $host64
$compile = @(@FLAGS@)
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
  $capabilities = @($listed | Where-Object { $_ -match '"computeCapability":"(\d+)\.(\d)"' } | ForEach-Object { [int]($Matches[1] + $Matches[2]) } | Sort-Object -Unique)
  $choice = Best
}
foreach ($capability in $choice.Lacking) {
  $needed = 'another release of CUDA'
  foreach ($last in @RELEASES@) { if ($capability -le $last[0]) { $needed = "CUDA $($last[1]) or older"; break } }
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
@BUILD@
  [IO.File]::WriteAllText("$PSScriptRoot\build\stamp.txt", $stamp)
}

# A case is done once its result was checked, or it failed. Lines of other cases, and a truncated line, are dropped.
$noMark = New-Object Text.UTF8Encoding $false
function Settle {
  $lines = @([IO.File]::ReadAllLines("$PSScriptRoot\results.jsonl"))
  $script:done = @{}
  foreach ($line in $lines) { if ($line -cmatch '^\{"type":"(check|failed)","case":"([^"]*)".*"\}$') { $script:done[$Matches[2]] = $true } }
  $kept = @($lines[0]) + @($lines | Select-Object -Skip 1 | Where-Object {
    $_ -cmatch '^\{"type":"device",.*\}\}$' -or ($_ -cmatch '"case":"([^"]*)"' -and $script:done.ContainsKey($Matches[1]))
  })
  [IO.File]::WriteAllLines("$PSScriptRoot\results.jsonl", [string[]]$kept, $noMark)
  [IO.File]::WriteAllLines("$PSScriptRoot\build\done.txt", [string[]]@($script:done.Keys), $noMark)
}
if (-not (Test-Path results.jsonl)) { Copy-Item plan.jsonl results.jsonl }
Settle
Write-Host "measuring; $($done.Count) of @CASES@ cases are done already"
do {
  $words = "--plan plan.txt --device $Device --done build/done.txt"
  $run = Start-Process build\lockstep-cuda.exe $words -NoNewWindow -Wait -PassThru -RedirectStandardOutput build\output.jsonl
  [IO.File]::AppendAllText("$PSScriptRoot\results.jsonl", [IO.File]::ReadAllText("$PSScriptRoot\build\output.jsonl"), $noMark)
  # @HUNG@: a launch hung. Its case has failed, and a new process measures the others.
  if ($run.ExitCode -ne 0) { [Console]::Error.WriteLine((Get-Content results.jsonl -Tail 1)) }
  if ($run.ExitCode -eq @HUNG@) { Settle }
} while ($run.ExitCode -eq @HUNG@)
if ($run.ExitCode -ne 0) { Fail 'measuring ended early; run this again to continue with the next case' }
$text = [IO.File]::ReadAllText("$PSScriptRoot\results.jsonl")
$measured = [regex]::Matches($text, '"type":"check"').Count
$failed = [regex]::Matches($text, '"type":"failed"').Count
Write-Host "$measured cases measured, $failed failed: results.jsonl"
