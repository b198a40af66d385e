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
    const float8 scale = load_scales(split_scale(row_chunk, lanes, lane), scales);                                   \
    float d[8];                                                                                                      \
    vstore8(scale, 0, d);                                                                                            \
    for (int j = 0; j < 8; j++) {                                                                                    \
      const int at = chunk * 32 * lanes + 4 * (j * lanes + lane);                                                    \
      if (at < dim)                                                                                                  \
        vstore4(d[j] * split_##TYPE(quants, row_chunk, lanes, lane, j), 0, out + out_at + (size_t)i * dim + at);     \
    }                                                                                                                \
  }

inline float8 load_scales(size_t at, __global const half *p) { return vload_half8(0, p + at); }

inline float4 split_q4_0(__global const uint4 *quants, size_t row_chunk, int lanes, int lane, int j) {
  const uint q = ((__global const ushort *)(quants + row_chunk * lanes + lane))[j];
  return convert_float4((int4)(q & 15, q >> 4 & 15, q >> 8 & 15, q >> 12)) - 8.0f;
}

inline float4 split_q8_0(__global const uint4 *quants, size_t row_chunk, int lanes, int lane, int j) {
  const uint q = ((__global const uint *)(quants + (row_chunk * 2 + j / 4) * lanes + lane))[j % 4];
  return convert_float4(as_char4(q));
}

WIDEN_SPLIT(q4_0)
WIDEN_SPLIT(q8_0)
