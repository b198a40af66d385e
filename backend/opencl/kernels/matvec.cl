// matvec computes out [.., width] = x [.., k] · weightᵀ for `rows` rows from first, or adds it. The grid's second dimension
// is the rows of x.
KERNEL matvec(WEIGHT_ARGUMENTS(0), TEAM_ARGUMENTS, __global const float4 *x, int x_at, output out, int out_at, int width,
              int accumulate) {
  TEAM_MEMORY;
  const int id = get_local_id(0), block = get_group_id(0) * ROWS_OF_GROUP, m = get_group_id(1);
  __global const uint4 *quants[SETS] = {quants0};
  __global const ushort *scales[SETS] = {scales0};
  const int row0[SETS] = {first0 + block + id / lanes * ROWS}, rows[SETS] = {first0 + rows0};
  x += x_at + (size_t)m * (k / 4);
  team_sums(quants, scales, row0, rows, k, lanes, stride, x, x, 0, TEAM_MEMORY_NAMES);
  for (int i = id; i < ROWS_OF_GROUP; i += GROUP) {
    const int row = block + i;
    if (row < rows0) {
      output to = out + out_at + (size_t)m * width + row;
      const float v = TOTAL(part, i / ROWS, i % ROWS);
      *to = accumulate ? *to + v : v;
    }
  }
}
