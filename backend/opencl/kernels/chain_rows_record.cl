// Rounded activations of several rows, and the local memory of their chain: see chain_rows.cl.

#define MOST_TOKENS 8
#define TOGETHER 2

// rounded_of is where rounded activations lie: halves [rows, 2, blocks] of 16 quants, the sums of eights [rows, blocks, 4], and steps
// [rows, k / BLOCK].
typedef struct {
  __global uint4 *halves;
  __global short4 *eights;
  __global float *steps;
} rounded_of;

INLINED rounded_of rounded_at(ulong memory, int rows, int k) {
  __global uchar *at = (__global uchar *)memory;
  return (rounded_of){(__global uint4 *)at, (__global short4 *)(at + rows * k), (__global float *)(at + rows * k + rows * (k / 4))};
}

// The local memory of a group. Rounding takes that of the terms.
#define TOTALS_BYTES (MOST_TOKENS * MOST_ROWS * 4)
#define ROWS_PRODUCT_BYTES (TERMS_BYTES + FACTORS_BYTES + TOTALS_BYTES)
#define ROWS_BYTES (ROWS_PRODUCT_BYTES > TEAMS_OF_TILES * TEAM_BYTES ? ROWS_PRODUCT_BYTES : TEAMS_OF_TILES * TEAM_BYTES)
#define ROWS_MEMORY                                                                                                  \
  __local uint4 memory[ROWS_BYTES / 16 + 1] __attribute__((aligned(32)));                                            \
  __local term_type *terms = (__local term_type *)memory;                                                            \
  __local float2 *factors = (__local float2 *)((__local uchar *)terms + TERMS_BYTES);                                \
  __local float *totals = (__local float *)((__local uchar *)factors + FACTORS_BYTES);                               \
  __local float lanes[LANES_OF_SUM]
#define ROWS_ARGUMENTS __local term_type *terms, __local float2 *factors, __local float *totals, __local float *lanes
#define ROWS_NAMES terms, factors, totals, lanes

// activations_at returns a block of a row of rounded activations.
INLINED block_activations activations_at(const rounded_of from, int row, int blocks, int block) {
  const short4 e = from.eights[row * blocks + block];
  return (block_activations){from.halves[2 * row * blocks + block], from.halves[(2 * row + 1) * blocks + block], e.x + e.y, e.z + e.w,
                             from.steps[(row * blocks + block) / (BLOCK / 32)]};
}
