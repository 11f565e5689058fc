// Counts the steps of each unit's loop, for `lockstep trace`, like lockstep.cuh. Put it before the shader's own code.
//
//   for (var i = …; i < units; i += …) {
//     lockstep_unit(i);                       // begins unit i, from 0 on
//     while (…) { lockstep_step(); … }        // first statement of the loop to count
//     lockstep_end();                         // ends the unit
//   }
//
// WGSL has no macros. To turn tracing off, replace this file by these three lines; compilers remove the calls:
//   fn lockstep_unit(unit: u32) {}
//   fn lockstep_step() {}
//   fn lockstep_end() {}
//
// The host binds a storage buffer at group 3, binding 0, and writes its bytes to the file in LOCKSTEP_TRACE_FILE:
//   const words = new Uint32Array(8 + 4 * units);
//   words.set([0x5254534c, 1, units]);
//   … create the buffer from words, run the shader, read the buffer back into bytes …
//   writeFileSync(process.env.LOCKSTEP_TRACE_FILE, bytes);
//
// WGSL cannot tell which lanes are active unless all are, so only lengths are traced, and no loss is measured.

struct LockstepTrace {
  magic: u32,            // "LSTR"
  version: u32,          // 1
  units: u32,            // number of records that follow
  beyond: atomic<u32>,   // one more than the largest unit without a record; 0: none
  width: u32,            // 0: only lengths are known
  unused: array<u32, 3>,
  records: array<vec4<u32>>,  // by unit: its steps, 0, 1 if it was run, 0
}

@group(3) @binding(0) var<storage, read_write> lockstep_trace: LockstepTrace;
var<private> lockstep_traced_unit: u32;
var<private> lockstep_length: u32;

fn lockstep_unit(unit: u32) {
  lockstep_traced_unit = unit;
  lockstep_length = 0u;
}

// The counter stops at its largest value.
fn lockstep_step() {
  lockstep_length += select(0u, 1u, lockstep_length < 0xffffffffu);
}

fn lockstep_end() {
  let unit = lockstep_traced_unit;
  if (unit < min(lockstep_trace.units, arrayLength(&lockstep_trace.records))) {
    lockstep_trace.records[unit] = vec4<u32>(lockstep_length, 0u, 1u, 0u);
  } else {
    atomicMax(&lockstep_trace.beyond, select(unit, unit + 1u, unit < 0xffffffffu));
  }
}
