// Products of few rows of activations with weights: what decoding does most. It is bound by the memory that holds the
// weights, so every byte of them is loaded once, in pieces of 16 bytes, neighbouring lanes loading neighbouring pieces.
//
// A group is divided into teams of `lanes` work-items, which formats.cl explains. A team computes ROWS rows
// of weights at once for the sake of the activations, which each row needs anew; then its lanes' sums meet in local memory.
// FORMAT_… names the format of the weights.
//
// A norm costs no pass of its own: Σ w·(x/r·g) = (Σ w·x·g)/r, and the sum of the squares that r is made of comes by the way.

#define TEAM_ARGUMENTS int k, int chunks, int lanes
#define WEIGHT_ARGUMENTS(i) __global const uint4 *quants##i, __global const half *scales##i, int first##i, int rows##i

// PIECES is how many groups of four elements a lane has of a chunk, and FACTOR what the sums of nibbles are yet to be
// multiplied with.
#if defined(FORMAT_q4_0) || defined(FORMAT_q4_1)
#define PIECES 8
#define FACTOR 16.0f
#elif defined(FORMAT_q6_k)
#define PIECES 8
#define FACTOR 64.0f
#elif defined(FORMAT_q8_0)
#define PIECES 8
#elif defined(FORMAT_f32)
#define PIECES 1
#else
#define PIECES 2
#endif

// group_index returns which group of four activations is number j of a lane.
static inline int group_index(int chunk, int lanes, int lane, int j) {
#if PIECES == 8
  return (chunk * 8 + j) * lanes + lane;
#else
  return (chunk * lanes + lane) * PIECES + j;
#endif
}

// row_product returns a lane's part of the product of a row of weights with the activations x; correction[j] is what the
// format wants of group j.
static inline float row_product(__global const uint4 *quants, __global const half *scales, size_t row_chunk, int lanes, int lane,
                         const float4 *x, const float *correction) {
  float sum = 0;
#if defined(FORMAT_q4_0) || defined(FORMAT_q4_1)
  // The four bits of a quant q, put below a float's leading 1, make 1 + q/16. With t = Σ x the sum of (q-8)·x is
  // 16·(Σ (1 + q/16)·x - 1.5·t), and -1.5·t is the correction; the 16 comes last. Without the 8 it is -t.
  const uint4 word = quants[row_chunk * lanes + lane];
#define BITS(q, at) as_float(0x3F800000u | (((at) < 19 ? (q) << (19 - (at)) : (q) >> ((at) - 19)) & 0x780000u))
#define DOT(q, at, j)                                                                                                \
  (x[j].x * BITS(q, at) + (x[j].y * BITS(q, at + 4) + (x[j].z * BITS(q, at + 8) + (x[j].w * BITS(q, at + 12) + correction[j]))))
#if defined(FORMAT_q4_0)
  const float8 scale = vloada_half8(0, scales + split_scale(row_chunk, lanes, lane, 8, 1));
#else
  __global const half *numbers = scales + split_scale(row_chunk, lanes, lane, 8, 2);
  const float8 scale = vloada_half8(0, numbers), minimum = vloada_half8(1, numbers);
  sum -= minimum.s0 * correction[0] + minimum.s1 * correction[1] + minimum.s2 * correction[2] + minimum.s3 * correction[3];
  sum -= minimum.s4 * correction[4] + minimum.s5 * correction[5] + minimum.s6 * correction[6] + minimum.s7 * correction[7];
#endif
  sum += scale.s0 * DOT(word.x, 0, 0);
  sum += scale.s1 * DOT(word.x, 16, 1);
  sum += scale.s2 * DOT(word.y, 0, 2);
  sum += scale.s3 * DOT(word.y, 16, 3);
  sum += scale.s4 * DOT(word.z, 0, 4);
  sum += scale.s5 * DOT(word.z, 16, 5);
  sum += scale.s6 * DOT(word.w, 0, 6);
  sum += scale.s7 * DOT(word.w, 16, 7);
#elif defined(FORMAT_q6_k)
  // Likewise with six bits: 1 + q/64, where (q-32)·x sums up to 64·(Σ (1 + q/64)·x - 1.5·t).
  const size_t piece = row_chunk * (lanes / 2 * 3);
  const uint4 word = quants[piece + lane];
  const uint2 high = ((__global const uint2 *)(quants + piece + lanes))[lane];
  const float8 scale = vloada_half8(0, scales + split_scale(row_chunk, lanes, lane, 4, 1));
#define SHIFT(q, from, to) ((from) < (to) ? (q) << ((to) - (from)) : (q) >> ((from) - (to)))
#define BITS(q, at, h, h_at) as_float(0x3F800000u | (SHIFT(q, at, 17) & 0x1E0000u) | (SHIFT(h, h_at, 21) & 0x600000u))
#define DOT(q, at, h, h_at, j)                                                                                       \
  (x[j].x * BITS(q, at, h, h_at) + (x[j].y * BITS(q, at + 4, h, h_at + 2) + (x[j].z * BITS(q, at + 8, h, h_at + 4) + \
   (x[j].w * BITS(q, at + 12, h, h_at + 6) + correction[j]))))
  sum += scale.s0 * DOT(word.x, 0, high.x, 0, 0);
  sum += scale.s1 * DOT(word.x, 16, high.x, 8, 1);
  sum += scale.s2 * DOT(word.y, 0, high.x, 16, 2);
  sum += scale.s3 * DOT(word.y, 16, high.x, 24, 3);
  sum += scale.s4 * DOT(word.z, 0, high.y, 0, 4);
  sum += scale.s5 * DOT(word.z, 16, high.y, 8, 5);
  sum += scale.s6 * DOT(word.w, 0, high.y, 16, 6);
  sum += scale.s7 * DOT(word.w, 16, high.y, 24, 7);
#elif defined(FORMAT_q8_0)
  const uint4 low = quants[row_chunk * 2 * lanes + lane], high = quants[(row_chunk * 2 + 1) * lanes + lane];
  const float8 scale = vloada_half8(0, scales + split_scale(row_chunk, lanes, lane, 8, 1));
  sum += scale.s0 * dot(x[0], convert_float4(as_char4(low.x)));
  sum += scale.s1 * dot(x[1], convert_float4(as_char4(low.y)));
  sum += scale.s2 * dot(x[2], convert_float4(as_char4(low.z)));
  sum += scale.s3 * dot(x[3], convert_float4(as_char4(low.w)));
  sum += scale.s4 * dot(x[4], convert_float4(as_char4(high.x)));
  sum += scale.s5 * dot(x[5], convert_float4(as_char4(high.y)));
  sum += scale.s6 * dot(x[6], convert_float4(as_char4(high.z)));
  sum += scale.s7 * dot(x[7], convert_float4(as_char4(high.w)));
#elif defined(FORMAT_f32)
  sum = dot(x[0], as_float4(quants[row_chunk * lanes + lane]));
#elif defined(FORMAT_f16)
  const float8 w = vloada_half8(row_chunk * lanes + lane, (__global const half *)quants);
  sum = dot(x[0], w.lo) + dot(x[1], w.hi);
#elif defined(FORMAT_bf16)
  const uint4 w = quants[row_chunk * lanes + lane];
  const float4 a = as_float4((uint4)(w.x << 16, w.x & 0xFFFF0000u, w.y << 16, w.y & 0xFFFF0000u));
  const float4 b = as_float4((uint4)(w.z << 16, w.z & 0xFFFF0000u, w.w << 16, w.w & 0xFFFF0000u));
  sum = dot(x[0], a) + dot(x[1], b);
#endif
  return sum;
}

// A team computes SETS sets of ROWS rows, of as many weights, with the same activations.
#ifndef SETS
#define SETS 1
#endif
#define SUMS (SETS * ROWS + 1)

// team_sums leaves in totals[team·SUMS + i] the product of row i, counted through the sets, and last the sum of squares of x,
// where norm is 1. A plain format's rows have `stride` lanes' pieces, the last of which may be fewer than lanes. The rows of a
// weight end at `rows`.
static inline void team_sums(__global const uint4 *quants[SETS], __global const half *scales[SETS], const int row[SETS],
                             const int rows[SETS], TEAM_ARGUMENTS, int stride, __global const float4 *x,
                             __global const float4 *gain, int norm, __local float *part, __local float *totals) {
  const int id = get_local_id(0), lane = id % lanes;
  float sums[SUMS];
  for (int i = 0; i < SUMS; i++)
    sums[i] = 0;
  for (int chunk = 0; chunk < chunks; chunk++) {
    float4 v[PIECES];
    float correction[PIECES];
#pragma unroll
    for (int j = 0; j < PIECES; j++) {
      const int i = group_index(chunk, lanes, lane, j);
      v[j] = i * 4 < k ? x[i] : (float4)(0);
      if (norm) {
        sums[SUMS - 1] += dot(v[j], v[j]);
        v[j] *= i * 4 < k ? gain[i] : (float4)(0);
      }
#if defined(FORMAT_q4_1)
      correction[j] = -(v[j].x + v[j].y + v[j].z + v[j].w);
#else
      correction[j] = -1.5f * (v[j].x + v[j].y + v[j].z + v[j].w);
#endif
    }
#pragma unroll
    for (int i = 0; i < SETS * ROWS; i++) {
      const int set = i / ROWS;
      const size_t at = (size_t)min(row[set] + i % ROWS, rows[set] - 1);
#if PIECES == 8
      sums[i] += row_product(quants[set], scales[set], at * stride + chunk, lanes, lane, v, correction);
#else
      if ((chunk * lanes + lane) * PIECES * 4 < k) // a plain row: pieces count through
        sums[i] += row_product(quants[set], scales[set], at * stride + chunk * lanes + lane, 1, 0, v, correction);
#endif
    }
  }
#pragma unroll
  for (int i = 0; i < SUMS; i++)
    part[i * GROUP + id] = sums[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  const int teams = GROUP / lanes;
  for (int i = id; i < teams * SUMS; i += GROUP) {
    const int team = i / SUMS, r = i % SUMS;
    float sum = 0;
    for (int l = 0; l < lanes; l++)
      sum += part[r * GROUP + team * lanes + l];
#if defined(FACTOR)
    if (r < SUMS - 1)
      sum *= FACTOR;
#endif
    totals[i] = sum;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
}

// norm_factor returns 1/r of a team's sum of squares.
static inline float norm_factor(__local const float *totals, int team, int k, float eps) {
  return 1.0f / sqrt(totals[team * SUMS + SUMS - 1] / k + eps);
}

#define KERNEL __kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
#define ROWS_OF_GROUP (GROUP / lanes * ROWS)
