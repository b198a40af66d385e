// The sums of a group's rows of weights of a format, FORMAT: see chain_record.cl. A program may have two of them, and this file twice.

#define LOAD_BLOCKS OF_FORMAT(load_blocks_, FORMAT)
#define ADD_ROWS OF_FORMAT(add_rows_, FORMAT)

// LOAD_BLOCKS loads the work-item's blocks of a chunk that begins with block `first`.
INLINED void LOAD_BLOCKS(share *s, int blocks, int first) {
#pragma unroll
  for (int j = 0; j < EACH; j++) {
    const int i = get_local_id(0) + j * GROUP, block = min(first + (i & ((1 << s->log) - 1)), blocks - 1); // those beyond load the last ones
    s->w[j] = load_lane(s->quants[j], s->scales[j], 0, blocks, block);
  }
}

// ADD_ROWS computes the sums of the rows that the group computes at once, of which the first blocks are loaded, into totals.
INLINED void ADD_ROWS(share *s, int blocks, CHAIN_ARGUMENTS) {
  const int id = get_local_id(0), width = 1 << s->log;
  float sum = 0;
  int turn = 0;
#pragma unroll 1
  for (int first = 0; first < blocks; first += width, turn ^= 1) {
    __local term_type *now = terms + turn * CHUNK_TERMS;
    __local float2 *pair = factors + turn * CHUNK_FACTORS;
    // All work-items compute all of their products, so that these do not wait for each other; what is beyond the rows is not stored.
#pragma unroll
    for (int j = 0; j < EACH; j++) {
      const int i = id + j * GROUP, row = i >> s->log, column = i & (width - 1), inside = first + column < blocks;
      const int block = inside ? first + column : 0;
      const short4 e = eights[block];
      const block_activations a = {rounded[block], rounded[MOST_K / 32 + block], e.x + e.y, e.z + e.w, steps[block / (BLOCK / 32)]};
      const term_type term = block_term(s->w[j], a);
      if (row < s->rows)
        now[row * (width + 1) + column] = inside ? term : (term_type)(0); // which adds nothing
#if BLOCK == 256
      if (row < s->rows && column % 8 == 0)
        pair[row * (width / 8 + 1) + column / 8] = inside ? block_factors(s->w[j], a.step) : (float2)(0);
#endif
    }
    if (first + width < blocks)
      LOAD_BLOCKS(s, blocks, first + width);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (id < s->rows)
      sum = add_terms(sum, now + id * (width + 1), pair + id * (width / 8 + 1), width);
  }
  if (id < s->rows)
    totals[id] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
}
