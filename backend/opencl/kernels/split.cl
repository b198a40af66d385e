// A file's rows to the split layout that formats.cl describes. A work-item moves the 32 elements of a lane, four neighbours at
// a time, which every format has in one block.

// A format's unpack_… returns elements at … at+3 of a row as quants, and stores their scale and, in q4_1, their minimum.
typedef struct {
  uint4 q;
  float scale, minimum;
} group;

static inline group unpack_q4_0(bytes row, int at) {
  bytes block = row + (size_t)(at / 32) * 18, q = block + 2 + at % 16;
  const int shift = at % 32 / 16 * 4;
  group g = {convert_uint4(vload4(0, q)) >> shift & 15, half_at(block), 0};
  return g;
}

static inline group unpack_q4_1(bytes row, int at) {
  bytes block = row + (size_t)(at / 32) * 20, q = block + 4 + at % 16;
  const int shift = at % 32 / 16 * 4;
  group g = {convert_uint4(vload4(0, q)) >> shift & 15, half_at(block), half_at(block + 2)};
  return g;
}

static inline group unpack_q4_k(bytes row, int at) {
  bytes block = row + (size_t)(at / 256) * 144, scales = block + 4;
  const int i = at % 256 / 32, shift = i % 2 * 4;
  int scale, minimum;
  if (i < 4) {
    scale = scales[i] & 63;
    minimum = scales[i + 4] & 63;
  } else {
    scale = (scales[i + 4] & 15) | (scales[i - 4] >> 6) << 4;
    minimum = scales[i + 4] >> 4 | (scales[i] >> 6) << 4;
  }
  bytes q = block + 16 + i / 2 * 32 + at % 32;
  group g = {convert_uint4(vload4(0, q)) >> shift & 15, half_at(block) * scale, -half_at(block + 2) * minimum};
  return g;
}

static inline group unpack_q6_k(bytes row, int at) {
  bytes block = row + (size_t)(at / 256) * 210;
  const int half_block = at % 256 / 128, quarter = at % 128 / 32, i = at % 32;
  bytes low = block + half_block * 64 + quarter % 2 * 32 + i, high = block + 128 + half_block * 32 + i;
  const uint4 q = (convert_uint4(vload4(0, low)) >> (quarter / 2 * 4) & 15) | (convert_uint4(vload4(0, high)) >> (quarter * 2) & 3) << 4;
  group g = {q, half_at(block + 208) * (char)block[192 + at % 256 / 16], 0};
  return g;
}

static inline group unpack_q8_0(bytes row, int at) {
  bytes block = row + (size_t)(at / 32) * 34;
  group g = {convert_uint4(vload4(0, block + 2 + at % 32)), half_at(block), 0};
  return g;
}

static inline uint pack4(uint4 q) { return q.x | q.y << 4 | q.z << 8 | q.w << 12; }
static inline uint pack2(uint4 q) { return q.x | q.y << 2 | q.z << 4 | q.w << 6; }
static inline uint pack8(uint4 q) { return q.x | q.y << 8 | q.z << 16 | q.w << 24; }

#define SPLIT(TYPE, UNPACK, SCALE_LANES, NUMBERS, NOTHING, STORE)                                                    \
  __kernel void split_##TYPE(bytes raw, int row_bytes, int k, int chunks, int lanes, int total,                      \
                             __global uint4 *quants, __global half *scales, int row_at) {                            \
    const int id = get_global_id(0);                                                                                 \
    if (id >= total)                                                                                                 \
      return;                                                                                                        \
    const int lane = id % lanes, chunk = id / lanes % chunks, row = id / lanes / chunks;                             \
    const size_t row_chunk = (size_t)(row_at + row) * chunks + chunk;                                                \
    const size_t scale_at = split_scale(row_chunk, lanes, lane, SCALE_LANES, NUMBERS);                               \
    uint4 q[8];                                                                                                      \
    for (int j = 0; j < 8; j++) {                                                                                    \
      const int at = chunk * 32 * lanes + 4 * (j * lanes + lane);                                                    \
      group g = {(uint4)(NOTHING), 0, 0};                                                                            \
      if (at < k)                                                                                                    \
        g = UNPACK(raw + (size_t)row * row_bytes, at);                                                               \
      q[j] = g.q;                                                                                                    \
      if (lane % SCALE_LANES == 0) {                                                                                 \
        vstore_half_rte(g.scale, scale_at + j, scales);                                                              \
        if (NUMBERS == 2)                                                                                            \
          vstore_half_rte(g.minimum / 16, scale_at + 8 + j, scales);                                                 \
      }                                                                                                              \
    }                                                                                                                \
    STORE                                                                                                            \
  }

#define FOUR_BITS(j) (pack4(q[j]) | pack4(q[j + 1]) << 16)
#define STORE_4 quants[row_chunk * lanes + lane] = (uint4)(FOUR_BITS(0), FOUR_BITS(2), FOUR_BITS(4), FOUR_BITS(6));
#define STORE_6                                                                                                      \
  const size_t piece = row_chunk * (lanes / 2 * 3);                                                                  \
  __global uint *upper = (__global uint *)(quants + piece + lanes) + lane * 2;                                       \
  for (int j = 0; j < 8; j += 4)                                                                                     \
    upper[j / 4] = pack2(q[j] >> 4) | pack2(q[j + 1] >> 4) << 8 | pack2(q[j + 2] >> 4) << 16 | pack2(q[j + 3] >> 4) << 24; \
  for (int j = 0; j < 8; j++)                                                                                        \
    q[j] &= 15;                                                                                                      \
  quants[piece + lane] = (uint4)(FOUR_BITS(0), FOUR_BITS(2), FOUR_BITS(4), FOUR_BITS(6));
#define STORE_8                                                                                                      \
  quants[row_chunk * 2 * lanes + lane] = (uint4)(pack8(q[0]), pack8(q[1]), pack8(q[2]), pack8(q[3]));                \
  quants[(row_chunk * 2 + 1) * lanes + lane] = (uint4)(pack8(q[4]), pack8(q[5]), pack8(q[6]), pack8(q[7]));

SPLIT(q4_0, unpack_q4_0, 8, 1, 8, STORE_4)
SPLIT(q4_1, unpack_q4_1, 8, 2, 0, STORE_4)
SPLIT(q4_k, unpack_q4_k, 8, 2, 0, STORE_4)
SPLIT(q6_k, unpack_q6_k, 4, 1, 32, STORE_6)
SPLIT(q8_0, unpack_q8_0, 8, 1, 0, STORE_8)
