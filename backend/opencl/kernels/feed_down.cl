// feed_down computes down·x + bias for the rows of pairs, each with the weights of its expert, as feed_gate does. With LAST_GROUP the last group of the
// pairs of a row adds their rows, weighted, to out: a row has `choices` pairs. `left` counts the groups of each row that have ended.
KERNEL feed_down(WEIGHT_ARGUMENTS(0), int k, int stride, __global const float4 *x, int x_at, output y, int y_at, int width,
                 __global const int *chosen, int chosen_at, int experts, input bias, int bias_at, int biased, input factors_of, int factors_at,
                 output out, int out_at, int choices, __global int *left) {
  TEAM_MEMORY;
#ifdef LAST_GROUP
  __local int before;
#endif
  const int block = get_group_id(0) * ROWS_OF_GROUP, pair = get_group_id(1), expert = chosen[chosen_at + pair];
  const int known = expert >= 0 && expert < experts, from = known ? expert * width : 0;
  __global const uint4 *quants[SETS] = {quants0};
  __global const ushort *scales[SETS] = {SCALES_OF(quants0, scales0_at)};
  const int first[SETS] = {first0 + from + block}, end[SETS] = {first0 + from + width};
  team_sums(quants, scales, first, end, known ? k : 0, stride, x + x_at + (size_t)pair * (k / 4), x, 0, 0, TEAM_MEMORY_NAMES);
  for (int i = get_local_id(0); i < ROWS_OF_GROUP && block + i < width; i += GROUP) {
    float v = TOTAL(part, 0, i);
    if (known && biased)
      v += bias[bias_at + from + block + i];
    y[y_at + (size_t)pair * width + block + i] = known ? v : NAN;
  }
#ifdef LAST_GROUP
  const int row = pair / choices;
  if (!last_group(left + row * get_num_groups(0) + get_group_id(0), choices, &before))
    return;
  for (int i = get_local_id(0); i < ROWS_OF_GROUP && block + i < width; i += GROUP) {
    output to = out + out_at + (size_t)row * width + block + i;
    float sum = *to;
    for (int j = row * choices; j < (row + 1) * choices; j++)
      sum = fma(factors_of[factors_at + j], y[y_at + (size_t)j * width + block + i], sum);
    *to = sum;
  }
#endif
}
