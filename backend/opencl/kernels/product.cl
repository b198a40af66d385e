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

// PIECES is how many groups of four elements a lane has of a chunk.
#if defined(FORMAT_f32)
#define PIECES 1
#elif defined(FORMAT_f16) || defined(FORMAT_bf16)
#define PIECES 2
#else
#define PIECES 8
#endif

// group_index returns which group of four activations is number j of a lane.
static inline int group_index(int chunk, int lanes, int lane, int j) {
#if PIECES == 8
  return (chunk * 8 + j) * lanes + lane;
#else
  return (chunk * lanes + lane) * PIECES + j;
#endif
}

#if PIECES == 8

// PART and NUMBER return 16 bits' worth of a word, moved to its lower end, and a number; j is a constant once loops are
// unrolled.
#define PART(word, j) (((j) < 2 ? word.x : (j) < 4 ? word.y : (j) < 6 ? word.z : word.w) >> ((j) % 2 * 16))
#define NUMBER(v, j) \
  ((j) == 0 ? v.s0 : (j) == 1 ? v.s1 : (j) == 2 ? v.s2 : (j) == 3 ? v.s3 : (j) == 4 ? v.s4 : (j) == 5 ? v.s5 : (j) == 6 ? v.s6 : v.s7)

// Quants become floats without a conversion, which would take longer than all the rest. Where the device computes with
// denormals, the bits of a quant q, wherever they stand in the mantissa, are a float already: q·2^(position-149). The
// activations are multiplied by 2^(64-position) for it, so that the sum is by 2^85, FACTOR, too small. Elsewhere four bits are
// put below a float's leading 1 and make 1 + q/16, six bits 1 + q/64. CORRECTION, times the sum t of the four activations,
// takes away what is too much: the 1, and the 8 or 32 from which the quants of q4_0 and q6_k count.
#if defined(FORMAT_q8_0)
#define FACTOR 1.0f
#define CORRECTION 0.0f
#elif defined(DENORMALS)
#define FACTOR 0x1p85f
#define UNIT 0x1p-85f
#define POSITIONS (float4)(0x1p64f, 0x1p60f, 0x1p56f, 0x1p52f)      // 0, 4, 8, 12
#define HIGH_POSITIONS (float4)(0x1p68f, 0x1p66f, 0x1p64f, 0x1p62f) // 0, 2, 4, 6, for bits that count 16
#if defined(FORMAT_q4_0)
#define CORRECTION (-8 * UNIT)
#elif defined(FORMAT_q4_1)
#define CORRECTION 0.0f
#define MINIMUM (16 * UNIT) // of which the minimums are stored a sixteenth
#else
#define CORRECTION (-32 * UNIT)
#endif
#elif defined(FORMAT_q4_0)
#define FACTOR 16.0f
#define CORRECTION -1.5f
#elif defined(FORMAT_q4_1)
#define FACTOR 16.0f
#define CORRECTION -1.0f
#define MINIMUM 1.0f
#else
#define FACTOR 64.0f
#define CORRECTION -1.5f
#endif

// lane_weights is what a lane loads of a row's chunk.
typedef struct {
  uint4 quants;
#if defined(FORMAT_q8_0)
  uint4 more;
#elif defined(FORMAT_q6_k)
  uint2 high;
#endif
  float8 scale;
#if defined(FORMAT_q4_1)
  float8 minimum;
#endif
} lane_weights;

static inline lane_weights load_lane(__global const uint4 *quants, __global const half *scales, size_t row_chunk, int lanes, int lane) {
  lane_weights w;
#if defined(FORMAT_q8_0)
  w.quants = quants[row_chunk * 2 * lanes + lane];
  w.more = quants[(row_chunk * 2 + 1) * lanes + lane];
  w.scale = vloada_half8(0, scales + split_scale(row_chunk, lanes, lane, 8, 1));
#elif defined(FORMAT_q6_k)
  const size_t piece = row_chunk * (lanes / 2 * 3);
  w.quants = quants[piece + lane];
  w.high = ((__global const uint2 *)(quants + piece + lanes))[lane];
  w.scale = vloada_half8(0, scales + split_scale(row_chunk, lanes, lane, 4, 1));
#elif defined(FORMAT_q4_1)
  w.quants = quants[row_chunk * lanes + lane];
  __global const half *numbers = scales + split_scale(row_chunk, lanes, lane, 8, 2);
  w.scale = vloada_half8(0, numbers);
  w.minimum = vloada_half8(1, numbers);
#else
  w.quants = quants[row_chunk * lanes + lane];
  w.scale = vloada_half8(0, scales + split_scale(row_chunk, lanes, lane, 8, 1));
#endif
  return w;
}

// group_activations is a group of four activations as its products want them.
typedef struct {
  float4 x;
#if defined(DENORMALS) && defined(FORMAT_q6_k)
  float4 high;
#endif
  float t;
} group_activations;

static inline group_activations prepare_group(float4 x) {
  group_activations a;
  a.x = x;
#if !defined(FORMAT_q8_0)
  a.t = x.x + x.y + x.z + x.w;
#if defined(DENORMALS)
  a.x = x * POSITIONS;
#if defined(FORMAT_q6_k)
  a.high = x * HIGH_POSITIONS;
#endif
#endif
#endif
  return a;
}

// group_product returns the product of group j of a lane with its activations, divided by FACTOR.
static inline float group_product(const lane_weights *w, const int j, const group_activations *a) {
#if defined(FORMAT_q8_0)
  const uint q = j < 4 ? (j == 0 ? w->quants.x : j == 1 ? w->quants.y : j == 2 ? w->quants.z : w->quants.w)
                       : (j == 4 ? w->more.x : j == 5 ? w->more.y : j == 6 ? w->more.z : w->more.w);
  return NUMBER(w->scale, j) * dot(a->x, convert_float4(as_char4(q)));
#else
  const uint q = PART(w->quants, j);
#if defined(FORMAT_q6_k)
  const uint h = (j < 4 ? w->high.x : w->high.y) >> (j % 4 * 8);
#endif
#if defined(DENORMALS)
#define BITS(at) as_float(q & 15u << (at))
  float sum = a->x.x * BITS(0) + (a->x.y * BITS(4) + (a->x.z * BITS(8) + (a->x.w * BITS(12) + CORRECTION * a->t)));
#if defined(FORMAT_q6_k)
#define HIGH(at) as_float(h & 3u << (at))
  sum = a->high.x * HIGH(0) + (a->high.y * HIGH(2) + (a->high.z * HIGH(4) + (a->high.w * HIGH(6) + sum)));
#endif
#else
#if defined(FORMAT_q6_k)
#define BITS(at) as_float(0x3F800000u | (q << (17 - (at)) & 0x1E0000u) | (h << (21 - (at) / 2) & 0x600000u))
#else
#define BITS(at) as_float(0x3F800000u | (q << (19 - (at)) & 0x780000u))
#endif
  float sum = a->x.x * BITS(0) + (a->x.y * BITS(4) + (a->x.z * BITS(8) + (a->x.w * BITS(12) + CORRECTION * a->t)));
#endif
#if defined(FORMAT_q4_1)
  return NUMBER(w->scale, j) * sum + NUMBER(w->minimum, j) * (MINIMUM * a->t);
#else
  return NUMBER(w->scale, j) * sum;
#endif
#endif
}

#else

// piece_product returns the product of a piece of a plain row with the activations x.
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

#endif

// A team computes SETS sets of ROWS rows, of as many weights, with the same activations.
#ifndef SETS
#define SETS 1
#endif
#define SUMS (SETS * ROWS + 1)
// ROW returns a row of its set, the last one in place of those beyond.
#define ROW(i) ((size_t)min(row[(i) / ROWS] + (i) % ROWS, rows[(i) / ROWS] - 1))

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
#if PIECES == 8
    lane_weights w[SETS * ROWS];
#pragma unroll
    for (int i = 0; i < SETS * ROWS; i++)
      w[i] = load_lane(quants[i / ROWS], scales[i / ROWS], ROW(i) * stride + chunk, lanes, lane);
#else
    float4 v[PIECES];
#endif
#pragma unroll
    for (int j = 0; j < PIECES; j++) {
      const int g = group_index(chunk, lanes, lane, j);
#if PIECES == 8
      if (j % 4 == 0) // or compilers load all activations at once, and the registers that it takes leave room for fewer lanes
        mem_fence(CLK_LOCAL_MEM_FENCE);
#endif
      float4 four = g * 4 < k ? x[g] : (float4)(0);
      if (norm) {
        sums[SUMS - 1] += dot(four, four);
        four *= g * 4 < k ? gain[g] : (float4)(0);
      }
#if PIECES == 8
      const group_activations a = prepare_group(four);
#pragma unroll
      for (int i = 0; i < SETS * ROWS; i++)
        sums[i] += group_product(&w[i], j, &a);
#else
      v[j] = four;
#endif
    }
#if PIECES != 8
    if ((chunk * lanes + lane) * PIECES * 4 >= k) // pieces count through a plain row
      continue;
#pragma unroll
    for (int i = 0; i < SETS * ROWS; i++)
      sums[i] += piece_product(quants[i / ROWS], ROW(i) * stride + chunk * lanes + lane, v);
#endif
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
