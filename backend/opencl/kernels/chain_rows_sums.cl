// The sums of a group's rows of weights of a format for several rows of activations: see chain_rows.cl. As chain_sums.cl, a program may have it twice.

#define ADD_ROWS_OF_ALL OF_FORMAT(add_rows_of_all_, FORMAT)

// ADD_ROWS_OF_ALL computes the sums of the rows of weights that the group computes at once, of which the first blocks are loaded, for all rows of
// activations, into totals [MOST_TOKENS, MOST_ROWS].
INLINED void ADD_ROWS_OF_ALL(share *s, const __local record *r, ROWS_ARGUMENTS) {
  const int id = get_local_id(0), blocks = r->k / 32, width = 1 << s->log, column = id & (width - 1), used = s->rows << s->log, rows = r->rows;
  const rounded_of from = rounded_at(r->x, rows, r->k);
#pragma unroll 1
  for (int first = 0; first < blocks; first += width) {
    const int inside = first + column < blocks, block = inside ? first + column : 0;
    block_activations a[TOGETHER];
#pragma unroll
    for (int t = 0; t < TOGETHER; t++)
      a[t] = activations_at(from, t, blocks, block);
#pragma unroll 1
    for (int m = 0; m < rows; m += TOGETHER) {
#pragma unroll
      for (int two = 0; two < EACH; two += 2)
        if (two * GROUP < used) // two blocks side by side; what is beyond the rows is not stored
#pragma unroll
          for (int j = two; j < two + 2; j++) {
            const int row = (id + j * GROUP) >> s->log;
#pragma unroll
            for (int t = 0; t < TOGETHER; t++) {
              const term_type term = block_term(s->w[j], a[t]);
              if (row < s->rows)
                terms[t * CHUNK_TERMS + row * (width + 1) + column] = inside ? term : (term_type)(0); // which adds nothing
#if BLOCK == 256
              if (row < s->rows && column % 8 == 0)
                factors[t * CHUNK_FACTORS + row * (width / 8 + 1) + column / 8] = inside ? block_factors(s->w[j], a[t].step) : (float2)(0);
#endif
            }
          }
      if (m + TOGETHER < rows) {
#pragma unroll
        for (int t = 0; t < TOGETHER; t++)
          a[t] = activations_at(from, min(m + TOGETHER + t, rows - 1), blocks, block);
      } else if (first + width < blocks)
        LOAD_BLOCKS(s, blocks, first + width);
      barrier(CLK_LOCAL_MEM_FENCE);
      for (int own = id; own < TOGETHER * MOST_ROWS; own += GROUP) {
        const int t = own / 32 % TOGETHER, row = own / (32 * TOGETHER) * 32 + own % 32; // neighbouring teams of 32 have different rows of activations
        if (row < s->rows && m + t < rows) {
          __local float *total = totals + (m + t) * MOST_ROWS + row;
          *total = add_terms(first > 0 ? *total : 0, terms + t * CHUNK_TERMS + row * (width + 1), factors + t * CHUNK_FACTORS + row * (width / 8 + 1), width);
        }
      }
      barrier(CLK_LOCAL_MEM_FENCE);
    }
  }
}
