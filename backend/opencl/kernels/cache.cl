// HEAD_DIM and SHARE, the number of query heads that share a KV head, are constants, and KV_… names the cache's type. A cache
// row is one head of one slot, in the layout of files: number slot·kv_heads + head.

// kv4 returns elements 4i … 4i+3 of a cache row.
static inline float4 kv4(bytes cache, size_t row, int i) {
#if defined(KV_f32)
  return LOAD4(cache, row * (HEAD_DIM / 4) + i);
#elif defined(KV_f16)
  return vloada_half4(row * (HEAD_DIM / 4) + i, (__global const half *)cache);
#elif defined(KV_q8_0)
  bytes block = cache + (row * (HEAD_DIM / 32) + i / 8) * 34;
  return half_at(block) * convert_float4(as_char4(bytes4_at(block + 2 + i % 8 * 4)));
#else
  bytes block = cache + (row * (HEAD_DIM / 32) + i / 8) * 18;
  const int4 q = convert_int4(as_uchar4(bytes4_at(block + 2 + i % 4 * 4)));
  return half_at(block) * (convert_float4(i % 8 < 4 ? q & 15 : q >> 4) - 8.0f);
#endif
}

// kv1 returns element i of a cache row.
static inline float kv1(bytes cache, size_t row, int i) {
#if defined(KV_f32)
  return f32_element(cache + row * HEAD_DIM * 4, i);
#elif defined(KV_f16)
  return f16_element(cache + row * HEAD_DIM * 2, i);
#elif defined(KV_q8_0)
  return q8_0_element(cache + row * (HEAD_DIM / 32) * 34, i);
#else
  return q4_0_element(cache + row * (HEAD_DIM / 32) * 18, i);
#endif
}
