// several computes out [m, n] = a [m, k] · w [n, k]ᵀ, or adds it to out, for rounded activations and weights in blocks: products
// of more rows than are worth loading the weights for anew each time, and fewer than make whole tiles of gemm_blocks, and of single rows
// that the kernel before has rounded. Four rounds of weights on their way in place of one made single rows slower on an H200.
//
// Lanes load blocks of weights as in team_blocks.cl, and multiply each with COLUMNS rows of activations; the sums are added up as
// there. The grid is blocks of rows of weights × blocks of COLUMNS rows of activations.

#define RESULTS (ROWS_OF_GROUP * COLUMNS)
#define SUM_CHAINS ((RESULTS + GROUP - 1) / GROUP) // results of a work-item

KERNEL several(__global const uint4 *a, __global const float *steps, int steps_at, __global const short *sums, int sums_at,
               WEIGHT_ARGUMENTS(0), int k, int stride, output out, int out_at, int m, int width, int accumulate) {
  __local term_type terms[RESULTS * TERMS];
  __local float2 factors[BLOCK == 256 ? RESULTS * FACTORS : 1];
  const int id = get_local_id(0), lane = id % LANES, team = id / LANES, blocks = k / 32;
  const int block_row = get_group_id(0) * ROWS_OF_GROUP, first_column = get_group_id(1) * COLUMNS;
  const int first[SETS] = {first0 + block_row}, end[SETS] = {first0 + rows0};
  float results[SUM_CHAINS];
  for (int c = 0; c < SUM_CHAINS; c++)
    results[c] = 0;
  lane_weights w[ROWS];
#define LOAD_BLOCK(block)                                                                                            \
  if (block < blocks)                                                                                                \
    _Pragma("unroll") for (int i = 0; i < ROWS; i++) w[i] = load_lane(quants0, SCALES_OF(quants0, scales0_at), ROW(i), stride, block);
  LOAD_BLOCK(lane)
  for (int start = 0; start < blocks; start += LANES) {
    const int block = start + lane;
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) {
      const size_t column = min(first_column + c, m - 1); // those beyond the last repeat it
      block_activations x;
      if (block < blocks) {
        __global const short *halves = sums + sums_at + column * (k / 16) + 2 * block;
        x.lower = a[column * (k / 16) + 2 * block];
        x.upper = a[column * (k / 16) + 2 * block + 1];
        x.lower_sum = halves[0];
        x.upper_sum = halves[1];
        x.step = steps[steps_at + column * (k / BLOCK) + block / (BLOCK / 32)];
      }
#pragma unroll
      for (int i = 0; i < ROWS; i++) {
        const int result = (team * ROWS + i) * COLUMNS + c;
        terms[result * TERMS + lane] = block < blocks ? block_term(w[i], x) : (term_type)(0); // 0 adds nothing
#if BLOCK == 256
        if (lane % 8 == 0)
          factors[result * FACTORS + lane / 8] = block < blocks ? block_factors(w[i], x.step) : (float2)(0);
#endif
      }
    }
    LOAD_BLOCK(block + LANES) // on their way while the terms are added
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (int c = 0; c < SUM_CHAINS; c++) {
      const int result = id + c * GROUP;
      if (result < RESULTS)
        results[c] = add_terms(results[c], terms + result * TERMS, factors + result * FACTORS, LANES);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
#pragma unroll
  for (int c = 0; c < SUM_CHAINS; c++) {
    const int result = id + c * GROUP, row = block_row + result / COLUMNS, column = first_column + result % COLUMNS;
    if (result >= RESULTS || row >= rows0 || column >= m)
      continue;
    output to = out + out_at + (size_t)column * width + row;
    *to = accumulate ? *to + results[c] : results[c];
  }
}
