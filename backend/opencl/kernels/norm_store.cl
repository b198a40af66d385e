// norm_store computes the products of the normed x, of one token, with the weights of queries, keys and values, and then does what rope_store
// does with them: k is left alone, since nobody may use it afterwards. blocks1 and blocks2 say with which group those of keys and values
// begin; a group has pairs of rows that are rotated together.
KERNEL norm_store(WEIGHT_ARGUMENTS(0), WEIGHT_ARGUMENTS(1), WEIGHT_ARGUMENTS(2), int blocks1, int blocks2, int k, int stride,
                  __global const float4 *x, int x_at, __global const float4 *gain, int gain_at, float eps,
                  output q, int q_at, output v, int v_at, input table, int table_at, CACHE_ARGUMENTS, const run_list runs) {
  TEAM_MEMORY;
  const int group = get_group_id(0), term = (group >= blocks1) + (group >= blocks2), pairs = ROWS_OF_GROUP / 2;
  __global const uint4 *quants[SETS] = {term == 0 ? quants0 : term == 1 ? quants1 : quants2};
  __global const ushort *scales[SETS] = {SCALES_OF(quants[0], term == 0 ? scales0_at : term == 1 ? scales1_at : scales2_at)};
  const int count = term == 0 ? rows0 : term == 1 ? rows1 : rows2;
  const int first[SETS] = {(group - (term == 0 ? 0 : term == 1 ? blocks1 : blocks2)) * pairs}, end[SETS] = {count}; // first is a pair
  team_sums(quants, scales, first, end, k, stride, x + x_at, gain + gain_at, 1, eps, TEAM_MEMORY_NAMES);
  const run r = runs.of[0];
  table += table_at + (size_t)r.row * HEAD_DIM;
  for (int j = get_local_id(0); j < pairs && 2 * (first[0] + j) < count; j += GROUP) {
    const int head = (first[0] + j) / HALF_DIM, i = (first[0] + j) % HALF_DIM, at = head * HEAD_DIM + i;
    float a = TOTAL(part, 0, j), b = TOTAL(part, 0, j + pairs);
    if (term < 2) {
      const float cosine = table[i], sine = table[i + HALF_DIM], x = a;
      a = fma(x, cosine, -(b * sine));
      b = fma(x, sine, b * cosine);
    }
    if (term != 1) {
      output to = term == 0 ? q + q_at : v + v_at;
      to[at] = a;
      to[at + HALF_DIM] = b;
    }
    if (term > 0) {
      const int slot = slots_of(r, head, CACHE_NAMES) - 1;
      __global uchar *to = page_of(r, head, slot / TILE, CACHE_NAMES) + ((term == 2 ? TILE : 0) + slot % TILE) * HEAD_BYTES;
      store_element(a, i, to, part);
      store_element(b, i + HALF_DIM, to, part);
    }
  }
}
