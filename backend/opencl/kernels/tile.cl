// The attention of QUERIES query heads of one token to the keys of one tile, with the CPU's bits. GROUP is TILE: a work-item
// has a key.
//
//   scores    an FMA chain over the head's elements in order; where keys are blocks of 32, the query is rounded to eight bits,
//             a block's products are summed as integers, which is exact in any order, and the chain is over the blocks
//   weights   exp(score - the largest), 0 for the slots that the token does not see
//   lanes     weight j is added to lane j % LANES_OF_SUM, in order of j; folded they are the sum of weights

#define PIECE 8                // quads of a key that are in local memory at a time: a block
#define PADDED (PIECE + 1)     // float4 of a key there, so that neighbouring keys lie in different banks
#define BUFFER (TILE * PADDED) // float4 of local memory for keys, and then for values
#define KEY_WORDS (PIECE + 4)  // of a block there: its bytes and its scale, in fours of which there are an odd number

#define PIECES ((QUADS + PIECE - 1) / PIECE)

// A part is a query head's attention to a tile: Σ weight·value [QUADS], and then the largest score and the sum of weights.
#define PART (QUADS + 1)

// How many tiles a number of slots is in.
static inline int groups_of(int slots) { return (slots - 1) / TILE + 1; }

// scaled returns eight elements of a query.
static inline float8 scaled(input q, size_t eight, float scale) { return EIGHT_AT((__global const float4 *)q, eight) * scale; }

#ifdef PACKED
#define QUERY_MEMORY                                                 \
  __local uint query[QUERIES * QUADS] __attribute__((aligned(16))); \
  __local float query_steps[QUERIES * PIECES], query_part[GROUP]
#define QUERY_ARGUMENTS __local uint *query, __local float *query_steps, __local float *query_part
#define QUERY_NAMES query, query_steps, query_part
#else
#define QUERY_MEMORY __local float4 query[QUERIES * QUADS]
#define QUERY_ARGUMENTS __local float4 *query
#define QUERY_NAMES query
#endif

// load_queries puts QUERIES neighbouring rows of q, divided by √HEAD_DIM, into local memory: [QUADS, QUERIES], or
// [PIECES, QUERIES, PIECE] where they are packed. There must be a barrier before they are used.
INLINED void load_queries(input q, float scale, QUERY_ARGUMENTS) {
  const int id = get_local_id(0);
#ifdef PACKED
  for (int begin = 0; begin < QUERIES * QUADS / 2; begin += GROUP) {
    const int eight = begin + id, inside = eight < QUERIES * QUADS / 2;
    const int g = eight / (QUADS / 2), quad = eight % (QUADS / 2) * 2;
    const float8 x = inside ? scaled(q, eight, scale) : (float8)(0);
    float step;
    const char8 rounded = round_eight(x, 4, &step, query_part);
    if (inside) {
      const int block = quad / PIECE * QUERIES + g;
      query[block * PIECE + quad % PIECE] = as_uint(rounded.lo);
      query[block * PIECE + quad % PIECE + 1] = as_uint(rounded.hi);
      if (quad % PIECE == 0)
        query_steps[block] = step;
    }
  }
#else
  for (int i = id; i < QUERIES * QUADS; i += GROUP)
    query[i % QUADS * QUERIES + i / QUADS] = LOAD4(q, i) * scale;
#endif
}

// fetch_keys begins to load a piece of the tile's keys. Slots after `last` are not read.
static inline void fetch_keys(RAW *next, const place tile, int last, int piece) {
#pragma unroll
  for (int j = 0; j < PIECE; j++) {
    const int i = get_local_id(0) + j * GROUP;
    next[j] = raw_at(tile.keys, min(i / PIECE, last), min(piece * PIECE + i % PIECE, QUADS - 1));
  }
}

// keep_keys puts what was fetched into local memory.
INLINED void keep_keys(const RAW *next, __local float4 *buffer) {
#pragma unroll
  for (int j = 0; j < PIECE; j++) {
    const int i = get_local_id(0) + j * GROUP;
#ifdef PACKED
    __local uint *key = (__local uint *)buffer + i / PIECE * KEY_WORDS;
    key[i % PIECE] = packed_of(next[j], i % PIECE);
    if (i % PIECE == 0)
      key[PIECE] = as_uint(scale_of(next[j]));
#else
    buffer[i / PIECE * PADDED + i % PIECE] = floats_of(next[j], i % PIECE);
#endif
  }
}

// add_scores continues the work-item's chains with a piece.
INLINED void add_scores(float *scores, int piece, const __local float4 *buffer, QUERY_ARGUMENTS) {
#ifdef PACKED
  const __local uint *key = (const __local uint *)buffer + get_local_id(0) * KEY_WORDS;
  const float scale = as_float(key[PIECE]);
#pragma unroll
  for (int g = 0; g < QUERIES; g++) {
    const int block = piece * QUERIES + g;
    scores[g] = fma(scale * query_steps[block], (float)block_product(query + block * PIECE, key), scores[g]);
  }
#else
  const __local float4 *key = buffer + get_local_id(0) * PADDED;
  for (int i = 0; i < min(PIECE, QUADS - piece * PIECE); i++) {
    const float4 four = key[i];
#pragma unroll
    for (int g = 0; g < QUERIES; g++) {
      scores[g] = add_four(scores[g], query[(piece * PIECE + i) * QUERIES + g], four);
    }
  }
#endif
}

// score_tile computes the work-item's scores. When it returns, the buffer is free again.
INLINED void score_tile(float *scores, input q, float scale, const place tile, int last, __local float4 *buffer, QUERY_ARGUMENTS) {
  RAW next[PIECE];
  fetch_keys(next, tile, last, 0);
  load_queries(q, scale, QUERY_NAMES);
#pragma unroll
  for (int g = 0; g < QUERIES; g++)
    scores[g] = 0;
  for (int piece = 0; piece < PIECES; piece++) {
    keep_keys(next, buffer);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (piece + 1 < PIECES) // on its way while the scores are computed
      fetch_keys(next, tile, last, piece + 1);
    add_scores(scores, piece, buffer, QUERY_NAMES);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
#pragma unroll
  for (int g = 0; g < QUERIES; g++)
    scores[g] = LIMITED(scores[g]);
}

// weigh_tile turns the scores, of which the token sees those from `hidden` on and before `seen`, into weights [QUERIES, TILE], the largest scores
// and lanes [QUERIES, LANES_OF_SUM]. The caller has a barrier before it uses the lanes.
INLINED void weigh_tile(const float *scores, int hidden, int seen, __local float *weights, float *largest, __local float *lanes) {
  const int id = get_local_id(0);
  const bool sees = id >= hidden && id < seen;
  __local float *mine = weights + id / LANES_OF_SUM * TILE + id % LANES_OF_SUM;
#pragma unroll
  for (int g = 0; g < QUERIES; g++)
    weights[g * TILE + id] = sees ? scores[g] : -INFINITY;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (id < QUERIES * LANES_OF_SUM) {
    float most = mine[0];
    for (int j = LANES_OF_SUM; j < TILE; j += LANES_OF_SUM)
      most = fmax(most, mine[j]);
    lanes[id] = most;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
  for (int g = 0; g < QUERIES; g++) {
    float most = lanes[g * LANES_OF_SUM];
    for (int i = 1; i < LANES_OF_SUM; i++)
      most = fmax(most, lanes[g * LANES_OF_SUM + i]);
    largest[g] = most;
    weights[g * TILE + id] = sees ? exact_exp(scores[g] - most) : 0.0f;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (id < QUERIES * LANES_OF_SUM) {
    float sum = 0;
    for (int j = 0; j < TILE; j += LANES_OF_SUM)
      sum += mine[j];
    lanes[id] = sum;
  }
}
