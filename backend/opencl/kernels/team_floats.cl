// Products with plain rows of floats. A lane multiplies pieces of 16 bytes.

// PIECES is how many groups of four elements a piece has.
#if defined(FORMAT_f32)
#define PIECES 1
#else
#define PIECES 2
#endif

// piece_product returns the product of a piece of a row with the activations x.
static inline float piece_product(__global const uint4 *quants, size_t piece, const float4 *x) {
#if defined(FORMAT_f32)
  return dot(x[0], as_float4(quants[piece]));
#elif defined(FORMAT_f16)
  const float8 w = vloada_half8(piece, (__global const half *)quants);
  return dot(x[0], w.lo) + dot(x[1], w.hi);
#elif defined(FORMAT_bf16)
  const uint4 w = quants[piece];
  const float4 a = as_float4((uint4)(w.x << 16, w.x & 0xFFFF0000u, w.y << 16, w.y & 0xFFFF0000u));
  const float4 b = as_float4((uint4)(w.z << 16, w.z & 0xFFFF0000u, w.w << 16, w.w & 0xFFFF0000u));
  return dot(x[0], a) + dot(x[1], b);
#endif
}

#define TEAM_MEMORY __local float part[PART], lanes[LANES_OF_SUM], sums[SETS * ROWS * GROUP]
#define TEAM_MEMORY_ARGUMENTS __local float *part, __local float *lanes, __local float *sums
#define TEAM_MEMORY_NAMES part, lanes, sums

// team_sums leaves in TOTAL the products of x, normed where norm is 1. Rows have `stride` pieces and those of a set are
// first, …, end-1.
static inline void team_sums(__global const uint4 *quants[SETS], __global const ushort *scales[SETS], const int first[SETS],
                             const int end[SETS], int k, int stride, __global const float4 *x, __global const float4 *gain,
                             int norm, float eps, TEAM_MEMORY_ARGUMENTS) {
  const int id = get_local_id(0);
  const float factor = norm ? norm_scale((input)x, k, eps, part, lanes) : 1.0f;
  float sum[SETS * ROWS];
  for (int i = 0; i < SETS * ROWS; i++)
    sum[i] = 0;
  for (int piece = id % LANES; piece * PIECES * 4 < k; piece += LANES) {
    float4 v[PIECES];
#pragma unroll
    for (int j = 0; j < PIECES; j++) {
      v[j] = x[piece * PIECES + j];
      if (norm)
        v[j] = v[j] * factor * gain[piece * PIECES + j];
    }
#pragma unroll
    for (int i = 0; i < SETS * ROWS; i++)
      sum[i] += piece_product(quants[i / ROWS], ROW(i) * stride + piece, v);
  }
#pragma unroll
  for (int i = 0; i < SETS * ROWS; i++)
    sums[i * GROUP + id] = sum[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  // The lanes are taken from a different one on for each sum, as local memory likes it.
  for (int i = id; i < SETS * ROWS_OF_GROUP; i += GROUP) {
    const int set = i / ROWS_OF_GROUP, row = i % ROWS_OF_GROUP;
    __local const float *of_team = sums + (set * ROWS + row % ROWS) * GROUP + row / ROWS * LANES;
    float total = 0;
    for (int l = 0; l < LANES; l++)
      total += of_team[(l + i) % LANES];
    TOTAL(part, set, row) = total;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
}
