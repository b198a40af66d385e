// Attention of the tokens of a chunk. The rows of a KV head are its queries, SHARE for each token, so row r is query head
// r % SHARE of token r / SHARE. A group takes ROWS of them through the keys and values in tiles of KEYS, which all its rows
// share in local memory. A token does not see the slots after its own.
//
// It needs GROUP = 128 and HEAD_DIM 32, 64 or 128.

#define KEYS 32
#define PADDED (HEAD_DIM / 4 + 1)     // float4 of a row in local memory
#define SCORE_ROWS (ROWS / 8)         // a work-item computes scores of so many rows with two keys
#define LANES (HEAD_DIM / 4)          // work-items that share the sums of a row, four elements each
#define SUM_ROWS (ROWS * LANES / 128) // rows of which a work-item has sums

__kernel __attribute__((reqd_work_group_size(128, 1, 1))) void
flash(input q, int q_at, bytes k, ulong k_at, bytes v, ulong v_at, output out, int out_at, int tokens, int n, float scale) {
  __local float4 query[ROWS * PADDED], cached[KEYS * PADDED]; // the tile's keys, then its values
  __local float scores[ROWS * (KEYS + 1)], largest[2 * ROWS];
  const int id = get_local_id(0), first = get_group_id(0) * ROWS, head = get_group_id(1), kv_heads = get_num_groups(1);
  const int rows = tokens * SHARE;
  k += k_at;
  v += v_at;
#define QUERY(r) (((size_t)((r) / SHARE) * kv_heads + head) * SHARE + (r) % SHARE)
  for (int i = id; i < ROWS * LANES; i += 128)
    query[i / LANES * PADDED + i % LANES] = LOAD4(q + q_at, QUERY(min(first + i / LANES, rows - 1)) * LANES + i % LANES) * scale;
  if (id < ROWS)
    largest[id] = LOWEST;
  const int score_row = id / 16 * SCORE_ROWS, score_key = id % 16;
  const int sum_row = id / LANES * SUM_ROWS, lane = id % LANES;
  float4 sum[SUM_ROWS];
  float total[SUM_ROWS];
  for (int i = 0; i < SUM_ROWS; i++) {
    sum[i] = (float4)(0);
    total[i] = 0;
  }
  const int end = n - tokens + min(first + ROWS - 1, rows - 1) / SHARE + 1; // what the last row sees
  int now = 0;
  for (int tile = 0; tile < end; tile += KEYS) {
    barrier(CLK_LOCAL_MEM_FENCE); // everyone is done with the values of the tile before
    for (int i = id; i < KEYS * LANES; i += 128)
      cached[i / LANES * PADDED + i % LANES] = kv4(k, (size_t)min(tile + i / LANES, n - 1) * kv_heads + head, i % LANES);
    barrier(CLK_LOCAL_MEM_FENCE);
    float4 dots[SCORE_ROWS][2];
    for (int r = 0; r < SCORE_ROWS; r++)
      dots[r][0] = dots[r][1] = (float4)(0);
    for (int i = 0; i < LANES; i++) {
      const float4 a = cached[score_key * PADDED + i], b = cached[(score_key + 16) * PADDED + i];
#pragma unroll
      for (int r = 0; r < SCORE_ROWS; r++) {
        const float4 x = query[(score_row + r) * PADDED + i];
        dots[r][0] += x * a;
        dots[r][1] += x * b;
      }
    }
#pragma unroll
    for (int r = 0; r < SCORE_ROWS; r++) {
      const int seen = n - tokens + (first + score_row + r) / SHARE + 1 - tile;
      const float4 a = dots[r][0], b = dots[r][1];
      scores[(score_row + r) * (KEYS + 1) + score_key] = score_key < seen ? a.x + a.y + a.z + a.w : LOWEST;
      scores[(score_row + r) * (KEYS + 1) + score_key + 16] = score_key + 16 < seen ? b.x + b.y + b.z + b.w : LOWEST;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = id; i < KEYS * LANES; i += 128) // the keys have served
      cached[i / LANES * PADDED + i % LANES] = kv4(v, (size_t)min(tile + i / LANES, n - 1) * kv_heads + head, i % LANES);
    // Four work-items a row find its largest score, each from all of it.
    float most = LOWEST;
    __local float *mine = scores + id / 4 * (KEYS + 1);
    if (id < ROWS * 4) {
      most = largest[now * ROWS + id / 4];
      for (int key = 0; key < KEYS; key++)
        most = fmax(most, mine[key]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (id < ROWS * 4) {
      if (id % 4 == 0)
        largest[(now ^ 1) * ROWS + id / 4] = most;
      for (int key = id % 4; key < KEYS; key += 4)
        mine[key] = exp(mine[key] - most);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (int i = 0; i < SUM_ROWS; i++) {
      const float shrink = exp(largest[now * ROWS + sum_row + i] - largest[(now ^ 1) * ROWS + sum_row + i]);
      sum[i] *= shrink;
      total[i] *= shrink;
    }
    for (int key = 0; key < KEYS; key++) {
      const float4 value = cached[key * PADDED + lane];
#pragma unroll
      for (int i = 0; i < SUM_ROWS; i++) {
        const float weight = scores[(sum_row + i) * (KEYS + 1) + key];
        sum[i] += weight * value;
        total[i] += weight;
      }
    }
    now ^= 1;
  }
#pragma unroll
  for (int i = 0; i < SUM_ROWS; i++)
    if (first + sum_row + i < rows)
      STORE4(sum[i] / total[i], out + out_at, QUERY(first + sum_row + i) * LANES + lane);
}
