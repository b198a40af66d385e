// Numbers as they are stored: rows as files and caches have them, and the split layout of weights.
//
// A split row is its quants, in pieces of 16 bytes, and its scales, in an array of their own, so that neighbouring lanes load
// neighbouring pieces of neighbouring blocks of 32. PIECES_… and SCALES_… are how many a row of blocks has, of 16 bytes and of 2.
//
//   quants  all but q8_0: a piece a block, of which byte i has element i in its lower four bits and 16+i in its upper ones (of q2_k and
//           q3_k, too, whose elements have fewer bits, so that all formats of 256 are read alike);
//           after those of the row, q5_k: 4 bytes a block, bit 8·e + g of them being the fifth of element 4·g + e;
//           q6_k: 8 bytes a block, bits 8·e + 2·g of the first four being the upper two of element 4·g + e, and those of the
//           last four of element 16 + 4·g + e
//           q8_0: the first halves of all blocks, then the second ones
//   scales  q4_0, q8_0: the block's scale; q4_1: its scale and its minimum
//           q4_k, q5_k: two bytes, a block's scale and minimum, and after those of the row d and dmin of every eight blocks
//           q6_k, q3_k, iq4_xs: two bytes, the scales of a block's halves, and after those of the row d of every eight blocks
//           q2_k: the same with d and dmin, a half's scale in the lower four bits of its byte and its minimum in the upper ones
//           q5_0, q5_1: as q4_0 and q4_1, and after those of the row the fifth bits, as q5_k's, in two numbers a block
//           iq4_nl: the block's scale; mxfp4: the same, as the upper half of a float
//
// Numbers are the bits of the file, so that nothing is rounded; mxfp4's exponents become powers of two. Quants and scales are in one buffer: SCALES_OF finds the latter, from
// a number of pieces on.

#if !defined(FORMAT_IS) // a program with weights of two formats has this file twice

// FORMAT_IS compares the format that comes next, FORMAT, with a name.
#define JOIN(a, b) a##b
#define OF_FORMAT(what, format) JOIN(what, format)
#define FORMAT_IS(name) (OF_FORMAT(NUMBER_, FORMAT) == NUMBER_##name)
#define NUMBER_q4_0 0
#define NUMBER_q4_1 1
#define NUMBER_q4_k 2
#define NUMBER_q5_k 3
#define NUMBER_q6_k 4
#define NUMBER_q8_0 5
#define NUMBER_q5_0 6
#define NUMBER_q5_1 7
#define NUMBER_iq4_nl 8
#define NUMBER_q2_k 9
#define NUMBER_q3_k 10
#define NUMBER_iq4_xs 11
#define NUMBER_mxfp4 12
#define NUMBER_f32 13
#define NUMBER_f16 14
#define NUMBER_bf16 15

#define SCALES_OF(quants, at) ((__global const ushort *)((quants) + (at)))

#define PIECES_q4_0(blocks) (blocks)
#define PIECES_q4_1(blocks) (blocks)
#define PIECES_q4_k(blocks) (blocks)
#define PIECES_q5_k(blocks) ((blocks) + (blocks) / 4)
#define PIECES_q6_k(blocks) ((blocks) + (blocks) / 2)
#define PIECES_q8_0(blocks) (2 * (blocks))
#define PIECES_q5_0(blocks) (blocks)
#define PIECES_q5_1(blocks) (blocks)
#define PIECES_iq4_nl(blocks) (blocks)
#define PIECES_q2_k(blocks) (blocks)
#define PIECES_q3_k(blocks) (blocks)
#define PIECES_iq4_xs(blocks) (blocks)
#define PIECES_mxfp4(blocks) (blocks)

#define SCALES_q4_0(blocks) (blocks)
#define SCALES_q4_1(blocks) (2 * (blocks))
#define SCALES_q4_k(blocks) ((blocks) + (blocks) / 4)
#define SCALES_q5_k(blocks) ((blocks) + (blocks) / 4)
#define SCALES_q6_k(blocks) ((blocks) + (blocks) / 8)
#define SCALES_q8_0(blocks) (blocks)
#define SCALES_q5_0(blocks) (3 * (blocks))
#define SCALES_q5_1(blocks) (4 * (blocks))
#define SCALES_iq4_nl(blocks) (blocks)
#define SCALES_q2_k(blocks) ((blocks) + (blocks) / 4)
#define SCALES_q3_k(blocks) ((blocks) + (blocks) / 8)
#define SCALES_iq4_xs(blocks) ((blocks) + (blocks) / 8)
#define SCALES_mxfp4(blocks) (blocks)

// nonlinear_of returns the values of four nibbles, one a byte, of iq4_nl and iq4_xs. They are bytes of two numbers instead of a table in memory.
static inline uint nonlinear_one(uint q) {
  const ulong values = q & 8 ? 0x7159453526190D01UL : 0xF6EADDCFBFAD9881UL;
  return (uint)(values >> (q & 7) * 8) & 255;
}
static inline uint nonlinear_of(uint q) {
  return nonlinear_one(q) | nonlinear_one(q >> 8) << 8 | nonlinear_one(q >> 16) << 16 | nonlinear_one(q >> 24) << 24;
}

// fp4_of is nonlinear_of for mxfp4.
static inline uint fp4_one(uint q) {
  const ulong values = q & 8 ? 0xF4F8FAFCFDFEFF00UL : 0x0C08060403020100UL;
  return (uint)(values >> (q & 7) * 8) & 255;
}
static inline uint fp4_of(uint q) { return fp4_one(q) | fp4_one(q >> 8) << 8 | fp4_one(q >> 16) << 16 | fp4_one(q >> 24) << 24; }

// upper_half returns the float of which a scale of mxfp4 is the upper half.
static inline float upper_half(ushort scale) { return as_float((uint)scale << 16); }

// element returns element i of a row of a file's or cache's layout, TYPE telling which.
static inline float f32_element(bytes row, int i) { return ((input)row)[i]; }
static inline float f16_element(bytes row, int i) { return half_at(row + 2 * (size_t)i); }
static inline float bf16_element(bytes row, int i) { return as_float((uint)((__global const ushort *)row)[i] << 16); }
static inline float q8_0_element(bytes row, int i) {
  bytes block = row + (size_t)(i / 32) * 34;
  return half_at(block) * (char)block[2 + i % 32] + 0.0f;
}
static inline float q4_0_element(bytes row, int i) {
  bytes block = row + (size_t)(i / 32) * 18;
  const int nibble = block[2 + i % 16] >> (i % 32 / 16 * 4) & 15;
  return half_at(block) * (nibble - 8) + 0.0f;
}

// lane_weights is what a lane loads of a row: a block of 32, laid out as above. Compilers drop what a format does not have.
typedef struct {
  uint4 quants, more; // more: of q8_0
  uint2 high;         // the upper bits of quants; the second number is q6_k's
  uint scales;        // of blocks of 256
  ushort scale;       // as it is stored: a load does not wait for another one to be converted
  ushort minimum;
} lane_weights;

static inline float stored_half(ushort bits) { return vload_half(0, (const half *)&bits); }

// block_activations is a block of 32 activations: its halves' quants and their sums.
typedef struct {
  uint4 lower, upper;
  int lower_sum, upper_sum;
  float step;
} block_activations;

#endif

#if defined(FORMAT)

// What the products of blocks need to know of a format, FORMAT.
// HALVES says that the halves of a block of 32 have scales of their own, MINIMUMS that there are minimums, FIFTHS that quants have five bits,
// and how many numbers lie before the fifth bits where they are behind the scales; NONLINEAR that quants are looked up, and how.
#if FORMAT_IS(q6_k) || FORMAT_IS(q2_k) || FORMAT_IS(q3_k) || FORMAT_IS(iq4_xs)
#define HALVES
#endif
#if FORMAT_IS(q4_1) || FORMAT_IS(q5_1) || FORMAT_IS(q4_k) || FORMAT_IS(q5_k) || FORMAT_IS(q2_k)
#define MINIMUMS
#endif
#if FORMAT_IS(q5_k)
#define FIFTHS 0
#elif FORMAT_IS(q5_0)
#define FIFTHS 1
#elif FORMAT_IS(q5_1)
#define FIFTHS 2
#endif
#if FORMAT_IS(iq4_nl) || FORMAT_IS(iq4_xs)
#define NONLINEAR nonlinear_of
#elif FORMAT_IS(mxfp4)
#define NONLINEAR fp4_of
#endif

// BLOCK is how many elements of weights have a float in common, and how many activations a step.
#if FORMAT_IS(q4_k) || FORMAT_IS(q5_k) || defined(HALVES)
#define BLOCK 256
#else
#define BLOCK 32
#endif

// ZERO is the quant that stands for 0.
#if FORMAT_IS(q4_0)
#define ZERO 8
#elif FORMAT_IS(q6_k)
#define ZERO 32
#elif FORMAT_IS(q5_0)
#define ZERO 16
#elif FORMAT_IS(q3_k)
#define ZERO 4
#else
#define ZERO 0
#endif

// SCALE_OF and MINIMUM_OF return those of a half of a block, 0 or 1, of the bytes that both halves have.
#if FORMAT_IS(q2_k)
#define SCALE_OF(scales, side) ((int)((scales) >> 8 * (side) & 15))
#define MINIMUM_OF(scales, side) ((int)((scales) >> (8 * (side) + 4) & 15))
#elif defined(HALVES)
#define SCALE_OF(scales, side) ((int)(char)((scales) >> 8 * (side)))
#endif

#endif
