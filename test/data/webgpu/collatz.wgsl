@group(0) @binding(0) var<storage, read_write> steps: array<u32>;
@compute @workgroup_size(32)
fn collatz(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var i = id.x; i < arrayLength(&steps); i += 32u * groups.x) {
    lockstep_unit(i);
    var n = i + 1u;
    var count = 0u;
    while (n != 1u) {
      lockstep_step();
      n = select(n / 2u, 3u * n + 1u, n % 2u == 1u);
      count += 1u;
    }
    steps[i] = count;
    lockstep_end();
  }
}
