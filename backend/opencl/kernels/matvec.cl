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

// expert_matvec is matvec for the rows of pairs, each with the weights of the expert that is chosen for it: experts lie one after the other,
// and a pair whose expert is not among first_expert, …, first_expert+held-1 is left to another launch. What is no expert at all leaves NaN.
// `share` pairs have a row of x in common.
KERNEL expert_matvec(WEIGHT_ARGUMENTS(0), int k, int stride, __global const float4 *x, int x_at, output out, int out_at, int width,
                     __global const int *chosen, int chosen_at, int share, int first_expert, int held, int experts) {
  TEAM_MEMORY;
  const int block = get_group_id(0) * ROWS_OF_GROUP, pair = get_group_id(1), expert = chosen[chosen_at + pair];
  const int known = expert >= 0 && expert < experts, own = expert - first_expert, held_here = own >= 0 && own < held;
  __global const uint4 *quants[SETS] = {quants0};
  __global const ushort *scales[SETS] = {SCALES_OF(quants0, scales0_at)};
  const int from = first0 + (held_here ? own * width : 0);
  const int first[SETS] = {from + block}, end[SETS] = {from + width};
  x += x_at + (size_t)(pair / share) * (k / 4);
  // All groups come to the barriers: what is not held here has no elements.
  team_sums(quants, scales, first, end, held_here ? k : 0, stride, x, x, 0, 0, TEAM_MEMORY_NAMES);
  const int rows_left = held_here || !known && first_expert == 0 ? width - block : 0;
  for (int i = get_local_id(0); i < ROWS_OF_GROUP && i < rows_left; i += GROUP) {
    const float v = TOTAL(part, 0, i);
    out[out_at + (size_t)pair * width + block + i] = known ? v : NAN;
  }
}
