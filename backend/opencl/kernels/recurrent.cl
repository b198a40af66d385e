// Rows that pass through the states of heads: the gated delta rule and Mamba 2, for keys of KEYS elements, a multiple of SUMS.

#define SUMS 4     // of a column, which sum i of its rows i, i + SUMS, …
#define COLUMNS 16 // of a block of a state
#define TERMS (KEYS / SUMS)

// total adds the sums of a column up.
INLINED float total(const __local float *sums, int column) {
  return (sums[column] + sums[2 * COLUMNS + column]) + (sums[COLUMNS + column] + sums[3 * COLUMNS + column]);
}

// recur passes the rows of a stretch through a block of 16 columns of a head's state. A group has a work-item for each sum of each column, which
// keeps the column's elements of its sum in registers until the last row has passed. Keys and queries are read a row ahead. out may be v.
// The grid is of blocks, heads and stretches.
__kernel __attribute__((reqd_work_group_size(SUMS * COLUMNS, 1, 1))) void
recur(input q, int q_at, input k, int k_at, input v, int v_at, input g, int g_at, input beta, int beta_at, output out, int out_at,
      int key_heads, int value_dim, int delta, STATE_ARGUMENTS) {
  __local float keys[2 * KEYS], queries[2 * KEYS], known[SUMS * COLUMNS], results[SUMS * COLUMNS];
  const int id = get_local_id(0), column = id % COLUMNS, part = id / COLUMNS;
  const int block = get_group_id(0), head = get_group_id(1), which = get_group_id(2), heads = get_num_groups(1);
  const int j = block * COLUMNS + column, rows = ROWS(which);
  output state = STATE(which) + AT(which) + ((size_t)head * get_num_groups(0) + block) * KEYS * COLUMNS + id;
  float s[TERMS];
  for (int n = 0; n < TERMS; n++)
    s[n] = state[n * SUMS * COLUMNS];
  size_t at = ((size_t)ROW(which) * key_heads + head / (heads / key_heads)) * KEYS;
  for (int i = id; i < KEYS; i += SUMS * COLUMNS) {
    keys[i] = k[k_at + at + i];
    queries[i] = q[q_at + at + i];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int t = 0; t < rows; t++) {
    const int now = t % 2 * KEYS, next = KEYS - now;
    const size_t gate = (size_t)(ROW(which) + t) * heads + head;
    const float decay = exact_exp(g[g_at + gate]);
    float u = j < value_dim ? v[v_at + gate * value_dim + j] : 0.0f;
    if (delta) {
      float sum = 0;
      for (int n = 0; n < TERMS; n++)
        sum = fma(s[n], keys[now + n * SUMS + part], sum);
      known[id] = sum;
    }
    at += (size_t)key_heads * KEYS;
    if (t + 1 < rows)
      for (int i = id; i < KEYS; i += SUMS * COLUMNS) {
        keys[next + i] = k[k_at + at + i];
        queries[next + i] = q[q_at + at + i];
      }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (delta)
      u = fma(-decay, total(known, column), u);
    u *= beta[beta_at + gate];
    float sum = 0;
    for (int n = 0; n < TERMS; n++) {
      s[n] = fma(keys[now + n * SUMS + part], u, decay * s[n]);
      sum = fma(s[n], queries[now + n * SUMS + part], sum);
    }
    results[id] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (part == 0 && j < value_dim)
      out[out_at + gate * value_dim + j] = total(results, column);
  }
  for (int n = 0; n < TERMS; n++)
    state[n * SUMS * COLUMNS] = s[n];
}
