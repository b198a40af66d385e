// Rows of keys and values. HEAD_DIM and SHARE, the number of query heads that share a KV head, are constants, and KV_… names
// the cache's type. A cache row is one slot of a head, in the layout of files. It is read in quads of four elements.
//
// A RAW is a quad as it is stored: what is loaded early waits in few registers, and nothing waits for it before it is needed.

#define QUADS (HEAD_DIM / 4)

#if defined(KV_q8_0) || defined(KV_q4_0)
#define PACKED // keys and values are multiplied as integers, in blocks of 32
#endif

#if defined(KV_f32)
typedef float4 RAW;
static inline RAW raw_at(bytes cache, size_t row, int i) { return LOAD4(cache, row * QUADS + i); }
static inline float4 floats_of(RAW raw, int i) { return raw; }
#elif defined(KV_f16)
typedef ushort4 RAW;
static inline RAW raw_at(bytes cache, size_t row, int i) { return ((__global const ushort4 *)cache)[row * QUADS + i]; }
static inline float4 floats_of(RAW raw, int i) { return vload_half4(0, (const half *)&raw); }
#else
typedef uint2 RAW; // four bytes that hold the quad, and the block's scale

static inline float scale_of(RAW raw) {
  const ushort scale = raw.y;
  return vload_half(0, (const half *)&scale);
}
#if defined(KV_q8_0)
static inline RAW raw_at(bytes cache, size_t row, int i) {
  bytes block = cache + (row * (HEAD_DIM / 32) + i / 8) * 34;
  return (RAW)(bytes4_at(block + 2 + i % 8 * 4), *(__global const ushort *)block);
}
static inline uint packed_of(RAW raw, int i) { return raw.x; }
#else
static inline RAW raw_at(bytes cache, size_t row, int i) {
  bytes block = cache + (row * (HEAD_DIM / 32) + i / 8) * 18;
  return (RAW)(bytes4_at(block + 2 + i % 4 * 4), *(__global const ushort *)block);
}
// packed_of returns four signed bytes: the nibbles less eight, without a borrow from byte to byte.
static inline uint packed_of(RAW raw, int i) {
  const uint nibbles = raw.x >> (i % 8 < 4 ? 0 : 4) & 0x0F0F0F0Fu;
  return ((nibbles | 0x80808080u) - 0x08080808u) ^ 0x80808080u;
}
#endif

// block_product returns the integer product of two packed blocks, which are aligned to 16 bytes.
INLINED int block_product(const __local uint *a, const __local uint *b) {
  const uint4 x = *(const __local uint4 *)a, y = *(const __local uint4 *)b;
  const uint4 z = *(const __local uint4 *)(a + 4), w = *(const __local uint4 *)(b + 4);
#if defined(DOT_KHR) || defined(DOT_ARM) || defined(DOT_NV)
  const int sum = DOT(x.w, y.w, DOT(x.z, y.z, DOT(x.y, y.y, DOT(x.x, y.x, 0))));
  return DOT(z.w, w.w, DOT(z.z, w.z, DOT(z.y, w.y, DOT(z.x, w.x, sum))));
#else // wide vectors suit what has no such instruction
  const int16 sums = convert_int16(as_char16(x)) * convert_int16(as_char16(y)) + convert_int16(as_char16(z)) * convert_int16(as_char16(w));
  const int8 eight = sums.lo + sums.hi;
  const int4 four = eight.lo + eight.hi;
  return four.x + four.y + four.z + four.w;
#endif
}

// transposed takes the stored words of quad i of four slots, and returns of each of its elements the four slots' bytes.
static inline uint4 transposed(const uint *words, int i) {
  const uint a = packed_of((RAW)(words[0], 0), i), b = packed_of((RAW)(words[1], 0), i);
  const uint c = packed_of((RAW)(words[2], 0), i), d = packed_of((RAW)(words[3], 0), i);
  const uint even = 0x00FF00FFu, odd = 0xFF00FF00u; // bytes 0 and 2, and 1 and 3
  const uint p = a & even | b << 8 & odd, q = a >> 8 & even | b & odd;
  const uint r = c & even | d << 8 & odd, s = c >> 8 & even | d & odd;
  return (uint4)(p & 0xFFFFu | r << 16, q & 0xFFFFu | s << 16, p >> 16 | r & 0xFFFF0000u, q >> 16 | s & 0xFFFF0000u);
}

// grouped_product returns the integer products of 32 rounded weights, aligned to 16 bytes, with four elements of their slots'
// values, which are transposed: those of four slots are `apart` from those of the next.
INLINED int4 grouped_product(const __local uint *weights, const __local uint4 *values, int apart) {
  int4 sum = (int4)(0);
#if defined(DOT_KHR) || defined(DOT_ARM) || defined(DOT_NV)
  const uint4 lo = *(const __local uint4 *)weights, hi = *(const __local uint4 *)(weights + 4);
  const uint w[8] = {lo.x, lo.y, lo.z, lo.w, hi.x, hi.y, hi.z, hi.w};
#pragma unroll
  for (int i = 0; i < 8; i++) {
    const uint4 v = values[i * apart];
    sum = (int4)(DOT(w[i], v.x, sum.x), DOT(w[i], v.y, sum.y), DOT(w[i], v.z, sum.z), DOT(w[i], v.w, sum.w));
  }
#else
#pragma unroll 1
  for (int i = 0; i < 8; i++) {
    const int w = as_int(weights[i]);
    const int4 v = as_int4(values[i * apart]);
    sum += (w << 24 >> 24) * (v << 24 >> 24) + (w << 16 >> 24) * (v << 16 >> 24);
    sum += (w << 8 >> 24) * (v << 8 >> 24) + (w >> 24) * (v >> 24);
  }
#endif
  return sum;
}
#endif
