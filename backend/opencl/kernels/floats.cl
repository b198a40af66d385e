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

#define TEAM_MEMORY __local float part[GROUP * SUMS]
#define TEAM_MEMORY_ARGUMENTS __local float *part
#define TEAM_MEMORY_NAMES part

// team_sums leaves in TOTAL(part, team, i) the product of row i, counted through the sets, and last the sum of squares of x,
// where norm is 1. Rows have `stride` pieces and those of a weight end at `rows`.
static inline void team_sums(__global const uint4 *quants[SETS], __global const ushort *scales[SETS], const int row[SETS],
                             const int rows[SETS], TEAM_ARGUMENTS, __global const float4 *x, __global const float4 *gain,
                             int norm, TEAM_MEMORY_ARGUMENTS) {
  float sums[SUMS];
  for (int i = 0; i < SUMS; i++)
    sums[i] = 0;
  for (int piece = get_local_id(0) % lanes; piece * PIECES * 4 < k; piece += lanes) {
    float4 v[PIECES];
#pragma unroll
    for (int j = 0; j < PIECES; j++) {
      v[j] = x[piece * PIECES + j];
      if (norm) {
        sums[SUMS - 1] += dot(v[j], v[j]);
        v[j] *= gain[piece * PIECES + j];
      }
    }
#pragma unroll
    for (int i = 0; i < SETS * ROWS; i++)
      sums[i] += piece_product(quants[i / ROWS], ROW(i) * stride + piece, v);
  }
  add_lanes(sums, part, lanes);
}

// norm_factor returns 1/r for a team.
static inline float norm_factor(__local const float *part, int lanes, int team, int k, float eps) {
  return 1.0f / sqrt(TOTAL(part, team, SUMS - 1) / k + eps);
}
