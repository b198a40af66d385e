// How much attention keys get, for eviction: sums[h, j] += Σ softmax(q·kᵀ/√HEAD_DIM)[j] over the queries of a chunk, with the
// CPU's bits. The first kernel finds the weights of the keys of each tile, the second what a tile's weights are to be
// multiplied by, the third adds them up, in the order of tokens and heads.
//
// Rows are query heads, [tokens, heads]. Of a row, stats has for each tile the largest score and the sum of weights, and
// weights has TILE weights for each tile.

// There is one run. weigh_tiles: the grid is tiles × heads/QUERIES × tokens, of which the first is number `token` of the run's.
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
weigh_tiles(input q, int q_at, __global float2 *stats, output weights, int token, float scale, CACHE_ARGUMENTS, const run_list runs) {
  __local float4 buffer[BUFFER];
  QUERY_MEMORY;
  __local float kept[QUERIES * TILE], lanes[QUERIES * LANES_OF_SUM];
  const int id = get_local_id(0), tile = get_group_id(0), tiles = get_num_groups(0);
  const int heads = get_num_groups(1) * QUERIES, first_head = get_group_id(1) * QUERIES;
  const int head = first_head / SHARE;
  const size_t row = (size_t)get_group_id(2) * heads + first_head;
  const run r = runs.of[0];
  const int seen = min(slots_of(r, head, CACHE_NAMES) - r.tokens + token + (int)get_group_id(2) + 1 - tile * TILE, TILE);
  if (seen <= 0)
    return;
  float scores[QUERIES], largest[QUERIES];
  score_tile(scores, q + q_at + ((size_t)token * heads + row) * HEAD_DIM, scale, tile_of(r, head, tile, CACHE_NAMES), seen - 1,
             buffer, QUERY_NAMES);
  weigh_tile(scores, 0, seen, kept, largest, lanes);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int g = 0; g < QUERIES; g++)
    weights[((row + g) * tiles + tile) * TILE + id] = kept[g * TILE + id];
  if (id == 0)
    for (int g = 0; g < QUERIES; g++)
      stats[(row + g) * tiles + tile] = (float2)(largest[g], fold_lanes(lanes + g * LANES_OF_SUM));
}

// weigh_shares replaces the first number of each tile's stats by the factor of its weights: the tile's share, which is a
// softmax over the tiles' maxima with the sum in lanes, divided by the sum of all weights. A sink is like one tile more, with weights that
// add up to 1. The grid is heads × tokens.
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
weigh_shares(__global float2 *stats, int tiles, int token, SINK_ARGUMENTS CACHE_ARGUMENTS, const run_list runs) {
  __local float part[GROUP];
  const int id = get_local_id(0);
  const run r = runs.of[0];
  const int seen = (slots_of(r, get_group_id(0) / SHARE, CACHE_NAMES) - r.tokens + token + (int)get_group_id(1)) / TILE + 1; // tiles
  stats += ((size_t)get_group_id(1) * get_num_groups(0) + get_group_id(0)) * tiles;
  float most = -INFINITY, sum = 0, total = 0;
  for (int t = id; t < seen; t += GROUP)
    most = fmax(most, stats[t].x);
#ifdef SINKS
  const float sink = all_sinks[sinks_at + get_group_id(0)];
  most = fmax(most, sink);
#endif
  most = group_max(most, part);
  for (int t = id; t < seen; t += GROUP)
    stats[t].x = exact_exp(stats[t].x - most);
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  if (id < LANES_OF_SUM) {
    for (int t = id; t < seen; t += LANES_OF_SUM)
      sum += stats[t].x;
#ifdef SINKS
    if (id == seen % LANES_OF_SUM)
      sum += exact_exp(sink - most);
#endif
    part[id] = sum;
  }
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  sum = fold_lanes(part);
  for (int t = id; t < seen; t += GROUP)
    stats[t].x /= sum;
#ifdef SINKS
  total = exact_exp(sink - most) / sum;
#endif
  barrier(CLK_GLOBAL_MEM_FENCE);
  for (int t = 0; t < seen; t++)
    total += stats[t].x * stats[t].y;
  barrier(CLK_GLOBAL_MEM_FENCE); // everyone has read
  for (int t = id; t < seen; t += GROUP)
    stats[t].x /= total;
}

// weigh_keys: groups of keys × kv_heads. The other kernels were run for tokens_now tokens, of which the first is number `token`.
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
weigh_keys(__global const float2 *stats, input weights, int tiles, output sums, int sums_at, int width, int token, int tokens_now,
           CACHE_ARGUMENTS, const run_list runs) {
  const int slot = get_global_id(0), head = get_group_id(1), kv_heads = get_num_groups(1);
  const run r = runs.of[0];
  const int before = slots_of(r, head, CACHE_NAMES) - r.tokens + token; // slots that the first token sees beside its own
  if (slot >= before + tokens_now)
    return;
  sums += sums_at + (size_t)head * width + slot;
  float sum = *sums;
  for (int i = max(0, slot - before); i < tokens_now; i++) // those that see the slot
#pragma unroll
    for (int g = 0; g < SHARE; g++) {
      const size_t row = ((size_t)i * kv_heads + head) * SHARE + g;
      sum = fma(stats[row * tiles + slot / TILE].x, weights[row * tiles * TILE + slot], sum);
    }
  *sums = sum;
}
