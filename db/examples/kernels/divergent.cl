// A loop for each unit, as long as the unit: a thread per unit, in a grid of its own size. opencl.py runs it.
__kernel __attribute__((reqd_work_group_size(BLOCK, 1, 1)))
void divergent(__global const uint *lengths, __global uint *results, uint units) {
  for (uint unit = get_global_id(0); unit < units; unit += get_global_size(0)) {
    uint x = unit + 1;
    for (uint i = lengths[unit]; i > 0; i--) x = (x ^ x >> 15) * 0x2c1b3c6du;
    results[unit] = x;
  }
}
