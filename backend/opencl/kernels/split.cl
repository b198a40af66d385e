// A file's rows to the split layout that formats.cl describes. A work-item moves a block of 32 elements.

// A format's unpack_… returns elements at … at+3 of a row as quants, one a byte, and its scale_… stores the scales of block i.
#define UNPACK(TYPE) static inline uint unpack_##TYPE(bytes row, int at)
#define SCALE(TYPE) static inline void scale_##TYPE(bytes row, int i, int blocks, __global ushort *scales)

static inline ushort ushort_at(bytes p) { return *(__global const ushort *)p; }

// block32 returns a block's four quants of four bits of a format whose blocks have a number of bytes, `numbers` of them before
// the quants.
static inline uint block32(bytes row, int at, int size, int numbers) {
  bytes q = row + (size_t)(at / 32) * size + numbers + at % 16;
  return bytes4_at(q) >> (at % 32 / 16 * 4) & 0x0F0F0F0Fu;
}

UNPACK(q4_0) { return block32(row, at, 18, 2); }
UNPACK(q4_1) { return block32(row, at, 20, 4); }
UNPACK(q8_0) { return bytes4_at(row + (size_t)(at / 32) * 34 + 2 + at % 32); }

SCALE(q4_0) { scales[i] = ushort_at(row + (size_t)i * 18); }
SCALE(q8_0) { scales[i] = ushort_at(row + (size_t)i * 34); }
SCALE(q4_1) {
  scales[2 * i] = ushort_at(row + (size_t)i * 20);
  scales[2 * i + 1] = ushort_at(row + (size_t)i * 20 + 2);
}

UNPACK(q4_k) {
  bytes block = row + (size_t)(at / 256) * 144;
  return bytes4_at(block + 16 + at % 256 / 64 * 32 + at % 32) >> (at % 64 / 32 * 4) & 0x0F0F0F0Fu;
}

UNPACK(q5_k) {
  bytes block = row + (size_t)(at / 256) * 176;
  const uint low = bytes4_at(block + 48 + at % 256 / 64 * 32 + at % 32) >> (at % 64 / 32 * 4) & 0x0F0F0F0Fu;
  return low | (bytes4_at(block + 16 + at % 32) >> (at % 256 / 32) & 0x01010101u) << 4;
}

UNPACK(q6_k) {
  bytes block = row + (size_t)(at / 256) * 210;
  const int half_block = at % 256 / 128, quarter = at % 128 / 32, i = at % 32;
  const uint low = bytes4_at(block + half_block * 64 + quarter % 2 * 32 + i) >> (quarter / 2 * 4) & 0x0F0F0F0Fu;
  return low | (bytes4_at(block + 128 + half_block * 32 + i) >> (quarter * 2) & 0x03030303u) << 4;
}

// scale_k stores those of q4_k and q5_k, which have 12 bytes for eight scales and minimums of six bits.
static inline void scale_k(bytes super, int i, int blocks, __global ushort *scales) {
  bytes packed = super + 4;
  const int j = i % 8;
  int scale, minimum;
  if (j < 4) {
    scale = packed[j] & 63;
    minimum = packed[j + 4] & 63;
  } else {
    scale = (packed[j + 4] & 15) | packed[j - 4] >> 6 << 4;
    minimum = packed[j + 4] >> 4 | packed[j] >> 6 << 4;
  }
  scales[i] = scale | minimum << 8;
  if (j < 2) // d, or dmin
    scales[blocks + i / 8 * 2 + j] = ushort_at(super + 2 * j);
}

SCALE(q4_k) { scale_k(row + (size_t)(i / 8) * 144, i, blocks, scales); }
SCALE(q5_k) { scale_k(row + (size_t)(i / 8) * 176, i, blocks, scales); }
SCALE(q6_k) {
  bytes super = row + (size_t)(i / 8) * 210;
  scales[i] = ushort_at(super + 192 + i % 8 * 2);
  if (i % 8 == 0)
    scales[blocks + i / 8] = ushort_at(super + 208);
}

// fifths returns the fifth bits of a block of 32, which begins with them, of elements at … at+3, above four others.
static inline uint fifths(bytes packed, int at) {
  const uint bits = packed[at % 32 / 8] >> (at % 8);
  return (bits & 1) << 4 | (bits & 2) << 11 | (bits & 4) << 18 | (bits & 8) << 25;
}

UNPACK(q5_0) { return block32(row, at, 22, 6) | fifths(row + (size_t)(at / 32) * 22 + 2, at); }
UNPACK(q5_1) { return block32(row, at, 24, 8) | fifths(row + (size_t)(at / 32) * 24 + 4, at); }
UNPACK(iq4_nl) { return block32(row, at, 18, 2); }
UNPACK(mxfp4) { // blocks of 17 bytes may lie at odd addresses, where a device need not read more than a byte at once
  bytes q = row + (size_t)(at / 32) * 17 + 1 + at % 16;
  return upsample(upsample(q[3], q[2]), upsample(q[1], q[0])) >> (at % 32 / 16 * 4) & 0x0F0F0F0Fu;
}
UNPACK(iq4_xs) {
  bytes q = row + (size_t)(at / 256) * 136 + 8 + at % 256 / 32 * 16 + at % 16;
  return bytes4_at(q) >> (at % 32 / 16 * 4) & 0x0F0F0F0Fu;
}

// pairs_of_bits returns elements at … at+3 of a block of 256, two bits each.
static inline uint pairs_of_bits(bytes packed, int at) {
  return bytes4_at(packed + at % 256 / 128 * 32 + at % 32) >> (at % 128 / 32 * 2) & 0x03030303u;
}

UNPACK(q2_k) { return pairs_of_bits(row + (size_t)(at / 256) * 84 + 16, at); }
UNPACK(q3_k) {
  bytes block = row + (size_t)(at / 256) * 110;
  return pairs_of_bits(block + 32, at) | (bytes4_at(block + at % 32) >> (at % 256 / 32) & 0x01010101u) << 2;
}

SCALE(q5_0) { scales[i] = ushort_at(row + (size_t)i * 22); }
SCALE(q5_1) {
  scales[2 * i] = ushort_at(row + (size_t)i * 24);
  scales[2 * i + 1] = ushort_at(row + (size_t)i * 24 + 2);
}
SCALE(iq4_nl) { scales[i] = ushort_at(row + (size_t)i * 18); }
SCALE(mxfp4) { // 2^(e-128), which has no exponent where e is 0 or 1, and is infinite where e is 255
  const ushort e = row[(size_t)i * 17];
  scales[i] = e < 2 ? 0x20 << e : e == 255 ? 0x7F80 : (e - 1) << 7;
}
SCALE(iq4_xs) {
  bytes super = row + (size_t)(i / 8) * 136;
  const int g = i % 8, low = super[4 + g / 2] >> (g % 2 * 4) & 15, high = ushort_at(super + 2) >> (2 * g) & 3;
  scales[i] = (uchar)((low | high << 4) - 32) * 257; // both halves have it
  if (g == 0)
    scales[blocks + i / 8] = ushort_at(super);
}
SCALE(q2_k) {
  bytes super = row + (size_t)(i / 8) * 84;
  scales[i] = ushort_at(super + i % 8 * 2);
  if (i % 8 < 2) // d, or dmin
    scales[blocks + i / 8 * 2 + i % 8] = ushort_at(super + 80 + i % 8 * 2);
}

// six_bits returns the scale of group g of a block of q3_k, less 32: the lower four bits are nibbles of eight bytes, the upper two those of
// four more.
static inline uchar six_bits(bytes packed, int g) {
  return (packed[g % 8] >> (g / 8 * 4) & 15 | (packed[8 + g % 4] >> (g / 4 * 2) & 3) << 4) - 32;
}
SCALE(q3_k) {
  bytes super = row + (size_t)(i / 8) * 110;
  const int g = i % 8 * 2;
  scales[i] = six_bits(super + 96, g) | six_bits(super + 96, g + 1) << 8;
  if (i % 8 == 0)
    scales[blocks + i / 8] = ushort_at(super + 108);
}

#define SPLIT(TYPE, STORE)                                                                                           \
  __kernel void split_##TYPE(bytes raw, int row_bytes, int blocks, int total, __global uint4 *quants,                \
                             int scales_at, int row_at) {                                                            \
    const int id = get_global_id(0);                                                                                 \
    if (id >= total)                                                                                                 \
      return;                                                                                                        \
    const int row = id / blocks, i = id % blocks;                                                                    \
    __global ushort *scales = (__global ushort *)(quants + scales_at);                                               \
    raw += (size_t)row * row_bytes;                                                                                  \
    quants += (size_t)(row_at + row) * PIECES_##TYPE(blocks);                                                        \
    uint q[8];                                                                                                       \
    for (int g = 0; g < 8; g++)                                                                                      \
      q[g] = unpack_##TYPE(raw, 32 * i + 4 * g);                                                                     \
    STORE                                                                                                            \
    scale_##TYPE(raw, i, blocks, scales + (size_t)(row_at + row) * SCALES_##TYPE(blocks));                           \
  }

// The lower four bits of a group of the first half, and of the second one.
#define NIBBLES(g) ((q[g] & 0x0F0F0F0Fu) | (q[g + 4] & 0x0F0F0F0Fu) << 4)
#define STORE_4 quants[i] = (uint4)(NIBBLES(0), NIBBLES(1), NIBBLES(2), NIBBLES(3));
#define FIFTHS                                                                                                       \
  STORE_4                                                                                                            \
  uint high = 0;                                                                                                     \
  for (int g = 0; g < 8; g++)                                                                                        \
    high |= (q[g] >> 4 & 0x01010101u) << g;
#define STORE_5                                                                                                      \
  FIFTHS                                                                                                             \
  ((__global uint *)(quants + blocks))[i] = high;
// STORE_5_BEHIND stores fifth bits behind a row's scales, of which a block has a number.
#define STORE_5_BEHIND(numbers)                                                                                      \
  FIFTHS                                                                                                             \
  __global ushort *behind = scales + (size_t)(row_at + row) * (numbers + 2) * blocks + numbers * blocks + 2 * i;     \
  behind[0] = high & 0xFFFF;                                                                                         \
  behind[1] = high >> 16;
#define STORE_6                                                                                                      \
  STORE_4                                                                                                            \
  uint high[2] = {0, 0};                                                                                             \
  for (int g = 0; g < 8; g++)                                                                                        \
    high[g / 4] |= (q[g] >> 4 & 0x03030303u) << g % 4 * 2;                                                           \
  ((__global uint2 *)(quants + blocks))[i] = (uint2)(high[0], high[1]);
#define STORE_8                                                                                                      \
  quants[i] = (uint4)(q[0], q[1], q[2], q[3]);                                                                       \
  quants[blocks + i] = (uint4)(q[4], q[5], q[6], q[7]);

SPLIT(q4_0, STORE_4)
SPLIT(q4_1, STORE_4)
SPLIT(q4_k, STORE_4)
SPLIT(q5_k, STORE_5)
SPLIT(q6_k, STORE_6)
SPLIT(q8_0, STORE_8)
SPLIT(q5_0, STORE_5_BEHIND(1))
SPLIT(q5_1, STORE_5_BEHIND(2))
SPLIT(iq4_nl, STORE_4)
SPLIT(q2_k, STORE_4)
SPLIT(q3_k, STORE_4)
SPLIT(iq4_xs, STORE_4)
SPLIT(mxfp4, STORE_4)
