// feed_gate computes activate(gate·x + its bias, up·x + its bias) for the rows of pairs, each with the networks of the expert that is chosen for it:
// experts lie one after the other. `share` pairs have a row of x in common. What is no expert at all leaves NaN. SETS is 2.

#define ACTIVATE_GELU 1
#define ACTIVATE_CLAMPED 2

KERNEL feed_gate(WEIGHT_ARGUMENTS(0), WEIGHT_ARGUMENTS(1), int k, int stride, __global const float4 *x, int x_at, output out, int out_at,
                 int width, __global const int *chosen, int chosen_at, int share, int experts, input gate_bias, int gate_bias_at, int gate_biased,
                 input up_bias, int up_bias_at, int up_biased, int activation, float limit) {
  TEAM_MEMORY;
  const int block = get_group_id(0) * ROWS_OF_GROUP, pair = get_group_id(1), expert = chosen[chosen_at + pair];
  const int known = expert >= 0 && expert < experts, from = known ? expert * width : 0;
  __global const uint4 *quants[SETS] = {quants0, quants1};
  __global const ushort *scales[SETS] = {SCALES_OF(quants0, scales0_at), SCALES_OF(quants1, scales1_at)};
  const int first[SETS] = {first0 + from + block, first1 + from + block}, end[SETS] = {first0 + from + width, first1 + from + width};
  x += x_at + (size_t)(pair / share) * (k / 4);
  team_sums(quants, scales, first, end, known ? k : 0, stride, x, x, 0, 0, TEAM_MEMORY_NAMES); // all groups come to the barriers
  for (int i = get_local_id(0); i < ROWS_OF_GROUP && block + i < width; i += GROUP) {
    float gate = TOTAL(part, 0, i), up = TOTAL(part, 1, i);
    if (known && gate_biased)
      gate += gate_bias[gate_bias_at + from + block + i];
    if (known && up_biased)
      up += up_bias[up_bias_at + from + block + i];
    const float v = activation == ACTIVATE_CLAMPED ? exact_swiglu_clamped(gate, up, limit)
                    : activation == ACTIVATE_GELU  ? exact_gelu(gate) * up
                                                   : exact_silu(gate) * up;
    out[out_at + (size_t)pair * width + block + i] = known ? v : NAN;
  }
}
