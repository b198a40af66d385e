// The sums of a group's rows of weights of a format for several rows of activations: see chain_rows.cl. As chain_sums.cl, a program may have it twice.

#define ADD_ROWS_OF_ALL OF_FORMAT(add_rows_of_all_, FORMAT)

// ADD_ROWS_OF_ALL computes the sums of the rows of weights that the group computes at once, of which the first blocks are loaded, for all rows of
// activations, into totals [MOST_TOKENS, MOST_ROWS].
INLINED void ADD_ROWS_OF_ALL(share *s, const __local record *r, ROWS_ARGUMENTS) {
  const int id = get_local_id(0), blocks = r->k / 32, width = 1 << s->log, column = id & (width - 1), used = s->rows << s->log, rows = r->rows;
  const rounded_of from = rounded_at(r->x, rows, r->k);
  int turn = 0, adder = 0; // the first work-item of those that add
#pragma unroll 1
  for (int first = 0; first < blocks; first += width) {
    const int inside = first + column < blocks, block = inside ? first + column : 0;
    block_activations a = activations_at(from, 0, blocks, block);
#pragma unroll 1
    for (int m = 0; m < rows; m++, turn ^= 1) {
      __local term_type *now = terms + turn * CHUNK_TERMS;
      __local float2 *pair = factors + turn * CHUNK_FACTORS;
#pragma unroll
      for (int two = 0; two < EACH; two += 2)
        if (two * GROUP < used) // two blocks side by side; what is beyond the rows is not stored
#pragma unroll
          for (int j = two; j < two + 2; j++) {
            const int row = (id + j * GROUP) >> s->log;
            const term_type term = block_term(s->w[j], a);
            if (row < s->rows)
              now[row * (width + 1) + column] = inside ? term : (term_type)(0); // which adds nothing
#if BLOCK == 256
            if (row < s->rows && column % 8 == 0)
              pair[row * (width / 8 + 1) + column / 8] = inside ? block_factors(s->w[j], a.step) : (float2)(0);
#endif
          }
      if (m + 1 < rows)
        a = activations_at(from, m + 1, blocks, block);
      else if (first + width < blocks)
        LOAD_BLOCKS(s, blocks, first + width);
      barrier(CLK_LOCAL_MEM_FENCE);
      const int own = (id - adder) & (GROUP - 1);
      if (own < s->rows) {
        __local float *total = totals + m * MOST_ROWS + own;
        *total = add_terms(first > 0 ? *total : 0, now + own * (width + 1), pair + own * (width / 8 + 1), width);
      }
      adder += (s->rows + 31) & ~31;
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
}
