// Rows of any format to float: lookups of rows, weights for the product of many rows, casts.
//
// Row i of out is row indices[i] of the table, or row first + i where indexed is 0. Rows outside [lo, hi) are left alone:
// they are in another part of a divided table. lo is the number of the row with which the buffer begins.
//
// The floats are those of the CPU, bit for bit.

#define ROW_ARGUMENTS __global const int *indices, int indexed, int first, int lo, int hi, output out, int out_at, int dim

#define WIDEN(TYPE)                                                                                                  \
  __kernel void widen_##TYPE(bytes table, ulong table_at, int row_bytes, ROW_ARGUMENTS) {                            \
    const int column = get_global_id(0), i = get_global_id(1);                                                       \
    const int row = indexed ? indices[i] : first + i;                                                                \
    if (column < dim && row >= lo && row < hi)                                                                       \
      out[out_at + (size_t)i * dim + column] =                                                                       \
          TYPE##_element(table + table_at + (size_t)(row - lo) * row_bytes, column);                                 \
  }

WIDEN(f32)
WIDEN(f16)
WIDEN(bf16)
WIDEN(q8_0)
WIDEN(q4_0)

// widen_split_* take the split layout; a work-item widens four elements.
#define WIDEN_SPLIT(TYPE)                                                                                            \
  __kernel void widen_split_##TYPE(__global const uint *quants, int scales_at, int blocks, ROW_ARGUMENTS) {               \
    const int four = get_global_id(0), i = get_global_id(1);                                                         \
    const int row = indexed ? indices[i] : first + i;                                                                \
    if (4 * four >= dim || row < lo || row >= hi)                                                                    \
      return;                                                                                                        \
    __global const half *scales = (__global const half *)((__global const uint4 *)quants + scales_at);               \
    quants += (size_t)(row - lo) * PIECES_##TYPE(blocks) * 4;                                                        \
    scales += (size_t)(row - lo) * SCALES_##TYPE(blocks);                                                            \
    STORE4(split_##TYPE(quants, scales, blocks, four / 8, four % 8), out + out_at + (size_t)i * dim, four);          \
  }

// split_… returns group g of a row's block i.
#define SPLIT_GROUP __global const uint *quants, __global const half *scales, int blocks, int i, int g

// nibbles returns the lower four bits, one element a byte.
static inline uint nibbles(__global const uint *quants, int i, int g) { return quants[4 * i + g % 4] >> g / 4 * 4 & 0x0F0F0F0Fu; }

static inline float4 bytes_to_floats(uint q) { return convert_float4(as_uchar4(q)); }

// pair_at returns byte n of pair i of the scales' bytes.
static inline uchar pair_at(__global const half *scales, int i, int n) { return ((bytes)scales)[2 * i + n]; }

// Where there is no minimum 0 is added in its place: zeros are positive.
static inline float4 split_q4_0(SPLIT_GROUP) { return vload_half(i, scales) * (bytes_to_floats(nibbles(quants, i, g)) - 8.0f) + 0.0f; }

static inline float4 split_q4_1(SPLIT_GROUP) {
  const float2 numbers = vload_half2(i, scales);
  return numbers.x * bytes_to_floats(nibbles(quants, i, g)) + numbers.y;
}

// scaled_k scales quants of q4_k and q5_k.
static inline float4 scaled_k(uint q, __global const half *scales, int blocks, int i) {
  const float2 numbers = vload_half2(i / 8, scales + blocks);
  const float scale = numbers.x * pair_at(scales, i, 0), minimum = numbers.y * pair_at(scales, i, 1);
  return scale * bytes_to_floats(q) - minimum;
}

static inline float4 split_q4_k(SPLIT_GROUP) { return scaled_k(nibbles(quants, i, g), scales, blocks, i); }

static inline float4 split_q5_k(SPLIT_GROUP) {
  const uint high = quants[4 * blocks + i] >> g & 0x01010101u;
  return scaled_k(nibbles(quants, i, g) | high << 4, scales, blocks, i);
}

static inline float4 split_q6_k(SPLIT_GROUP) {
  const uint high = quants[4 * blocks + 2 * i + g / 4] >> g % 4 * 2 & 0x03030303u;
  const float scale = vload_half(i / 8, scales + blocks) * (char)pair_at(scales, i, g / 4);
  return scale * (bytes_to_floats(nibbles(quants, i, g) | high << 4) - 32.0f) + 0.0f;
}

static inline float4 split_q8_0(SPLIT_GROUP) {
  return vload_half(i, scales) * convert_float4(as_char4(quants[4 * (g / 4 * blocks + i) + g % 4])) + 0.0f;
}

// behind_scales returns the fifth bits of group g of block i, above four others, where they lie behind a row's scales.
static inline uint behind_scales(__global const half *scales, int at, int i, int g) {
  __global const ushort *bits = (__global const ushort *)scales + at + 2 * i;
  return (((uint)bits[0] | (uint)bits[1] << 16) >> g & 0x01010101u) << 4;
}

static inline float4 split_q5_0(SPLIT_GROUP) {
  const uint q = nibbles(quants, i, g) | behind_scales(scales, blocks, i, g);
  return vload_half(i, scales) * (bytes_to_floats(q) - 16.0f);
}

static inline float4 split_q5_1(SPLIT_GROUP) {
  const float2 numbers = vload_half2(i, scales);
  return numbers.x * bytes_to_floats(nibbles(quants, i, g) | behind_scales(scales, 2 * blocks, i, g)) + numbers.y;
}

static inline float4 nonlinear_floats(uint q) { return convert_float4(as_char4(nonlinear_of(q))); }

static inline float4 split_iq4_nl(SPLIT_GROUP) { return vload_half(i, scales) * nonlinear_floats(nibbles(quants, i, g)); }

static inline float4 split_mxfp4(SPLIT_GROUP) {
  return upper_half(((__global const ushort *)scales)[i]) * convert_float4(as_char4(fp4_of(nibbles(quants, i, g))));
}

// half_scale returns the scale of the half of a block of 32 to which group g belongs.
static inline float half_scale(__global const half *scales, int blocks, int i, int g) {
  return vload_half(i / 8, scales + blocks) * (char)pair_at(scales, i, g / 4);
}

static inline float4 split_iq4_xs(SPLIT_GROUP) {
  return half_scale(scales, blocks, i, g) * nonlinear_floats(nibbles(quants, i, g));
}

static inline float4 split_q3_k(SPLIT_GROUP) {
  return half_scale(scales, blocks, i, g) * (bytes_to_floats(nibbles(quants, i, g)) - 4.0f);
}

static inline float4 split_q2_k(SPLIT_GROUP) {
  const float2 numbers = vload_half2(i / 8, scales + blocks);
  const uchar both = pair_at(scales, i, g / 4);
  const float scale = numbers.x * (both & 15), minimum = numbers.y * (both >> 4);
  return scale * bytes_to_floats(nibbles(quants, i, g)) - minimum;
}

WIDEN_SPLIT(q5_0)
WIDEN_SPLIT(q5_1)
WIDEN_SPLIT(iq4_nl)
WIDEN_SPLIT(q2_k)
WIDEN_SPLIT(q3_k)
WIDEN_SPLIT(iq4_xs)
WIDEN_SPLIT(mxfp4)
WIDEN_SPLIT(q4_0)
WIDEN_SPLIT(q4_1)
WIDEN_SPLIT(q4_k)
WIDEN_SPLIT(q5_k)
WIDEN_SPLIT(q6_k)
WIDEN_SPLIT(q8_0)
