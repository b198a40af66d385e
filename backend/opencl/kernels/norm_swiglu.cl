// norm_swiglu computes silu(n·gateᵀ)·(n·upᵀ) of the normed x; both weights have the same rows, and SETS is 2.
KERNEL norm_swiglu(WEIGHT_ARGUMENTS(0), WEIGHT_ARGUMENTS(1), int k, int stride, __global const float4 *x, int x_at,
                   __global const float4 *gain, int gain_at, float eps, output out, int out_at) {
  TEAM_MEMORY;
  const int block = get_group_id(0) * ROWS_OF_GROUP, m = get_group_id(1);
  __global const uint4 *quants[SETS] = {quants0, quants1};
  __global const ushort *scales[SETS] = {SCALES_OF(quants0, scales0_at), SCALES_OF(quants1, scales1_at)};
  const int first[SETS] = {first0 + block, first1 + block}, end[SETS] = {first0 + rows0, first1 + rows1};
  x += x_at + (size_t)m * (k / 4);
  team_sums(quants, scales, first, end, k, stride, x, gain + gain_at, 1, eps, TEAM_MEMORY_NAMES);
  for (int i = get_local_id(0); i < ROWS_OF_GROUP && block + i < rows0; i += GROUP)
    out[out_at + (size_t)m * rows0 + block + i] = exact_silu(TOTAL(part, 0, i)) * TOTAL(part, 1, i);
}
