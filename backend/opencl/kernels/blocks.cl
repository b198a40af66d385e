// Weights in blocks, as lanes load them. As on the CPU, the products of a block are sums of integers, the activations being
// rounded to eight bits; formats.cl describes the layout, FORMAT names the format.

// How rows of the format are laid out.
#define ROW_PIECES OF_FORMAT(PIECES_, FORMAT)
#define ROW_SCALES OF_FORMAT(SCALES_, FORMAT)

// The functions of this file and of block_terms.cl have the format's name behind theirs, since a program may have those of two formats.
#define weight_scale OF_FORMAT(weight_scale_, FORMAT)
#define weight_minimum OF_FORMAT(weight_minimum_, FORMAT)
#define load_lane OF_FORMAT(load_lane_, FORMAT)

// weight_scale and weight_minimum return the numbers of a block.
#if FORMAT_IS(mxfp4)
static inline float weight_scale(const lane_weights w) { return upper_half(w.scale); }
#else
static inline float weight_scale(const lane_weights w) { return stored_half(w.scale); }
#endif
#if defined(MINIMUMS)
static inline float weight_minimum(const lane_weights w) { return stored_half(w.minimum); }
#endif

static inline lane_weights load_lane(__global const uint4 *quants, __global const ushort *scales, size_t row, int blocks, int block) {
  lane_weights w;
  quants += row * ROW_PIECES(blocks);
  scales += row * ROW_SCALES(blocks);
  w.quants = quants[block];
#if FORMAT_IS(q8_0)
  w.more = quants[blocks + block];
#elif FORMAT_IS(q5_k)
  w.high.x = ((__global const uint *)(quants + blocks))[block];
#elif defined(FIFTHS)
  w.high.x = (uint)scales[FIFTHS * blocks + 2 * block] | (uint)scales[FIFTHS * blocks + 2 * block + 1] << 16;
#elif FORMAT_IS(q6_k)
  w.high = ((__global const uint2 *)(quants + blocks))[block];
#endif
#if BLOCK == 256
  w.scales = scales[block];
  scales += blocks;
  block /= 8;
#endif
#if defined(MINIMUMS)
  const ushort2 pair = ((__global const ushort2 *)scales)[block];
  w.scale = pair.x;
  w.minimum = pair.y;
#else
  w.scale = scales[block];
#endif
  return w;
}

// LOWER and UPPER return the quants of four elements of a block's first and second half; i is a component, n its number.
#define LOWER_BITS 0x0F0F0F0Fu
#if FORMAT_IS(q8_0)
#define LOWER(w, i, n) w.quants.i
#define UPPER(w, i, n) w.more.i
#elif defined(FIFTHS)
#define LOWER(w, i, n) ((w.quants.i & LOWER_BITS) | (w.high.x >> n & 0x01010101u) << 4)
#define UPPER(w, i, n) ((w.quants.i >> 4 & LOWER_BITS) | (w.high.x >> (4 + n) & 0x01010101u) << 4)
#elif FORMAT_IS(q6_k)
#define LOWER(w, i, n) ((w.quants.i & LOWER_BITS) | (w.high.x >> 2 * n & 0x03030303u) << 4)
#define UPPER(w, i, n) ((w.quants.i >> 4 & LOWER_BITS) | (w.high.y >> 2 * n & 0x03030303u) << 4)
#elif defined(NONLINEAR)
#define LOWER(w, i, n) NONLINEAR(w.quants.i)
#define UPPER(w, i, n) NONLINEAR(w.quants.i >> 4)
#else
#define LOWER(w, i, n) (w.quants.i & LOWER_BITS)
#define UPPER(w, i, n) (w.quants.i >> 4 & LOWER_BITS)
#endif
#define DOT_HALF(HALF, of, v, c)                                                                                     \
  DOT(HALF(of, x, 0), v.x, DOT(HALF(of, y, 1), v.y, DOT(HALF(of, z, 2), v.z, DOT(HALF(of, w, 3), v.w, c))))
