// What every program begins with. OpenCL C 1.2 without extensions: halves are loaded and stored, never computed with, and
// work-items meet in local memory only.
//
// GROUP, a power of two, is the number of work-items of a group.

#pragma OPENCL FP_CONTRACT OFF // products and sums are rounded one by one, as on the CPU, and what is fused is written fma

typedef __global const float *input;
typedef __global float *output;
typedef __global const uchar *bytes;

// INLINED begins functions that take local memory. pocl, up to 3.1 at least, gives a group local variables of its own where the kernel
// names them. Where a function is always called with the same variable, its compiler has the function name it; unless that is in the
// kernel by then, all groups that processors compute at the same time share the variable.
#define INLINED static inline __attribute__((always_inline))

#define LOWEST -3e38f // stands for -infinity, which compilers may assume away

// group_sum returns the sum of v over the group to all of it. The caller has a barrier before it uses part again.
INLINED float group_sum(float v, __local float *part) {
  const int id = get_local_id(0);
  part[id] = v;
  for (int half_size = GROUP / 2; half_size > 0; half_size /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (id < half_size)
      part[id] += part[id + half_size];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  return part[0];
}

// group_max is group_sum for the largest.
INLINED float group_max(float v, __local float *part) {
  const int id = get_local_id(0);
  part[id] = v;
  for (int half_size = GROUP / 2; half_size > 0; half_size /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (id < half_size)
      part[id] = fmax(part[id], part[id + half_size]);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  return part[0];
}

// LARGER returns the larger of two magnitudes, or of vectors of them. As integers they have the order of the numbers, and NaN is larger than
// infinity: fmax would lose it.
#define LARGER(a, b) as_float(max(as_int(a), as_int(b)))
#define LARGER4(a, b) as_float4(max(as_int4(a), as_int4(b)))

// half_at reads a half at any even address.
static inline float half_at(bytes p) { return vload_half(0, (__global const half *)p); }

// Vector loads: the pointer is aligned to the vector, as vload4 would not assume.
#define LOAD4(p, i) (((__global const float4 *)(p))[i])
#define STORE4(v, p, i) (((__global float4 *)(p))[i] = (v))

// bytes4_at loads four bytes from an even address.
static inline uint bytes4_at(bytes p) {
  __global const ushort *pair = (__global const ushort *)p;
  return (uint)pair[0] | (uint)pair[1] << 16;
}
