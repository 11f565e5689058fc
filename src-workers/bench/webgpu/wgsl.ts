export const MAIN_INPUT = `  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) thread: u32,`;

/** The function `mix` of `unit-loop.ts`. */
export const MIX = `fn mix(value: u32) -> u32 {
  var v = value ^ (value >> 16u);
  v *= 0x7feb352du;
  return v ^ (v >> 15u);
}`;
