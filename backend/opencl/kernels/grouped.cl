// Products of the rows of pairs with the weights of their experts, by gemm_blocks and gemm_matrix: a tile has rows of pairs of one expert,
// as group_pairs in experts.cl found them. Weights of experts lie one after the other; an expert that is not among first_expert, …,
// first_expert+held-1 is left to another launch. What is no expert at all leaves NaN. `share` pairs have a row of activations in common.

#define GROUPED
#define GROUPED_ARGUMENTS , __global const int *places, int tiles_at, int share, int first_expert, int held, int experts

// FIND_TILE makes m the rows of the tile, and places those of its pairs. It declares `expert`, and `present`: whether the weights are here.
#define FIND_TILE                                                                                                                          \
  __global const int *tile = places + tiles_at + 3 * get_group_id(1);                                                                      \
  const int expert = tile[0], present = expert >= first_expert && expert < first_expert + held;                                            \
  m = present || (expert == experts && first_expert == 0) ? tile[2] : 0;                                                                   \
  places += tile[1]

// WEIGHTS_BEFORE is how many rows of weights come before the expert's, of n rows each.
#define WEIGHTS_BEFORE(n) (present ? (expert - first_expert) * (n) : 0)

#define ROW0 0
#define BLOCKS_OF(k) (present && m > 0 ? (k) / 32 : 0)
#define A_ROW(i) (places[i] / share)
#define OUT_ROW(i) places[i]
#define RESULT(v) (present ? (v) : NAN)
