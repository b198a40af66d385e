// round_rows rounds rows of activations x [m, k] for gemm_blocks: to quants [m, k], a step for each block of 32 or 256 elements,
// and sums of 16 quants, in arrays of their own. The grid's second dimension is the rows.
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
round_rows(__global const float4 *x, int x_at, int k, int block, __global char8 *quants, __global float *steps, int steps_at,
           __global short *sums, int sums_at) {
  __local float part[GROUP];
  const int i = get_global_id(0), id = get_local_id(0), inside = i * ROUNDED_AT_ONCE < k;
  const size_t row = get_global_id(1);
  float step;
  const float8 v = inside ? EIGHT_AT(x + x_at + row * (k / 4), i) : (float8)(0);
  const char8 q = round_eight(v, block / ROUNDED_AT_ONCE, &step, part);
  const short8 s = convert_short8(q);
  const short4 t = s.lo + s.hi;
  part[id] = t.x + t.y + t.z + t.w; // small integers
  barrier(CLK_LOCAL_MEM_FENCE);
  if (!inside)
    return;
  quants[row * (k / 8) + i] = q;
  if (i % 2 == 0)
    sums[sums_at + row * (k / 16) + i / 2] = (short)(part[id] + part[id + 1]);
  if (i % (block / ROUNDED_AT_ONCE) == 0)
    steps[steps_at + row * (k / block) + i / (block / ROUNDED_AT_ONCE)] = step;
}
