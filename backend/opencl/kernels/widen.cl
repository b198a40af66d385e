// Rows of any format to float: lookups of rows, weights for the product of many rows, casts.
//
// Row i of out is row indices[i] of the table, or row first + i where indexed is 0. Rows outside [lo, hi) are left alone:
// they are in another part of a divided table. lo is the number of the row with which the buffer begins.

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

// widen_split_* take the split layout; a work-item widens the 32 elements of a lane.
#define WIDEN_SPLIT(TYPE)                                                                                            \
  __kernel void widen_split_##TYPE(__global const uint4 *quants, __global const half *scales, int chunks, int lanes, \
                                   ROW_ARGUMENTS) {                                                                  \
    const int column = get_global_id(0), i = get_global_id(1);                                                       \
    const int row = indexed ? indices[i] : first + i;                                                                \
    if (column >= chunks * lanes || row < lo || row >= hi)                                                           \
      return;                                                                                                        \
    const int chunk = column / lanes, lane = column % lanes;                                                         \
    const size_t row_chunk = (size_t)(row - lo) * chunks + chunk;                                                    \
    for (int j = 0; j < 8; j++) {                                                                                    \
      const int at = chunk * 32 * lanes + 4 * (j * lanes + lane);                                                    \
      if (at < dim)                                                                                                  \
        STORE4(split_##TYPE(quants, scales, row_chunk, lanes, lane, j), out + out_at + (size_t)i * dim + at, 0);     \
    }                                                                                                                \
  }

#define SPLIT_LANE                                                                                                   \
  __global const uint4 *quants, __global const half *scales, size_t row_chunk, int lanes, int lane, int j

static inline int4 nibbles(__global const uint4 *quants, size_t piece, int j) {
  const uint q = ((__global const ushort *)(quants + piece))[j];
  return (int4)(q & 15, q >> 4 & 15, q >> 8 & 15, q >> 12);
}

static inline float4 split_q4_0(SPLIT_LANE) {
  const float scale = vload_half(split_scale(row_chunk, lanes, lane, 8, 1) + j, scales);
  return scale * (convert_float4(nibbles(quants, row_chunk * lanes + lane, j)) - 8.0f);
}

static inline float4 split_q4_1(SPLIT_LANE) {
  const size_t at = split_scale(row_chunk, lanes, lane, 8, 2) + j;
  const float scale = vload_half(at, scales), minimum = 16.0f * vload_half(at + 8, scales);
  return scale * convert_float4(nibbles(quants, row_chunk * lanes + lane, j)) + minimum;
}

static inline float4 split_q6_k(SPLIT_LANE) {
  const float scale = vload_half(split_scale(row_chunk, lanes, lane, 4, 1) + j, scales);
  const size_t piece = row_chunk * (lanes / 2 * 3);
  const int upper = ((bytes)(quants + piece + lanes))[lane * 8 + j];
  const int4 q = nibbles(quants, piece + lane, j) | ((int4)(upper, upper >> 2, upper >> 4, upper >> 6) & 3) << 4;
  return scale * (convert_float4(q) - 32.0f);
}

static inline float4 split_q8_0(SPLIT_LANE) {
  const float scale = vload_half(split_scale(row_chunk, lanes, lane, 8, 1) + j, scales);
  const uint q = ((__global const uint *)(quants + (row_chunk * 2 + j / 4) * lanes + lane))[j % 4];
  return scale * convert_float4(as_char4(q));
}

WIDEN_SPLIT(q4_0)
WIDEN_SPLIT(q4_1)
WIDEN_SPLIT(q6_k)
WIDEN_SPLIT(q8_0)
