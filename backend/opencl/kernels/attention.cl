// Attention of few tokens of each of several runs to their keys and values, with the softmax computed tile by tile (arXiv
// 2205.14135), with the CPU's bits: tiles are shared out among groups, and merged one after the other in order.

// A part is a query head's attention to a tile: Σ weight·value [QUADS], and then the largest score and the sum of weights.
#define PART (QUADS + 1)

// attend lets QUERIES neighbouring query heads of one token attend to the slots of one tile. The grid is tiles × heads/QUERIES
// × tokens of the runs, of which the first is number `begin`. Tiles that a token does not see cost it nothing. Where no token sees
// more than one the result goes to out, else parts [tokens, heads, tiles, PART] go to parts.
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
attend(input q, int q_at, output out, int out_at, __global float4 *parts, int begin, float scale, CACHE_ARGUMENTS, const run_list runs) {
  __local float4 buffer[BUFFER];
  QUERY_MEMORY;
  VALUE_MEMORY;
  __local float weights[QUERIES * TILE] __attribute__((aligned(16)));
  __local float lanes[QUERIES * LANES_OF_SUM], total[QUERIES];
  const int id = get_local_id(0), tile = get_group_id(0), tiles = get_num_groups(0), at = begin + get_group_id(2);
  const int heads = get_num_groups(1) * QUERIES, first_head = get_group_id(1) * QUERIES;
  const int kv_heads = heads / SHARE, head = first_head / SHARE;
  const run r = run_at(runs, at);
  const int seen = min(slots_of(r, head, CACHE_NAMES) - r.tokens + at - r.first + 1 - tile * TILE, TILE), last = seen - 1;
  if (seen <= 0)
    return;
  const size_t row = (size_t)(r.row + at - r.first) * heads + first_head; // of the queries, and of the results
  const place cached = tile_of(r, head, kv_heads, tile, CACHE_NAMES);
  fetched_values next;
  float scores[QUERIES], largest[QUERIES];
  fetch_values(&next, cached, 0, last); // which are on their way while the keys are multiplied
  score_tile(scores, q + q_at + row * HEAD_DIM, scale, cached, last, buffer, QUERY_NAMES);
  weigh_tile(scores, seen, weights, largest, lanes);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (id < QUERIES)
    total[id] = fold_lanes(lanes + id * LANES_OF_SUM);
  parts += ((get_group_id(2) * (size_t)heads + first_head) * tiles + tile) * PART;
  sums_at sums = {parts, (size_t)tiles * PART, 0};
  if (tiles == 1)
    sums = (sums_at){(__global float4 *)(out + out_at) + row * QUADS, QUADS, 1};
  add_values(&next, cached, seen, weights, total, buffer, sums, VALUE_NAMES);
  if (tiles > 1 && id == 0)
    for (int g = 0; g < QUERIES; g++)
      parts[(size_t)g * tiles * PART + QUADS] = (float4)(largest[g], total[g], 0, 0);
}

#define ELEMENTS ((HEAD_DIM + GROUP - 1) / GROUP) // of the result that a work-item merges

// merge joins the parts of a query head, tile by tile, as asm.Partial's merge does:
//
//   m = max(before, tile's), a = exp(before - m), b = exp(tile's - m), x = fma(tile's x, b, x·a) for the sum and the values
//
// The maxima do not depend on the order, so that each work-item finds the factors of one tile, of GROUP at a time. The grid is
// heads × tokens of the runs, of which the first is number `first`.
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
merge(input parts, int tiles, output out, int out_at, int first, CACHE_ARGUMENTS, const run_list runs) {
  __local float largest[GROUP], shrink[GROUP], grow[GROUP], totals[GROUP];
  const int id = get_local_id(0), at = first + get_group_id(1);
  const size_t heads = get_num_groups(0);
  const run r = run_at(runs, at);
  parts += (get_group_id(1) * heads + get_group_id(0)) * tiles * (4 * PART);
  const int seen = (slots_of(r, get_group_id(0) / SHARE, CACHE_NAMES) - r.tokens + at - r.first) / TILE + 1; // tiles
  float before = parts[HEAD_DIM], total = parts[HEAD_DIM + 1], sums[ELEMENTS];
  for (int i = 0; i < ELEMENTS; i++)
    sums[i] = parts[min(id + i * GROUP, HEAD_DIM - 1)];
  for (int begin = 1; begin < seen; begin += GROUP) {
    const int count = min(GROUP, seen - begin);
    const size_t at = (size_t)(begin + min(id, count - 1)) * (4 * PART) + HEAD_DIM;
    largest[id] = parts[at];
    totals[id] = parts[at + 1];
    barrier(CLK_LOCAL_MEM_FENCE);
    float mine = before;
    for (int i = 0; i < id; i++)
      mine = fmax(mine, largest[i]);
    const float m = fmax(mine, largest[id]);
    shrink[id] = exact_exp(mine - m);
    grow[id] = exact_exp(largest[id] - m);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int t = 0; t < count; t++) {
      before = fmax(before, largest[t]);
      total = fma(totals[t], grow[t], total * shrink[t]);
    }
    for (int i = 0; i < ELEMENTS; i++) {
      input values = parts + (size_t)begin * (4 * PART) + min(id + i * GROUP, HEAD_DIM - 1);
      float sum = sums[i];
      int t = 0;
      for (; t + 8 <= count; t += 8) { // loads do not wait for the chain
#pragma unroll
        for (int j = t; j < t + 8; j++)
          sum = fma(values[j * (4 * PART)], grow[j], sum * shrink[j]);
      }
      for (; t < count; t++)
        sum = fma(values[t * (4 * PART)], grow[t], sum * shrink[t]);
      sums[i] = sum;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  out += out_at + ((r.row + at - r.first) * heads + get_group_id(0)) * HEAD_DIM;
  for (int i = 0; i < ELEMENTS; i++)
    if (id + i * GROUP < HEAD_DIM)
      out[id + i * GROUP] = sums[i] / total;
}
