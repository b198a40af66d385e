// Attention of the rows of whole texts to each other, with the CPU's bits: a row walks the tiles of its text in order, and joins each tile's
// result to those before, as asm.Partial's merge does. GROUP is TILE: a work-item has a key.
//
// Example: of a text of 300 rows with a reach of 64, the rows 192 to 199 are one group's. It walks the tiles 128–255 and 256–299.

#define TILE GROUP
#define ROWS (TILE / LANES_OF_SUM) // of a group: it has a work-item for each lane of their sums

// What to do with a tile's result.
#define SKIP 0 // the row sees nothing of the tile
#define TAKE 1 // it is the row's first
#define JOIN 2

// attend_texts lets neighbouring rows of a text attend to it, with one query head. The grid is blocks × heads. A block is four numbers: where
// its text begins, how many rows the text has, the block's first row there, and how many of the text's first rows are seen. share query heads have
// one KV head. With a reach that is not 0 a row sees only reach rows before its own, and reach rows after it.
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
attend_texts(input q, int q_at, input k, int k_at, input v, int v_at, output out, int out_at, __global const int *blocks, int share, int reach,
             float scale) {
  __local float query[ROWS * HEAD_DIM], sums[ROWS * HEAD_DIM], weights[ROWS * TILE];
  __local float lanes[ROWS * LANES_OF_SUM], largest[ROWS], total[ROWS], tile_largest[ROWS], shrink[ROWS], grow[ROWS];
  __local int what[ROWS], from[ROWS], to[ROWS]; // from and to: the rows of the text that a row sees, the last one excluded
  const int id = get_local_id(0), head = get_group_id(1), heads = get_num_groups(1);
  const int begin = blocks[4 * get_group_id(0)], length = blocks[4 * get_group_id(0) + 1], first = blocks[4 * get_group_id(0) + 2];
  const int seen = blocks[4 * get_group_id(0) + 3];
  const int rows = min(ROWS, length - first);
  const size_t stride = (size_t)heads * HEAD_DIM, kv_stride = (size_t)(heads / share) * HEAD_DIM;
  const size_t at = (size_t)(begin + first) * stride + (size_t)head * HEAD_DIM;
  k += k_at + (size_t)begin * kv_stride + (size_t)(head / share) * HEAD_DIM;
  v += v_at + (size_t)begin * kv_stride + (size_t)(head / share) * HEAD_DIM;
  for (int i = id; i < ROWS * HEAD_DIM; i += GROUP) {
    query[i] = i < rows * HEAD_DIM ? q[q_at + at + i / HEAD_DIM * stride + i % HEAD_DIM] * scale : 0.0f;
    sums[i] = 0;
  }
  if (id < ROWS) {
    total[id] = 0;
    largest[id] = 0;
    from[id] = reach == 0 ? 0 : max(first + id - reach, 0);
    to[id] = id >= rows ? 0 : reach == 0 ? seen : min(first + id + reach + 1, seen);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  const int low = from[0] / TILE, high = (to[rows - 1] - 1) / TILE;
  for (int tile = low; tile <= high; tile++) {
    const int key = tile * TILE + id, own = id / LANES_OF_SUM;
    const __local float *mine = weights + own * TILE + id % LANES_OF_SUM;
    float scores[ROWS];
    for (int g = 0; g < ROWS; g++)
      scores[g] = 0;
    if (key < length)
      for (int i = 0; i < HEAD_DIM; i++) {
        const float element = k[key * kv_stride + i];
        for (int g = 0; g < ROWS; g++)
          scores[g] = fma(query[g * HEAD_DIM + i], element, scores[g]);
      }
    for (int g = 0; g < ROWS; g++)
      weights[g * TILE + id] = key >= from[g] && key < to[g] ? scores[g] : -INFINITY;
    barrier(CLK_LOCAL_MEM_FENCE);
    float most = mine[0];
    for (int j = LANES_OF_SUM; j < TILE; j += LANES_OF_SUM)
      most = fmax(most, mine[j]);
    lanes[id] = most;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (id < ROWS) {
      most = lanes[id * LANES_OF_SUM];
      for (int i = 1; i < LANES_OF_SUM; i++)
        most = fmax(most, lanes[id * LANES_OF_SUM + i]);
      tile_largest[id] = most;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int g = 0; g < ROWS; g++)
      weights[g * TILE + id] = key >= from[g] && key < to[g] ? exact_exp(scores[g] - tile_largest[g]) : 0.0f;
    barrier(CLK_LOCAL_MEM_FENCE);
    float sum = 0;
    for (int j = 0; j < TILE; j += LANES_OF_SUM)
      sum += mine[j];
    lanes[id] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (id < ROWS) {
      sum = fold_lanes(lanes + id * LANES_OF_SUM);
      what[id] = sum == 0 ? SKIP : total[id] == 0 ? TAKE : JOIN;
      const float m = what[id] == JOIN ? fmax(largest[id], tile_largest[id]) : tile_largest[id];
      shrink[id] = exact_exp(largest[id] - m);
      grow[id] = exact_exp(tile_largest[id] - m);
      if (what[id] != SKIP) {
        total[id] = what[id] == TAKE ? sum : fma(sum, grow[id], total[id] * shrink[id]);
        largest[id] = m;
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = id; i < rows * HEAD_DIM; i += GROUP) {
      const int g = i / HEAD_DIM, slots = min(to[g] - tile * TILE, TILE);
      input value = v + tile * TILE * kv_stride + i % HEAD_DIM;
      float added = 0;
      for (int j = 0; j < slots; j++)
        added = fma(weights[g * TILE + j], value[j * kv_stride], added);
      if (what[g] != SKIP)
        sums[i] = what[g] == TAKE ? added : fma(added, grow[g], sums[i] * shrink[g]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  for (int i = id; i < rows * HEAD_DIM; i += GROUP)
    out[out_at + at + i / HEAD_DIM * stride + i % HEAD_DIM] = sums[i] / total[i / HEAD_DIM];
}
