// Attention of few tokens of each of several runs to their keys and values, with the softmax computed tile by tile (arXiv
// 2205.14135), with the CPU's bits: tiles are shared out among groups, and merged one after the other in order.

#define ELEMENTS(heads) (((heads) * HEAD_DIM + GROUP - 1) / GROUP) // of the results that a work-item merges

// How many of the first slots a token does not see that sees the last WINDOW of `visible` ones.
#ifdef WINDOW
#define UNSEEN(visible) max((visible)-WINDOW, 0)
#else
#define UNSEEN(visible) 0
#endif

// What other groups have left is loaded past caches that do not know of it.
typedef volatile __global const float *part_pointer;

// merge_parts joins the parts of neighbouring query heads, tile by tile, as asm.Partial's merge does:
//
//   m = max(before, tile's), a = exp(before - m), b = exp(tile's - m), x = fma(tile's x, b, x·a) for the sum and the values
//
// The maxima do not depend on the order, so that each work-item finds the factors of some tiles, of GROUP at a time. Of `tiles` tiles
// that there is room for the first `seen` have parts; memory is BUFFER float4 large.
INLINED void merge_parts(part_pointer parts, const int heads, int tiles, int seen, output out, __local float *memory SINK_PARAMETER) {
  __local float *largest = memory, *shrink = largest + heads * GROUP, *grow = shrink + heads * GROUP, *totals = grow + heads * GROUP;
  __local float *before = totals + heads * GROUP, *total = before + heads; // of each head
  const int id = get_local_id(0);
  const size_t stride = (size_t)tiles * (4 * PART); // of a head's parts
  float sums[ELEMENTS(QUERIES)];
  for (int i = 0; i < ELEMENTS(heads); i++) {
    const int own = min(id + i * GROUP, heads * HEAD_DIM - 1);
    sums[i] = parts[own / HEAD_DIM * stride + own % HEAD_DIM];
  }
  barrier(CLK_LOCAL_MEM_FENCE); // the memory was used for something else
  if (id < heads) {
    before[id] = parts[id * stride + HEAD_DIM];
    total[id] = parts[id * stride + HEAD_DIM + 1];
  }
  for (int begin = 1; begin < seen; begin += GROUP) {
    const int count = min(GROUP, seen - begin);
    for (int e = id; e < heads * count; e += GROUP) {
      const int at = e / count * GROUP + e % count;
      part_pointer two = parts + e / count * stride + (size_t)(begin + e % count) * (4 * PART) + HEAD_DIM;
      largest[at] = two[0];
      totals[at] = two[1];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int e = id; e < heads * count; e += GROUP) {
      const int head = e / count, at = head * GROUP + e % count;
      float mine = before[head];
      for (int i = head * GROUP; i < at; i++)
        mine = fmax(mine, largest[i]);
      const float m = fmax(mine, largest[at]);
      shrink[at] = exact_exp(mine - m);
      grow[at] = exact_exp(largest[at] - m);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < ELEMENTS(heads); i++) {
      const int own = min(id + i * GROUP, heads * HEAD_DIM - 1), head = own / HEAD_DIM;
      part_pointer values = parts + head * stride + (size_t)begin * (4 * PART) + own % HEAD_DIM;
      const __local float *a = shrink + head * GROUP, *b = grow + head * GROUP;
      float sum = sums[i];
      int t = 0;
      for (; t + 8 <= count; t += 8) { // loads do not wait for the chain
        float next[8];
#pragma unroll
        for (int j = 0; j < 8; j++)
          next[j] = values[(t + j) * (4 * PART)];
#pragma unroll
        for (int j = 0; j < 8; j++)
          sum = fma(next[j], b[t + j], sum * a[t + j]);
      }
      for (; t < count; t++)
        sum = fma(values[t * (4 * PART)], b[t], sum * a[t]);
      sums[i] = sum;
    }
    if (id < heads) {
      float most = before[id], sum = total[id];
      for (int t = id * GROUP; t < id * GROUP + count; t++) {
        most = fmax(most, largest[t]);
        sum = fma(totals[t], grow[t], sum * shrink[t]);
      }
      before[id] = most;
      total[id] = sum;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
#ifdef SINKS
  if (id < heads)
    shrink[id] = join_sink(sinks[id], before[id], total + id);
  barrier(CLK_LOCAL_MEM_FENCE);
#endif
  for (int i = 0; i < ELEMENTS(heads); i++) {
    const int own = id + i * GROUP;
    if (own < heads * HEAD_DIM)
      out[own] = SHRUNK(sums[i], shrink[own / HEAD_DIM]) / total[own / HEAD_DIM];
  }
}

// attend lets QUERIES neighbouring query heads of one token attend to the slots of one tile. The grid is tiles × heads/QUERIES
// × tokens of the runs, of which the first is number `begin`. Tiles that a token does not see cost it nothing. Where no token sees
// more than one, and there are no sinks, the result goes to out, else parts [tokens, heads, tiles, PART] go to parts. With
// LAST_GROUP the group that is the last to leave its part merges all of them; `left`
// [tokens, heads/QUERIES] counts those that have, and is 0 before and after.
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
attend(input q, int q_at, output out, int out_at, __global float4 *parts, __global int *left, int begin, float scale, SINK_ARGUMENTS CACHE_ARGUMENTS,
       const run_list runs) {
  __local float4 buffer[BUFFER];
  QUERY_MEMORY;
  VALUE_MEMORY;
  __local float weights[QUERIES * TILE] __attribute__((aligned(16)));
  __local float lanes[QUERIES * LANES_OF_SUM], total[QUERIES];
  const int id = get_local_id(0), tile = get_group_id(0), tiles = get_num_groups(0), at = begin + get_group_id(2);
  const int heads = get_num_groups(1) * QUERIES, first_head = get_group_id(1) * QUERIES;
  const int head = first_head / SHARE;
  const run r = run_at(runs, at);
  const int visible = slots_of(r, head, CACHE_NAMES) - r.tokens + at - r.first + 1; // slots that the token sees
  const int seen = min(visible - tile * TILE, TILE), last = seen - 1;
  const int unseen = UNSEEN(visible) - tile * TILE; // slots of the tile before those that the token sees
  if (seen <= 0 || unseen >= TILE)
    return;
  const size_t row = (size_t)(r.row + at - r.first) * heads + first_head; // of the queries, and of the results
  const place cached = tile_of(r, head, tile, CACHE_NAMES);
  fetched_values next;
  float scores[QUERIES], largest[QUERIES];
  fetch_values(&next, cached, 0, last); // which are on their way while the keys are multiplied
  score_tile(scores, q + q_at + row * HEAD_DIM, scale, cached, last, buffer, QUERY_NAMES);
  weigh_tile(scores, unseen, seen, weights, largest, lanes);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (id < QUERIES)
    total[id] = fold_lanes(lanes + id * LANES_OF_SUM);
  barrier(CLK_LOCAL_MEM_FENCE); // add_values has others before it uses them, but in a loop: pocl 3.1 needs this one for heads of four floats
  parts += ((get_group_id(2) * (size_t)heads + first_head) * tiles + tile) * PART;
  sums_at sums = {parts, (size_t)tiles * PART, 0};
  if (DIRECTLY(tiles))
    sums = (sums_at){(__global float4 *)(out + out_at) + row * QUADS, QUADS, 1};
  add_values(&next, cached, seen, weights, total, buffer, sums, VALUE_NAMES);
  if (DIRECTLY(tiles))
    return;
  if (id == 0)
    for (int g = 0; g < QUERIES; g++)
      parts[(size_t)g * tiles * PART + QUADS] = (float4)(largest[g], total[g], 0, 0);
#ifdef LAST_GROUP
  if (last_group(left + get_group_id(2) * get_num_groups(1) + get_group_id(1), groups_of(visible) - UNSEEN(visible) / TILE, (__local int *)buffer))
    merge_parts((part_pointer)(parts - (size_t)(tile - UNSEEN(visible) / TILE) * PART), QUERIES, tiles, groups_of(visible) - UNSEEN(visible) / TILE, out + out_at + row * HEAD_DIM,
                (__local float *)buffer SINKS_FROM(first_head));
#endif
}

#ifndef LAST_GROUP
// merge merges the parts of a query head. The grid is heads × tokens of the runs, of which the first is number `first`.
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
merge(__global const float *parts, int tiles, output out, int out_at, int first, SINK_ARGUMENTS CACHE_ARGUMENTS, const run_list runs) {
  __local float4 buffer[BUFFER];
  const int at = first + get_group_id(1);
  const size_t heads = get_num_groups(0), head = get_group_id(0);
  const run r = run_at(runs, at);
  const int visible = slots_of(r, head / SHARE, CACHE_NAMES) - r.tokens + at - r.first + 1;
  const int begin = UNSEEN(visible) / TILE; // the first tile that the token sees
  merge_parts(parts + ((get_group_id(1) * heads + head) * tiles + begin) * (4 * PART), 1, tiles, groups_of(visible) - begin,
              out + out_at + ((r.row + at - r.first) * heads + head) * HEAD_DIM, (__local float *)buffer SINKS_FROM(head));
}
#endif
