// How much attention keys get, for eviction: sums[h, j] += Σ softmax(q·kᵀ/√HEAD_DIM)[j] over the queries of a chunk. The first
// kernel finds each query's largest score and sum of weights, the second adds up, a work-item for each key.

// weigh_rows: a group for each query, [tokens, heads]; stats [tokens, heads, 2].
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
weigh_rows(input q, int q_at, bytes k, ulong k_at, output stats, int kv_heads, int tokens, int n, float scale) {
  __local float4 query[HEAD_DIM / 4];
  __local float part[GROUP];
  const int id = get_local_id(0), row = get_group_id(0), token = row / (kv_heads * SHARE), head = row / SHARE % kv_heads;
  for (int i = id; i < HEAD_DIM / 4; i += GROUP)
    query[i] = LOAD4(q + q_at, (size_t)row * (HEAD_DIM / 4) + i) * scale;
  barrier(CLK_LOCAL_MEM_FENCE);
  float largest = LOWEST, total = 0;
  for (int slot = id; slot < n - tokens + token + 1; slot += GROUP) {
    float score = 0;
    for (int i = 0; i < HEAD_DIM / 4; i++)
      score += dot(query[i], kv4(k + k_at, (size_t)slot * kv_heads + head, i));
    const float m = fmax(largest, score);
    total = total * exp(largest - m) + exp(score - m);
    largest = m;
  }
  const float m = group_max(largest, part);
  barrier(CLK_LOCAL_MEM_FENCE);
  total = group_sum(total * exp(largest - m), part);
  if (id == 0) {
    stats[row * 2] = m;
    stats[row * 2 + 1] = total;
  }
}

// weigh_keys: groups of keys × kv_heads.
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
weigh_keys(input q, int q_at, bytes k, ulong k_at, input stats, output sums, int sums_at, int width, int tokens, int n, float scale) {
  __local float4 query[HEAD_DIM / 4];
  const int id = get_local_id(0), slot = get_global_id(0), head = get_group_id(1), kv_heads = get_num_groups(1);
  float sum = 0;
  for (int row = 0; row < tokens * SHARE; row++) {
    const int token = row / SHARE, number = (token * kv_heads + head) * SHARE + row % SHARE;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = id; i < HEAD_DIM / 4; i += GROUP)
      query[i] = LOAD4(q + q_at, (size_t)number * (HEAD_DIM / 4) + i) * scale;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (slot < n - tokens + token + 1) {
      float score = 0;
      for (int i = 0; i < HEAD_DIM / 4; i++)
        score += dot(query[i], kv4(k + k_at, (size_t)slot * kv_heads + head, i));
      sum += exp(score - stats[number * 2]) / stats[number * 2 + 1];
    }
  }
  if (slot < n)
    sums[sums_at + (size_t)head * width + slot] += sum;
}
