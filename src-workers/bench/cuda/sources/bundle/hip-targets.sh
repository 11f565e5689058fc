width=$(sed -n 's/.*"threadGroupWidth":\([0-9]*\).*/\1/p' "$work/devices.jsonl" | sed -n "$((device + 1))p")
[ "$width" = @WIDTH@ ] || stop "thread groups of device $device have $width lanes, but this bundle is for @WIDTH@: predict for a device with $width lanes, and pack a new bundle"
names=${LOCKSTEP_ARCHITECTURE:-$(sed -n 's/.*"architecture":"\([a-z0-9]*\).*/\1/p' "$work/devices.jsonl" | sort -u)}
flags=''
for name in $names; do flags="$flags --offload-arch=$name"; done
