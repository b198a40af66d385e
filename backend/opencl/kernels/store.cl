// rope_store rotates the queries and keys of tokens, as rope does, and stores keys and values in pages: in F16 as they are
// rounded, in Q8_0 and Q4_0 in blocks of 32, each of which 32 work-items store. HALF_DIM is half of HEAD_DIM.
//
// The grid is groups × rows of the runs. Of a row the first query_groups groups rotate pairs of queries, the others store elements
// of keys and then of values, GROUP each. Where rotated is 0 nothing is rotated. GROUP is 64: keys and values in blocks make whole
// groups, which can meet.

#define HALF_DIM (HEAD_DIM / 2)

// store_element stores element i of a head's slot, whose bytes begin at `to`. Those that store a block come here together.
INLINED void store_element(float v, int i, __global uchar *to, __local float *part) {
#if defined(KV_f32)
  ((__global float *)to)[i] = v;
#elif defined(KV_f16)
  vstore_half_rte(v, i, (__global half *)to);
#else
  const int id = get_local_id(0);
  const __local float *block = part + id / 32 * 32;
  part[id] = v;
  barrier(CLK_LOCAL_MEM_FENCE);
#if defined(KV_q8_0) // the largest magnitude becomes 127
  float largest = 0;
  for (int j = 0; j < 32; j++)
    largest = LARGER(largest, fabs(block[j]));
  const float d = not_nan(largest / 127);
  to += i / 32 * 34;
  to[2 + i % 32] = convert_char_sat(round(v * reciprocal(d)));
#else // the element of the largest magnitude, sign included, becomes -8
  float extreme = 0;
  for (int j = 0; j < 32; j++)
    if (as_int(fabs(block[j])) > as_int(fabs(extreme)))
      extreme = block[j];
  const float d = not_nan(extreme / -8), inverse = reciprocal(d);
  to += i / 32 * 18;
  if (i % 32 < 16) {
    const int low = min(15, convert_int_sat(fma(v, inverse, 8.5f)));
    const int high = min(15, convert_int_sat(fma(part[id + 16], inverse, 8.5f)));
    to[2 + i % 16] = (uchar)(max(low, 0) | max(high, 0) << 4);
  }
#endif
  if (i % 32 == 0)
    vstore_half_rte(d, 0, (__global half *)to);
#endif
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
rope_store(output q, int q_at, input k, int k_at, input v, int v_at, input table, int table_at, int rotated, int query_groups,
           int heads, int kv_heads, CACHE_ARGUMENTS, const run_list runs) {
  __local float part[GROUP];
  const int at = get_group_id(1), group = get_group_id(0), id = get_local_id(0);
  const run r = run_at(runs, at);
  const int token = at - r.first;
  const size_t row = r.row + token;
  table += table_at + row * HEAD_DIM;
  if (group < query_groups) {
    const int pair = group * GROUP + id, i = pair % HALF_DIM;
    if (pair < heads * HALF_DIM) {
      q += q_at + (row * heads + pair / HALF_DIM) * HEAD_DIM + i;
      const float a = q[0], b = q[HALF_DIM], cosine = table[i], sine = table[i + HALF_DIM];
      q[0] = fma(a, cosine, -(b * sine));
      q[HALF_DIM] = fma(a, sine, b * cosine);
    }
    return;
  }
  const int elements = kv_heads * HEAD_DIM, element = (group - query_groups) * GROUP + id;
  if (element >= 2 * elements)
    return;
  const int values = element >= elements;
  const int head = element % elements / HEAD_DIM, i = element % HEAD_DIM;
  input from = (values ? v + v_at : k + k_at) + (row * kv_heads + head) * HEAD_DIM;
  float x = from[i];
  if (rotated && !values) {
    const int j = i % HALF_DIM;
    const float other = from[i < HALF_DIM ? i + HALF_DIM : j], cosine = table[j], sine = table[j + HALF_DIM];
    x = i < HALF_DIM ? fma(x, cosine, -(other * sine)) : fma(other, sine, x * cosine);
  }
  const int slot = slots_of(r, head, CACHE_NAMES) - r.tokens + token;
  __global uchar *page = page_of(r, head, slot / TILE, CACHE_NAMES);
  store_element(x, i, page + ((values ? TILE : 0) + slot % TILE) * HEAD_BYTES, part);
}
