typedef struct { uint a; float b; } Pair;
__kernel void types(__global ulong *whole, __global ushort *brain, __global float4 *four, Pair pair, double part, __local float *shared) {
  shared[get_local_id(0)] = pair.b;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (get_global_id(0) > 0) return;
  whole[0] += pair.a;
  brain[0] = 0x3fc0;
  four[0] = (float4)(shared[get_local_size(0) - 1], part, INFINITY, 4);
}
