// norm_matvec computes the products of the normed x with up to three weights; blocks1 and blocks2 say with which group
// those of the second and third begin.
KERNEL norm_matvec(WEIGHT_ARGUMENTS(0), WEIGHT_ARGUMENTS(1), WEIGHT_ARGUMENTS(2), int blocks1, int blocks2, int k, int stride,
                   __global const float4 *x, int x_at, __global const float4 *gain, int gain_at, float eps,
                   output out0, int out0_at, output out1, int out1_at, output out2, int out2_at) {
  TEAM_MEMORY;
  const int group = get_group_id(0), m = get_group_id(1);
  const int term = (group >= blocks1) + (group >= blocks2);
  __global const uint4 *quants[SETS] = {term == 0 ? quants0 : term == 1 ? quants1 : quants2};
  __global const ushort *scales[SETS] = {SCALES_OF(quants[0], term == 0 ? scales0_at : term == 1 ? scales1_at : scales2_at)};
  const int begin = term == 0 ? first0 : term == 1 ? first1 : first2, count = term == 0 ? rows0 : term == 1 ? rows1 : rows2;
  output out = term == 0 ? out0 + out0_at : term == 1 ? out1 + out1_at : out2 + out2_at;
  const int block = (group - (term == 0 ? 0 : term == 1 ? blocks1 : blocks2)) * ROWS_OF_GROUP;
  const int first[SETS] = {begin + block}, end[SETS] = {begin + count};
  x += x_at + (size_t)m * (k / 4);
  team_sums(quants, scales, first, end, k, stride, x, gain + gain_at, 1, eps, TEAM_MEMORY_NAMES);
  for (int i = get_local_id(0); i < ROWS_OF_GROUP && block + i < count; i += GROUP)
    out[(size_t)m * count + block + i] = TOTAL(part, 0, i);
}
