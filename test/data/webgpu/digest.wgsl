alias Value = u32;
@group(0) @binding(0) var<storage, read> lengths: array<u32>;
@group(0) @binding(1) var<storage, read_write> sums: array<atomic<u32>>;
@group(0) @binding(2) var<storage, read_write> calls: array<atomic<u32>>;
fn unit_iterations(unit: u32) -> u32 { return lengths[unit]; }
fn unit_step(unit: u32, i: u32) -> u32 { return ((unit + 1u) * 2654435761u) ^ (i * 40503u + lengths[unit]); }
fn unit_end(unit: u32, sum: u32) {
  atomicAdd(&sums[unit], sum);
  atomicAdd(&calls[unit], 1u);
}
