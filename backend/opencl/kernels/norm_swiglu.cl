// norm_swiglu computes silu(n·gateᵀ)·(n·upᵀ) of the normed x; both weights have the same rows, and SETS is 2.
KERNEL norm_swiglu(WEIGHT_ARGUMENTS(0), WEIGHT_ARGUMENTS(1), TEAM_ARGUMENTS, __global const float4 *x, int x_at,
                   __global const float4 *gain, int gain_at, float eps, output out, int out_at) {
  TEAM_MEMORY;
  const int id = get_local_id(0), block = get_group_id(0) * ROWS_OF_GROUP, m = get_group_id(1);
  __global const uint4 *quants[SETS] = {quants0, quants1};
  __global const ushort *scales[SETS] = {scales0, scales1};
  const int row0 = block + id / lanes * ROWS, begins[SETS] = {first0 + row0, first1 + row0};
  const int rows[SETS] = {first0 + rows0, first1 + rows1};
  x += x_at + (size_t)m * (k / 4);
  team_sums(quants, scales, begins, rows, k, lanes, stride, x, gain + gain_at, 1, TEAM_MEMORY_NAMES);
  for (int i = id; i < ROWS_OF_GROUP; i += GROUP) {
    const int row = block + i, team = i / ROWS, at = i % ROWS;
    if (row < rows0) {
      const float factor = norm_factor(part, lanes, team, k, eps);
      const float gate = TOTAL(part, team, at) * factor;
      out[out_at + (size_t)m * rows0 + row] = gate / (1.0f + exp(-gate)) * (TOTAL(part, team, ROWS + at) * factor);
    }
  }
}
