// norm_swiglu computes silu(n·gateᵀ)·(n·upᵀ) of the normed x; both weights have the same rows.
KERNEL norm_swiglu(WEIGHT_ARGUMENTS(0), WEIGHT_ARGUMENTS(1), TEAM_ARGUMENTS, int stride, __global const float4 *x, int x_at,
                   __global const float4 *gain, int gain_at, float eps, output out, int out_at) {
  __local float part[GROUP * (ROWS + 1)], gates[GROUP * (ROWS + 1)], ups[GROUP * (ROWS + 1)];
  const int id = get_local_id(0), block = get_group_id(0) * ROWS_OF_GROUP, m = get_group_id(1);
  const int row0 = block + id / lanes * ROWS;
  x += x_at + (size_t)m * (k / 4);
  team_sums(quants0, scales0, first0 + row0, first0 + rows0, k, chunks, lanes, stride, x, gain + gain_at, 1, part, gates);
  team_sums(quants1, scales1, first1 + row0, first1 + rows1, k, chunks, lanes, stride, x, gain + gain_at, 1, part, ups);
  for (int i = id; i < ROWS_OF_GROUP; i += GROUP) {
    const int row = block + i, at = i / ROWS * (ROWS + 1) + i % ROWS;
    if (row < rows0) {
      const float factor = norm_factor(gates, i / ROWS, k, eps);
      const float gate = gates[at] * factor;
      out[out_at + (size_t)m * rows0 + row] = gate / (1.0f + exp(-gate)) * (ups[at] * factor);
    }
  }
}
