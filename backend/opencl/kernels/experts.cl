// Routing of rows to experts, a group a row.

#define SOFTMAX_ALL 0
#define SOFTMAX_CHOSEN 1

// route chooses k experts for a row of logits [experts], and weighs them; Routing of package backend has the rules. scores is memory for
// the softmax of all experts. The bias counts if biased is 1, the experts' scales if scaled is, and factor if it is not 0.
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
route(input logits, int logits_at, output scores, input bias, int bias_at, input scales, int scales_at, __global int *chosen,
      int chosen_at, output weights, int weights_at, int experts, int k, int kind, int biased, int scaled, int normalize, float factor) {
  __local float part[GROUP], stage[NORM_STAGE], lanes[LANES_OF_SUM];
  __local ulong keys[GROUP];
  const int id = get_local_id(0), row = get_group_id(0);
  logits += logits_at + (size_t)row * experts;
  scores += (size_t)row * experts;
  chosen += chosen_at + (size_t)row * k;
  weights += weights_at + (size_t)row * k;
  const float top = kind == SOFTMAX_ALL ? group_largest(logits, 0, experts, part) : 0;
  for (int i = id; i < experts; i += GROUP) {
    const float v = logits[i];
    scores[i] = kind == SOFTMAX_ALL ? exact_exp(v - top) : kind == SOFTMAX_CHOSEN ? v : 1.0f / (1.0f + exact_exp(-v));
  }
  barrier(CLK_GLOBAL_MEM_FENCE);
  if (kind == SOFTMAX_ALL) {
    const float sum = sum_in_lanes(scores, experts, stage, lanes);
    for (int i = id; i < experts; i += GROUP)
      scores[i] /= sum;
    barrier(CLK_GLOBAL_MEM_FENCE);
  }
  ulong last = ~(ulong)0;
  for (int r = 0; r < k; r++) { // the largest key below the last one
    ulong best = 0;
    for (int i = id; i < experts; i += GROUP) {
      const ulong key = key_of(as_uint(biased ? scores[i] + bias[bias_at + i] : logits[i]), i);
      if (key < last && key > best)
        best = key;
    }
    keys[id] = best;
    for (int half_size = GROUP / 2; half_size > 0; half_size /= 2) {
      barrier(CLK_LOCAL_MEM_FENCE);
      if (id < half_size)
        keys[id] = max(keys[id], keys[id + half_size]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    last = keys[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (id == 0) {
      const int e = ~(uint)last;
      chosen[r] = e;
      weights[r] = scores[e];
    }
  }
  if (id != 0)
    return;
  if (kind == SOFTMAX_CHOSEN) { // the sum in lanes as on the CPU
    float largest = LOWEST, lane[LANES_OF_SUM];
    for (int r = 0; r < k; r++)
      largest = fmax(largest, weights[r]);
    for (int i = 0; i < LANES_OF_SUM; i++)
      lane[i] = 0;
    for (int r = 0; r < k; r++) {
      weights[r] = exact_exp(weights[r] - largest);
      lane[r % LANES_OF_SUM] += weights[r];
    }
    for (int n = LANES_OF_SUM / 2; n > 0; n /= 2)
      for (int i = 0; i < n; i++)
        lane[i] += lane[i + n];
    for (int r = 0; r < k; r++)
      weights[r] /= lane[0];
  }
  if (normalize) {
    float sum = 0;
    for (int r = 0; r < k; r++)
      sum += weights[r];
    sum += 1e-20f;
    for (int r = 0; r < k; r++)
      weights[r] /= sum;
  }
  for (int r = 0; r < k; r++) {
    if (factor != 0)
      weights[r] *= factor;
    if (scaled)
      weights[r] *= scales[scales_at + chosen[r]];
  }
}

// BIN is the expert that a pair chose, or `experts` if that is none.
#define BIN(e) ((e) < 0 || (e) >= experts ? experts : (e))

// group_pairs sorts pairs by their experts, and cuts those of an expert into tiles of `rows` pairs at most. places get the pairs, those of expert
// 0 first and those without an expert last; in which order an expert has its own changes no result. tiles get the expert, the first place and
// the number of places of each tile, and no places for the rest of `most`. The grid has a group for each expert, and one for pairs without.
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
group_pairs(__global const int *chosen, int chosen_at, int pairs, int experts, int rows, int most, __global int *places, int tiles_at) {
  __local int counts[MOST_GROUPED + 1], sums[3]; // places and tiles of the experts before, and places that have been given
  const int id = get_local_id(0), own = get_group_id(0);
  chosen += chosen_at;
  for (int i = id; i <= experts; i += GROUP)
    counts[i] = 0;
  if (id < 3)
    sums[id] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = id; i < pairs; i += GROUP)
    atomic_inc(&counts[BIN(chosen[i])]);
  barrier(CLK_LOCAL_MEM_FENCE);
  int before = 0, tiles_before = 0;
  for (int i = id; i < own; i += GROUP) {
    before += counts[i];
    tiles_before += (counts[i] + rows - 1) / rows;
  }
  atomic_add(&sums[0], before);
  atomic_add(&sums[1], tiles_before);
  barrier(CLK_LOCAL_MEM_FENCE);
  const int first = sums[0], count = counts[own], tiles = (count + rows - 1) / rows;
  for (int i = id; i < pairs; i += GROUP)
    if (BIN(chosen[i]) == own)
      places[first + atomic_inc(&sums[2])] = i;
  __global int *tile = places + tiles_at + 3 * sums[1];
  const int end = own == experts ? most - sums[1] : tiles;
  for (int i = id; i < end; i += GROUP) {
    tile[3 * i] = i < tiles ? own : 0;
    tile[3 * i + 1] = i < tiles ? first + i * rows : 0;
    tile[3 * i + 2] = i < tiles ? min(rows, count - i * rows) : 0;
  }
}
