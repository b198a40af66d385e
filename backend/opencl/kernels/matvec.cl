// matvec computes out [.., width] = x [.., k] · weightᵀ for `rows` rows from first, or adds it. The grid's second dimension
// is the rows of x.
KERNEL matvec(WEIGHT_ARGUMENTS(0), int k, int stride, __global const float4 *x, int x_at, output out, int out_at, int width,
              int accumulate) {
  TEAM_MEMORY;
  const int block = get_group_id(0) * ROWS_OF_GROUP, m = get_group_id(1);
  __global const uint4 *quants[SETS] = {quants0};
  __global const ushort *scales[SETS] = {SCALES_OF(quants0, scales0_at)};
  const int first[SETS] = {first0 + block}, end[SETS] = {first0 + rows0};
  x += x_at + (size_t)m * (k / 4);
  team_sums(quants, scales, first, end, k, stride, x, x, 0, 0, TEAM_MEMORY_NAMES);
  for (int i = get_local_id(0); i < ROWS_OF_GROUP && block + i < rows0; i += GROUP) {
    output to = out + out_at + (size_t)m * width + block + i;
    const float v = TOTAL(part, 0, i);
    *to = accumulate ? *to + v : v;
  }
}
