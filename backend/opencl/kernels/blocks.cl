// Weights in blocks, as lanes load them. As on the CPU, the products of a block are sums of integers, the activations being
// rounded to eight bits; formats.cl describes the layout, FORMAT and FORMAT_… name the format.

// How rows of the format are laid out.
#define JOIN(a, b) a##b
#define OF_FORMAT(what, format) JOIN(what, format)
#define ROW_PIECES OF_FORMAT(PIECES_, FORMAT)
#define ROW_SCALES OF_FORMAT(SCALES_, FORMAT)

// lane_weights is what a lane loads of a row: a block of 32, laid out as formats.cl says.
typedef struct {
  uint4 quants;
#if defined(FORMAT_q8_0)
  uint4 more;
#elif defined(FIFTHS)
  uint high;
#elif defined(FORMAT_q6_k)
  uint2 high;
#endif
#if BLOCK == 256
  uint scales;
#endif
  ushort scale; // as it is stored: a load does not wait for another one to be converted
#if defined(MINIMUMS)
  ushort minimum;
#endif
} lane_weights;

// weight_scale and weight_minimum return the numbers of a block.
static inline float stored_half(ushort bits) { return vload_half(0, (const half *)&bits); }
#if defined(FORMAT_mxfp4)
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
#if defined(FORMAT_q8_0)
  w.more = quants[blocks + block];
#elif defined(FORMAT_q5_k)
  w.high = ((__global const uint *)(quants + blocks))[block];
#elif defined(FIFTHS)
  w.high = (uint)scales[FIFTHS * blocks + 2 * block] | (uint)scales[FIFTHS * blocks + 2 * block + 1] << 16;
#elif defined(FORMAT_q6_k)
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
#if defined(FORMAT_q8_0)
#define LOWER(w, i, n) w.quants.i
#define UPPER(w, i, n) w.more.i
#elif defined(FIFTHS)
#define LOWER(w, i, n) ((w.quants.i & LOWER_BITS) | (w.high >> n & 0x01010101u) << 4)
#define UPPER(w, i, n) ((w.quants.i >> 4 & LOWER_BITS) | (w.high >> (4 + n) & 0x01010101u) << 4)
#elif defined(FORMAT_q6_k)
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
