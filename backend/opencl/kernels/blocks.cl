// Products with weights in blocks: as on the CPU, the activations are rounded to eight bits, and the products of a block are
// sums of integers. Each group rounds the activations for itself, PANEL of them at a time: in local memory they cost it less
// than waiting for a kernel that does it for all. A lane multiplies whole blocks of 32.

#define PANEL 4096

// How rows of the format are laid out.
#define JOIN(a, b) a##b
#define OF_FORMAT(what, format) JOIN(what, format)
#define ROW_PIECES OF_FORMAT(PIECES_, FORMAT)
#define ROW_SCALES OF_FORMAT(SCALES_, FORMAT)

// BLOCK is how many activations have a step in common.
#if defined(FORMAT_q4_k) || defined(FORMAT_q5_k) || defined(FORMAT_q6_k)
#define BLOCK 256
#else
#define BLOCK 32
#endif

// lane_weights is what a lane loads of a row: a block of 32, laid out as formats.cl says.
typedef struct {
  uint4 quants;
#if defined(FORMAT_q8_0)
  uint4 more;
#elif defined(FORMAT_q5_k)
  uint high;
#elif defined(FORMAT_q6_k)
  uint2 high;
#endif
#if BLOCK == 256
  uint scales;
#endif
  float scale;
#if defined(FORMAT_q4_1) || defined(FORMAT_q4_k) || defined(FORMAT_q5_k)
  float minimum;
#endif
} lane_weights;

static inline lane_weights load_lane(__global const uint4 *quants, __global const ushort *scales, size_t row, int blocks, int block) {
  lane_weights w;
  quants += row * ROW_PIECES(blocks);
  scales += row * ROW_SCALES(blocks);
  w.quants = quants[block];
#if defined(FORMAT_q8_0)
  w.more = quants[blocks + block];
#elif defined(FORMAT_q5_k)
  w.high = ((__global const uint *)(quants + blocks))[block];
#elif defined(FORMAT_q6_k)
  w.high = ((__global const uint2 *)(quants + blocks))[block];
#endif
#if BLOCK == 256
  w.scales = scales[block];
  scales += blocks;
  block /= 8;
#endif
  __global const half *numbers = (__global const half *)scales;
#if defined(FORMAT_q4_1) || defined(FORMAT_q4_k) || defined(FORMAT_q5_k)
  const float2 pair = vload_half2(block, numbers);
  w.scale = pair.x;
  w.minimum = pair.y;
#else
  w.scale = vload_half(block, numbers);
#endif
  return w;
}

// LOWER and UPPER return the quants of four elements of a block's first and second half; i is a component, n its number.
#define LOWER_BITS 0x0F0F0F0Fu
#if defined(FORMAT_q8_0)
#define LOWER(w, i, n) w.quants.i
#define UPPER(w, i, n) w.more.i
#elif defined(FORMAT_q5_k)
#define LOWER(w, i, n) ((w.quants.i & LOWER_BITS) | (w.high >> n & 0x01010101u) << 4)
#define UPPER(w, i, n) ((w.quants.i >> 4 & LOWER_BITS) | (w.high >> (4 + n) & 0x01010101u) << 4)
#elif defined(FORMAT_q6_k)
#define LOWER(w, i, n) ((w.quants.i & LOWER_BITS) | (w.high.x >> 2 * n & 0x03030303u) << 4)
#define UPPER(w, i, n) ((w.quants.i >> 4 & LOWER_BITS) | (w.high.y >> 2 * n & 0x03030303u) << 4)
#else
#define LOWER(w, i, n) (w.quants.i & LOWER_BITS)
#define UPPER(w, i, n) (w.quants.i >> 4 & LOWER_BITS)
#endif
#define DOT_HALF(HALF, of, v, c)                                                                                     \
  DOT(HALF(of, x, 0), v.x, DOT(HALF(of, y, 1), v.y, DOT(HALF(of, z, 2), v.z, DOT(HALF(of, w, 3), v.w, c))))

// ZERO is the quant that stands for 0.
#if defined(FORMAT_q4_0)
#define ZERO 8
#elif defined(FORMAT_q6_k)
#define ZERO 32
#else
#define ZERO 0
#endif

// block_activations is a block of 32 activations: its halves' quants and their sums.
typedef struct {
  uint4 lower, upper;
  int lower_sum, upper_sum;
  float step;
} block_activations;

// block_product returns the product of a block with its activations.
static inline float block_product(const lane_weights w, const block_activations a) {
#if defined(FORMAT_q6_k)
  const int lower = DOT_HALF(LOWER, w, a.lower, -ZERO * a.lower_sum), upper = DOT_HALF(UPPER, w, a.upper, -ZERO * a.upper_sum);
  const char4 scales = as_char4(w.scales);
  return w.scale * a.step * (scales.x * lower + scales.y * upper);
#else
  int product = DOT_HALF(LOWER, w, a.lower, DOT_HALF(UPPER, w, a.upper, -ZERO * (a.lower_sum + a.upper_sum)));
#if BLOCK == 256
  product *= w.scales & 255;
  const int sum = (int)(w.scales >> 8) * (a.lower_sum + a.upper_sum);
  return a.step * (w.scale * product - w.minimum * sum);
#elif defined(FORMAT_q4_1)
  return a.step * (w.scale * product + w.minimum * (a.lower_sum + a.upper_sum));
#else
  return w.scale * a.step * product;
#endif
#endif
}

#define TEAM_MEMORY                                                                                                  \
  __local float part[GROUP * SUMS], steps[PANEL / BLOCK];                                                            \
  __local uint4 rounded[PANEL / 16];                                                                                 \
  __local short4 eights[PANEL / 32]
#define TEAM_MEMORY_ARGUMENTS __local float *part, __local float *steps, __local uint4 *rounded, __local short4 *eights
#define TEAM_MEMORY_NAMES part, steps, rounded, eights

// round_panel rounds elements [first, first + count) of x, multiplied by gain where norm is 1, and returns the sum of the
// squares of those that the work-item had.
static inline float round_panel(__global const float4 *x, __global const float4 *gain, int norm, int first, int count,
                                TEAM_MEMORY_ARGUMENTS) {
  float squares = 0;
  for (int base = 0; base < count; base += GROUP * ROUNDED_AT_ONCE) {
    const int i = base / ROUNDED_AT_ONCE + get_local_id(0), at = first / ROUNDED_AT_ONCE + i;
    const int inside = i * ROUNDED_AT_ONCE < count;
    float8 v = inside ? EIGHT_AT(x, at) : (float8)(0);
    if (norm && inside) {
      squares += dot(v.lo, v.lo) + dot(v.hi, v.hi);
      v *= EIGHT_AT(gain, at);
    }
    float step;
    const char8 q = round_eight(v, BLOCK / ROUNDED_AT_ONCE, &step, part);
    if (!inside)
      continue;
    // The halves of all blocks lie together, so that lanes that load theirs meet in no bank.
    const int block = i / 4, quarter = i % 4;
    ((__local uint2 *)rounded)[(quarter / 2 * (PANEL / 32) + block) * 2 + quarter % 2] = as_uint2(q);
    const short8 s = convert_short8(q);
    const short4 t = s.lo + s.hi;
    ((__local short *)eights)[i] = t.x + t.y + t.z + t.w;
    steps[i / (BLOCK / ROUNDED_AT_ONCE)] = step; // the same from all of a block
  }
  return squares;
}

// team_sums leaves in TOTAL(part, team, i) the product of row i, counted through the sets, and last a share of the sum of
// squares of x, where norm is 1. Rows have `stride` blocks and those of a weight end at `rows`.
static inline void team_sums(__global const uint4 *quants[SETS], __global const ushort *scales[SETS], const int row[SETS],
                             const int rows[SETS], TEAM_ARGUMENTS, __global const float4 *x, __global const float4 *gain,
                             int norm, TEAM_MEMORY_ARGUMENTS) {
  float sums[SUMS];
  for (int i = 0; i < SUMS; i++)
    sums[i] = 0;
  int block = get_local_id(0) % lanes;
  for (int first = 0; first < k; first += PANEL) {
    const int count = min(k - first, PANEL), end = (first + count) / 32;
    lane_weights w[SETS * ROWS];
    if (block < end) // the first weights are on their way while the activations are rounded
#pragma unroll
      for (int i = 0; i < SETS * ROWS; i++)
        w[i] = load_lane(quants[i / ROWS], scales[i / ROWS], ROW(i), stride, block);
    sums[SUMS - 1] += round_panel(x, gain, norm, first, count, TEAM_MEMORY_NAMES);
    barrier(CLK_LOCAL_MEM_FENCE);
    while (block < end) {
      const int at = block - first / 32;
      const short4 e = eights[at];
      const block_activations a = {rounded[at], rounded[PANEL / 32 + at], e.x + e.y, e.z + e.w, steps[at / (BLOCK / 32)]};
#pragma unroll
      for (int i = 0; i < SETS * ROWS; i++)
        sums[i] += block_product(w[i], a);
      block += lanes;
      if (block < end)
#pragma unroll
        for (int i = 0; i < SETS * ROWS; i++)
          w[i] = load_lane(quants[i / ROWS], scales[i / ROWS], ROW(i), stride, block);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  add_lanes(sums, part, lanes);
}

// norm_factor returns 1/r, of the squares that all teams have together.
static inline float norm_factor(__local const float *part, int lanes, int team, int k, float eps) {
  float squares = 0;
  for (int t = 0; t < GROUP / lanes; t++)
    squares += TOTAL(part, t, SUMS - 1);
  return 1.0f / sqrt(squares / k + eps);
}
