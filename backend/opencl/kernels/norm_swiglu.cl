// norm_swiglu computes silu(n·gateᵀ)·(n·upᵀ) of the normed x; both weights have the same rows, and SETS is 2. Where a group has whole blocks
// of 32 rows it also leaves them rounded, as round_rows does, in next: [m, rows] quants, and steps and sums of 16 where said.
KERNEL norm_swiglu(WEIGHT_ARGUMENTS(0), WEIGHT_ARGUMENTS(1), int k, int stride, __global const float4 *x, int x_at,
                   __global const float4 *gain, int gain_at, float eps, output out, int out_at,
                   __global char *next, int steps_at, int sums_at) {
  TEAM_MEMORY;
  const int block = get_group_id(0) * ROWS_OF_GROUP, m = get_group_id(1);
  __global const uint4 *quants[SETS] = {quants0, quants1};
  __global const ushort *scales[SETS] = {SCALES_OF(quants0, scales0_at), SCALES_OF(quants1, scales1_at)};
  const int first[SETS] = {first0 + block, first1 + block}, end[SETS] = {first0 + rows0, first1 + rows1};
  x += x_at + (size_t)m * (k / 4);
  team_sums(quants, scales, first, end, k, stride, x, gain + gain_at, 1, eps, TEAM_MEMORY_NAMES);
  for (int i = get_local_id(0); i < ROWS_OF_GROUP && block + i < rows0; i += GROUP) {
    const float v = exact_silu(TOTAL(part, 0, i)) * TOTAL(part, 1, i);
    out[out_at + (size_t)m * rows0 + block + i] = v;
#ifdef ROUNDS
    TOTAL(part, 0, i) = v;
#endif
  }
#ifdef ROUNDS
  if (steps_at == 0) // nobody wants it
    return;
  barrier(CLK_LOCAL_MEM_FENCE);
  const int i = get_local_id(0);
  const size_t at = (size_t)m * rows0 + block + i;
  const int inside = i < ROWS_OF_GROUP && block + i < rows0; // which whole blocks are
  int q = 0;
  if (inside) {
    float largest = 0;
    for (int j = 0; j < 32; j++)
      largest = LARGER(largest, fabs(TOTAL(part, 0, i / 32 * 32 + j)));
    const float step = largest / 127;
    q = convert_char_sat_rte(TOTAL(part, 0, i) * reciprocal(step));
    next[at] = q;
    if (i % 32 == 0)
      ((__global float *)next)[steps_at + at / 32] = step;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  part[i] = q;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (inside && i % 16 == 0) {
    float sum = 0; // of small integers
    for (int j = 0; j < 16; j++)
      sum += part[i + j];
    ((__global short *)next)[sums_at + at / 16] = (short)sum;
  }
#endif
}
