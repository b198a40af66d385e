// Attention of runs of many tokens, with the CPU's bits. The rows of a KV head are its queries, SHARE for each token, so row
// r is query head r % SHARE of token r / SHARE. A group takes ROWS of them through the slots, tile by tile of TILE, in pieces
// of KEYS, which all its rows share in local memory. A token does not see the slots after its own.
//
// The orders are those of tile.cl, values.cl and attention.cl. A row's softmax over a tile needs all its scores at once: 16
// work-items keep them in registers. Work-item i of these has slots i, 16 + i, …, which are those of the CPU's lane i.
//
// It needs GROUP = TILE = 128 and HEAD_DIM 32, 64 or 128.

#define KEYS 32                       // slots of a piece
#define PIECES (TILE / KEYS)
#define PADDED (QUADS + 1)            // float4 of a row in local memory
#define SCORE_ROWS (ROWS * LANES_OF_SUM / GROUP) // a work-item computes scores of so many rows with two keys of a piece
#define OWN (TILE / LANES_OF_SUM)     // and so many scores of each
#define SUM_ROWS (ROWS * QUADS / GROUP) // QUADS work-items share the sums of a row, of so many rows
// SCORE_ROW and SUM_ROW return the rows of a work-item: those of work-items that compute at the same time are neighbours, in different banks.
#define SCORE_ROW(r) (id / LANES_OF_SUM + (r) * (GROUP / LANES_OF_SUM))
#define SUM_ROW(i) (id / QUADS + (i) * (GROUP / QUADS))
#define FETCHED (KEYS * QUADS / GROUP)  // quads of a piece that a work-item loads

#define QUERY(i) (((size_t)(chunk.row + (i) / SHARE) * kv_heads + head) * SHARE + (i) % SHARE)

#ifdef PACKED
#define BLOCKS (QUADS / 8)
#define COLUMN(slot) ((slot) / KEYS * (KEYS + 4) + (slot) % KEYS) // of a slot in a row of numbers for all: four more a piece, for banks
#define WEIGHTS COLUMN(TILE)                            // of a row in local memory, fours: the whole tile's
#define CACHED (KEYS * KEY_WORDS / 4)                   // float4 of a piece's keys, which are more than its values
#define ROUNDERS (GROUP / (ROWS * PIECES))              // work-items that round a row's weights of a piece, for some of the blocks each
#define SQUARES (KEYS / 4 * QUADS)                      // of four slots by four elements of a piece's values
#define FETCHED_SQUARES ((SQUARES + GROUP - 1) / GROUP) // that a work-item loads
#define LOADED (4 * FETCHED_SQUARES)                    // words of values that it loads, which are as many as of keys or more
#define QUERY_WORDS (QUADS + 4)                         // of a row in local memory, fours
#define KEY_WORDS (((QUADS + QUADS / 8 + 3) / 4 | 1) * 4) // a key's bytes and its scales: an odd number of fours, for banks
#else
#define CACHED (KEYS * PADDED)
#define LOADED FETCHED
#define WEIGHTS (KEYS + 4) // of a row in local memory, fours: a piece's
#endif

// How many slots of the tile stand before those that row `row` sees. Without a window it sees all from the first on.
#ifdef WINDOW
#define UNSEEN(row) (before + (row) / SHARE - WINDOW - tile)
#else
#define UNSEEN(row) (-1)
#endif

// sees reports whether a row sees some of a tile, and begins whether it sees none before, given its visible and unseen slots of the tile.
#define SEES(row) (before + (row) / SHARE > tile && UNSEEN(row) < TILE)
#define BEGINS(row) (tile == 0 || UNSEEN(row) >= 0)

// MASK_SCORES puts a number in place of the scores of slots that a row does not see.
#define MASK_SCORES(hidden)                                                                                          \
  _Pragma("unroll") for (int r = 0; r < SCORE_ROWS; r++) {                                                           \
    const int visible = min(before + (first + SCORE_ROW(r)) / SHARE - tile, seen);                                   \
    const int unseen = UNSEEN(first + SCORE_ROW(r));                                                                 \
    _Pragma("unroll") for (int j = 0; j < OWN; j++) {                                                                \
      const int slot = j * LANES_OF_SUM + lane;                                                                      \
      scores[r][j] = slot >= unseen && slot < visible ? scores[r][j] : hidden;                                       \
    }                                                                                                                \
  }

// fetch begins to load the keys of a piece, or its values where they are floats. It begins with slot `first` of a tile. Slots after
// `last` are not read.
static inline void fetch(RAW *next, bytes cache, int first, int last) {
#pragma unroll
  for (int j = 0; j < FETCHED; j++) {
    const int i = get_local_id(0) + j * GROUP;
    next[j] = raw_at(cache, min(first + i / QUADS, last), i % QUADS);
  }
}

// keep_keys puts keys that were fetched into local memory.
INLINED void keep_keys(const RAW *next, __local float4 *cached) {
#pragma unroll
  for (int j = 0; j < FETCHED; j++) {
    const int i = get_local_id(0) + j * GROUP, quad = i % QUADS;
#ifdef PACKED
    __local uint *key = (__local uint *)cached + i / QUADS * KEY_WORDS;
    key[quad] = packed_of(next[j], quad);
    if (quad % 8 == 0)
      key[QUADS + quad / 8] = as_uint(scale_of(next[j]));
#else
    cached[i / QUADS * PADDED + quad] = floats_of(next[j], quad);
#endif
  }
}

#ifdef PACKED
// fetch_values begins to load the values of a piece, as fetch does: FETCHED_SQUARES times four slots' words.
static inline void fetch_values(RAW *next, bytes cache, int first, int last) {
#pragma unroll
  for (int j = 0; j < FETCHED_SQUARES; j++) {
    const int i = min((int)get_local_id(0) + j * GROUP, SQUARES - 1);
#pragma unroll
    for (int k = 0; k < 4; k++)
      next[4 * j + k].x = raw_at(cache, min(first + i / QUADS * 4 + k, last), i % QUADS).x;
  }
}

// keep_values puts values that were fetched into local memory, [KEYS / 4, QUADS].
INLINED void keep_values(const RAW *next, __local float4 *cached) {
#pragma unroll
  for (int j = 0; j < FETCHED_SQUARES; j++) {
    const int i = get_local_id(0) + j * GROUP;
    const uint words[4] = {next[4 * j].x, next[4 * j + 1].x, next[4 * j + 2].x, next[4 * j + 3].x};
    if (i < SQUARES)
      ((__local uint4 *)cached)[i] = transposed(words, i);
  }
}

// round_weights rounds the weights of all rows to eight bits, as values.cl does. Of each row and piece there are KEYS floats, whose
// place is taken by the integers of BLOCKS blocks, KEYS bytes each, and behind them the blocks' steps. There must be a barrier before,
// and one before they are used.
INLINED void round_weights(__local float *weights, const __local float *scales) {
  const int id = get_local_id(0), piece = id % PIECES, part = id / PIECES % ROUNDERS;
  __local float4 *row = (__local float4 *)(weights + id / (PIECES * ROUNDERS) * WEIGHTS + COLUMN(piece * KEYS));
  float4 p[KEYS / 4];
#pragma unroll
  for (int i = 0; i < KEYS / 4; i++)
    p[i] = row[i];
  if (ROUNDERS > 1)
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll 1
  for (int block = part; block < BLOCKS; block += ROUNDERS) {
    const __local float4 *scale = (const __local float4 *)(scales + block * WEIGHTS + COLUMN(piece * KEYS));
    float4 x[KEYS / 4], most = (float4)(0);
#pragma unroll
    for (int i = 0; i < KEYS / 4; i++) {
      x[i] = p[i] * scale[i];
      most = fmax(most, fabs(x[i]));
    }
    const float step = fmax(fmax(most.x, most.y), fmax(most.z, most.w)) / 127, inverse = reciprocal(step);
    uint rounded[KEYS / 4];
#pragma unroll
    for (int i = 0; i < KEYS / 4; i++)
      rounded[i] = as_uint(convert_char4_sat_rte(x[i] * inverse));
    __local uint4 *to = (__local uint4 *)row + block * 2;
    to[0] = (uint4)(rounded[0], rounded[1], rounded[2], rounded[3]);
    to[1] = (uint4)(rounded[4], rounded[5], rounded[6], rounded[7]);
    ((__local float *)row)[KEYS + block] = step;
  }
}
#else
#define fetch_values fetch

// keep_values puts values that were fetched into local memory.
INLINED void keep_values(const RAW *next, __local float4 *cached) {
#pragma unroll
  for (int j = 0; j < FETCHED; j++) {
    const int i = get_local_id(0) + j * GROUP;
    cached[i / QUADS * PADDED + i % QUADS] = floats_of(next[j], i % QUADS);
  }
}
#endif

// The grid is blocks of ROWS rows of the runs × KV heads.
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
flash(input q, int q_at, output out, int out_at, float scale, SINK_ARGUMENTS CACHE_ARGUMENTS, const run_list runs) {
  __local float4 cached[CACHED]; // a piece's keys, or its values
  __local float weights[ROWS * WEIGHTS] __attribute__((aligned(16)));
  __local float lanes[ROWS * LANES_OF_SUM] __attribute__((aligned(16)));
  __local float largest[ROWS], total[ROWS], tile_largest[ROWS], shrink[ROWS], grow[ROWS];
  const int id = get_local_id(0), head = get_group_id(1), kv_heads = get_num_groups(1);
  const run chunk = run_at(runs, get_group_id(0));
  const int rows = chunk.tokens * SHARE, blocks = (rows + ROWS - 1) / ROWS;
  const int first = (blocks - 1 - ((int)get_group_id(0) - chunk.first)) * ROWS; // those that see most begin first
  const int before = slots_of(chunk, head, CACHE_NAMES) - chunk.tokens + 1;         // what row i sees: before + i / SHARE slots
  const int end = before + min(first + ROWS - 1, rows - 1) / SHARE;         // what the last row sees
#ifdef WINDOW
  const int start = max(before + first / SHARE - WINDOW, 0) / TILE * TILE; // the first tile that the first row sees
#else
  const int start = 0;
#endif
  place here = tile_of(chunk, head, start / TILE, CACHE_NAMES);
  RAW next[LOADED];
  fetch(next, here.keys, 0, end - 1 - start);
#ifdef PACKED
  __local uint query[ROWS * QUERY_WORDS] __attribute__((aligned(16)));
  __local float steps[ROWS * BLOCKS];
  __local float value_scales[BLOCKS * WEIGHTS] __attribute__((aligned(16)));
  uint next_scales[BLOCKS]; // of one slot's values
  for (int begin = 0; begin < ROWS * QUADS / 2; begin += GROUP) {
    const int i = (begin + id) / (QUADS / 2), eight = (begin + id) % (QUADS / 2), inside = i < ROWS;
    const size_t at = QUERY(min(first + min(i, ROWS - 1), rows - 1)) * (QUADS / 2) + eight;
    float step;
    const char8 rounded = round_eight(EIGHT_AT((__global const float4 *)(q + q_at), at) * scale, 4, &step, weights);
    if (inside) {
      query[i * QUERY_WORDS + eight * 2] = as_uint(rounded.lo);
      query[i * QUERY_WORDS + eight * 2 + 1] = as_uint(rounded.hi);
      if (eight % 4 == 0)
        steps[i * (QUADS / 8) + eight / 4] = step;
    }
  }
#else
  __local float4 query[ROWS * PADDED];
  for (int i = id; i < ROWS * QUADS; i += GROUP)
    query[i / QUADS * PADDED + i % QUADS] = LOAD4(q + q_at, QUERY(min(first + i / QUADS, rows - 1)) * QUADS + i % QUADS) * scale;
#endif
  const int lane = id % LANES_OF_SUM, quad = id % QUADS;
  float4 sums[SUM_ROWS], part[SUM_ROWS];
  float scores[SCORE_ROWS][OWN];
#pragma unroll
  for (int i = 0; i < SUM_ROWS; i++)
    sums[i] = (float4)(0);
  for (int tile = start; tile < end; tile += TILE) {
    const int seen = min(end - tile, TILE), pieces = (seen + KEYS - 1) / KEYS;
#ifdef PACKED
#pragma unroll
    for (int i = 0; i < BLOCKS; i++)
      next_scales[i] = raw_at(here.values, min(id, seen - 1), i * 8).y;
#endif
#pragma unroll
    for (int piece = 0; piece < PIECES; piece++) {
      if (piece < pieces)
        keep_keys(next, cached);
      barrier(CLK_LOCAL_MEM_FENCE);
      if (piece + 1 < pieces)
        fetch(next, here.keys, (piece + 1) * KEYS, end - 1 - tile);
      else if (piece + 1 == pieces)
        fetch_values(next, here.values, 0, end - 1 - tile);
      float dots[SCORE_ROWS][2];
#pragma unroll
      for (int r = 0; r < SCORE_ROWS; r++)
        dots[r][0] = dots[r][1] = 0;
      if (piece < pieces) {
#ifdef PACKED
        const __local uint *a = (__local uint *)cached + lane * KEY_WORDS, *b = a + LANES_OF_SUM * KEY_WORDS;
#pragma unroll 1
        for (int block = 0; block < QUADS / 8; block++) {
          const float x = as_float(a[QUADS + block]), y = as_float(b[QUADS + block]);
#pragma unroll
          for (int r = 0; r < SCORE_ROWS; r++) {
            const __local uint *eight = query + SCORE_ROW(r) * QUERY_WORDS + block * 8;
            const float step = steps[SCORE_ROW(r) * (QUADS / 8) + block];
            dots[r][0] = fma(x * step, (float)block_product(eight, a + block * 8), dots[r][0]);
            dots[r][1] = fma(y * step, (float)block_product(eight, b + block * 8), dots[r][1]);
          }
        }
#else
#pragma unroll 4
        for (int i = 0; i < QUADS; i++) {
          const float4 a = cached[lane * PADDED + i], b = cached[(lane + LANES_OF_SUM) * PADDED + i];
#pragma unroll
          for (int r = 0; r < SCORE_ROWS; r++) {
            const float4 x = query[SCORE_ROW(r) * PADDED + i];
            dots[r][0] = add_four(dots[r][0], x, a);
            dots[r][1] = add_four(dots[r][1], x, b);
          }
        }
#endif
      }
#pragma unroll
      for (int r = 0; r < SCORE_ROWS; r++) {
        scores[r][2 * piece] = LIMITED(dots[r][0]);
        scores[r][2 * piece + 1] = LIMITED(dots[r][1]);
      }
      barrier(CLK_LOCAL_MEM_FENCE);
    }
#ifdef PACKED
#pragma unroll
    for (int i = 0; i < BLOCKS; i++)
      value_scales[i * WEIGHTS + COLUMN(id)] = scale_of((RAW)(0, next_scales[i]));
#endif
    const int whole = before + first / SHARE - tile >= TILE && UNSEEN(first + ROWS - 1) <= 0; // every row sees all of the tile
    if (!whole) {
      MASK_SCORES(-INFINITY)
    }
#pragma unroll
    for (int r = 0; r < SCORE_ROWS; r++) {
      float most = -INFINITY;
#pragma unroll
      for (int j = 0; j < OWN; j++)
        most = fmax(most, scores[r][j]);
      lanes[SCORE_ROW(r) * LANES_OF_SUM + lane] = most;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    float most[SCORE_ROWS];
#pragma unroll
    for (int r = 0; r < SCORE_ROWS; r++) {
      const __local float4 *fours = (const __local float4 *)(lanes + SCORE_ROW(r) * LANES_OF_SUM);
      const float4 four = fmax(fmax(fours[0], fours[1]), fmax(fours[2], fours[3]));
      most[r] = fmax(fmax(four.x, four.y), fmax(four.z, four.w));
      if (lane == 0)
        tile_largest[SCORE_ROW(r)] = most[r];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (int r = 0; r < SCORE_ROWS; r++)
#pragma unroll
      for (int j = 0; j < OWN; j++)
        scores[r][j] = exact_exp(scores[r][j] - most[r]);
    if (!whole) {
      MASK_SCORES(0.0f)
    }
#pragma unroll
    for (int r = 0; r < SCORE_ROWS; r++) {
      float sum = 0;
#pragma unroll
      for (int j = 0; j < OWN; j++) {
        sum += scores[r][j];
#ifdef PACKED
        weights[SCORE_ROW(r) * WEIGHTS + COLUMN(j * LANES_OF_SUM + lane)] = scores[r][j];
#endif
      }
      lanes[SCORE_ROW(r) * LANES_OF_SUM + lane] = sum;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (id < ROWS && SEES(first + id)) {
      const bool begins = BEGINS(first + id);
      const float sum = fold_lanes(lanes + id * LANES_OF_SUM), m = begins ? tile_largest[id] : fmax(largest[id], tile_largest[id]);
      shrink[id] = begins ? 0.0f : exact_exp(largest[id] - m);
      grow[id] = exact_exp(tile_largest[id] - m);
      total[id] = begins ? sum : fma(sum, grow[id], total[id] * shrink[id]);
      largest[id] = m;
    }
#ifdef PACKED
    round_weights(weights, value_scales);
#else
    const int common = min(before + first / SHARE - tile, seen); // slots that every row sees
#endif
#pragma unroll
    for (int i = 0; i < SUM_ROWS; i++)
      part[i] = (float4)(0);
#pragma unroll
    for (int piece = 0; piece < PIECES; piece++) {
      if (piece < pieces)
        keep_values(next, cached);
#ifndef PACKED
#pragma unroll
      for (int r = 0; r < SCORE_ROWS; r++) {
        weights[SCORE_ROW(r) * WEIGHTS + lane] = scores[r][2 * piece];
        weights[SCORE_ROW(r) * WEIGHTS + lane + LANES_OF_SUM] = scores[r][2 * piece + 1];
      }
#endif
      barrier(CLK_LOCAL_MEM_FENCE);
      if (piece + 1 < pieces)
        fetch_values(next, here.values, (piece + 1) * KEYS, end - 1 - tile);
      else if (piece + 1 == pieces && tile + TILE < end) {
        here = tile_of(chunk, head, tile / TILE + 1, CACHE_NAMES);
        fetch(next, here.keys, 0, end - 1 - tile - TILE);
      }
#ifdef PACKED
      if (piece < pieces) {
#pragma unroll
        for (int i = 0; i < SUM_ROWS; i++) {
          const __local float *weight = weights + SUM_ROW(i) * WEIGHTS + COLUMN(piece * KEYS);
          const int4 product = grouped_product((const __local uint *)weight + quad / 8 * 8, (const __local uint4 *)cached + quad, QUADS);
          part[i] = fma((float4)(weight[KEYS + quad / 8]), convert_float4(product), part[i]);
        }
      }
#else
      const int all = clamp(common - piece * KEYS, 0, KEYS) & ~3, some = clamp(seen - piece * KEYS, 0, KEYS);
      for (int key = 0; key < all; key += 4) {
        const __local float4 *value = cached + key * PADDED + quad;
        const float4 a = value[0], b = value[PADDED], c = value[2 * PADDED], d = value[3 * PADDED];
#pragma unroll
        for (int i = 0; i < SUM_ROWS; i++) {
          const float4 weight = *(const __local float4 *)(weights + SUM_ROW(i) * WEIGHTS + key);
          part[i] = fma((float4)(weight.x), a, part[i]);
          part[i] = fma((float4)(weight.y), b, part[i]);
          part[i] = fma((float4)(weight.z), c, part[i]);
          part[i] = fma((float4)(weight.w), d, part[i]);
        }
      }
      for (int key = all; key < some; key++) {
        const float4 value = cached[key * PADDED + quad];
#pragma unroll
        for (int i = 0; i < SUM_ROWS; i++)
          if (piece * KEYS + key < before + (first + SUM_ROW(i)) / SHARE - tile)
            part[i] = fma((float4)(weights[SUM_ROW(i) * WEIGHTS + key]), value, part[i]);
      }
#endif
      barrier(CLK_LOCAL_MEM_FENCE);
    }
#pragma unroll
    for (int i = 0; i < SUM_ROWS; i++)
      if (BEGINS(first + SUM_ROW(i)))
        sums[i] = part[i];
      else if (SEES(first + SUM_ROW(i)))
        sums[i] = fma(part[i], (float4)(grow[SUM_ROW(i)]), sums[i] * shrink[SUM_ROW(i)]);
  }
#ifdef SINKS
  barrier(CLK_LOCAL_MEM_FENCE);
  if (id < ROWS)
    shrink[id] = join_sink(all_sinks[sinks_at + head * SHARE + (first + id) % SHARE], largest[id], total + id);
  barrier(CLK_LOCAL_MEM_FENCE);
#endif
#pragma unroll
  for (int i = 0; i < SUM_ROWS; i++)
    if (first + SUM_ROW(i) < rows)
      STORE4(SHRUNK(sums[i], shrink[SUM_ROW(i)]) / total[SUM_ROW(i)], out + out_at, QUERY(first + SUM_ROW(i)) * QUADS + quad);
}
