// MATRIX_… names the device's way to multiply matrices of bytes, which the host has tried: neighbouring work-items hold pieces of the matrices in
// common, and multiply them together. What a way defines is all that products know of it:
//
//   MATRIX_LANES            work-items that multiply together; a group's first so many are the first of them, and so on
//   MATRIX_M, MATRIX_N      rows of a piece of a, and of a piece of b
//   MATRIX_SUMS             sums of a piece [MATRIX_M, MATRIX_N] that a lane has
//   a_piece, b_pair         a lane's part of a piece of MATRIX_M rows of a block of 32 bytes, and of two pieces of MATRIX_N rows
//   load_a, load_b          load a piece, or a pair, from rows of local memory that have a number of chunks: CHUNK says where
//   MULTIPLY                the products of two pieces, `of` being 0 or 1 for one of the pair, added to a number
//   MULTIPLY_HALF           the same of the first or the second halves of their rows
//   halves_of, a_halves     a word of two short integers, or a piece of them, as MULTIPLY_HALVES takes it
//   MULTIPLY_HALVES         floats: the products of pieces with rows of 16 halves; exact for integers with sums below 2^24
//   SUM_ROW, SUM_COLUMN     of which rows of the pieces of a and b a lane's sum i is
//   SEND, SEND4             copy 16 or 4 bytes to local memory, where they are after SENT and a barrier

// CHUNK is where local memory has a piece of 16 bytes of a row with a number of them, a power of two. Eight rows' pieces lie in different banks,
// whichever piece is loaded of all of them.
#define CHUNK(chunks, row, piece) ((row) * (chunks) + ((piece) ^ ((row) * ((chunks) < 8 ? (chunks) : 8) / 8 & ((chunks)-1) & 7)))

#if defined(MATRIX_NV)
// Instructions of a warp, from compute capability 8.0 on.

#define MATRIX_LANES 32
#define MATRIX_M 16
#define MATRIX_N 8
#define MATRIX_SUMS 4
#define SUM_ROW(lane, i) ((lane) / 4 + (i) / 2 * 8)
#define SUM_COLUMN(lane, i) ((lane) % 4 * 2 + (i) % 2)

typedef struct {
  uint words[4];
} a_piece, b_pair;

// load_matrices loads four matrices of eight rows of 16 bytes; a lane says where a row is, and gets a word of each matrix.
INLINED a_piece load_matrices(const __local uint4 *row) {
  a_piece x;
  uint x0, x1, x2, x3;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(x0), "=r"(x1), "=r"(x2), "=r"(x3)
               : "r"((uint)(size_t)row)
               : "memory");
  x.words[0] = x0;
  x.words[1] = x1;
  x.words[2] = x2;
  x.words[3] = x3;
  return x;
}

// Of a the first halves of rows 0 to 7 and 8 to 15, and then the second ones; of b both halves of rows 0 to 7, and then those of 8 to 15.
#define load_a(rows, chunks, row, block, lane) load_matrices((rows) + CHUNK(chunks, (row) + (lane) % 16, 2 * (block) + (lane) / 16))
#define load_b(rows, chunks, row, block, lane)                                                                                             \
  load_matrices((rows) + CHUNK(chunks, (row) + (lane) % 8 + (lane) / 16 * 8, 2 * (block) + (lane) / 8 % 2))

#define MULTIPLY(sums, a, b, of, begin)                                                                                                    \
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};"                \
      : "=r"(sums[0]), "=r"(sums[1]), "=r"(sums[2]), "=r"(sums[3])                                                                         \
      : "r"(a.words[0]), "r"(a.words[1]), "r"(a.words[2]), "r"(a.words[3]), "r"(b.words[2 * (of)]), "r"(b.words[2 * (of) + 1]), "r"(begin))
#define MULTIPLY_HALF(sums, a, b, of, upper, begin)                                                                                        \
  asm("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %7, %7, %7};"                                \
      : "=r"(sums[0]), "=r"(sums[1]), "=r"(sums[2]), "=r"(sums[3])                                                                         \
      : "r"(a.words[2 * (upper)]), "r"(a.words[2 * (upper) + 1]), "r"(b.words[2 * (of) + (upper)]), "r"(begin))

static inline uint halves_of(uint shorts) {
  uint halves;
  asm("{ .reg .b16 x, y; mov.b32 {x, y}, %1; cvt.rn.f16.s16 x, x; cvt.rn.f16.s16 y, y; mov.b32 %0, {x, y}; }" : "=r"(halves) : "r"(shorts));
  return halves;
}

static inline a_piece a_halves(a_piece x) {
#pragma unroll
  for (int i = 0; i < 4; i++)
    x.words[i] = halves_of(x.words[i]);
  return x;
}

#define MULTIPLY_HALVES(sums, a, b, of)                                                                                                    \
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};"              \
      : "=f"(sums[0]), "=f"(sums[1]), "=f"(sums[2]), "=f"(sums[3])                                                                         \
      : "r"(a.words[0]), "r"(a.words[1]), "r"(a.words[2]), "r"(a.words[3]), "r"(b.words[2 * (of)]), "r"(b.words[2 * (of) + 1]), "f"(0.0f))

#define SEND(to, from) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" : : "r"((uint)(size_t)(to)), "l"(from) : "memory")
#define SEND4(to, from) asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" : : "r"((uint)(size_t)(to)), "l"(from) : "memory")
#define SENT() asm volatile("cp.async.wait_all;" : : : "memory")
#endif

#if defined(MATRIX_PLAIN)
// No instructions: each work-item multiplies small pieces alone, so that processors can test what is around them.

#define MATRIX_LANES 1
#define MATRIX_M 2
#define MATRIX_N 2
#define MATRIX_SUMS 4
#define SUM_ROW(lane, i) ((i) / 2)
#define SUM_COLUMN(lane, i) ((i) % 2)

typedef struct {
  uint words[2][8]; // of rows
} a_piece;

typedef struct {
  uint words[4][8];
} b_pair;

#define DEFINE_LOAD(name, piece, count)                                                                                                    \
  INLINED piece name(const __local uint4 *rows, int chunks, int row, int block, int lane) {                                                \
    piece x;                                                                                                                               \
    for (int r = 0; r < count; r++)                                                                                                        \
      for (int half_row = 0; half_row < 2; half_row++)                                                                                     \
        vstore4(rows[CHUNK(chunks, row + r, 2 * block + half_row)], half_row, x.words[r]);                                                 \
    return x;                                                                                                                              \
  }
DEFINE_LOAD(load_a, a_piece, 2)
DEFINE_LOAD(load_b, b_pair, 4)

static inline int byte_product(uint a, uint b) {
  return (char)a * (char)b + (char)(a >> 8) * (char)(b >> 8) + (char)(a >> 16) * (char)(b >> 16) + (char)(a >> 24) * (char)(b >> 24);
}
static inline int short_product(uint a, uint b) { return (short)a * (short)b + (short)(a >> 16) * (short)(b >> 16); }

#define PRODUCTS(sums, a, b, of, product, from, to, begin)                                                                                 \
  for (int s_ = 0; s_ < MATRIX_SUMS; s_++) {                                                                                               \
    int sum_ = begin;                                                                                                                      \
    for (int w_ = from; w_ < to; w_++)                                                                                                     \
      sum_ += product(a.words[s_ / 2][w_], b.words[2 * (of) + s_ % 2][w_]);                                                                \
    sums[s_] = sum_;                                                                                                                       \
  }
#define MULTIPLY(sums, a, b, of, begin) PRODUCTS(sums, a, b, of, byte_product, 0, 8, begin)
#define MULTIPLY_HALF(sums, a, b, of, upper, begin) PRODUCTS(sums, a, b, of, byte_product, 4 * (upper), 4 * (upper) + 4, begin)
#define MULTIPLY_HALVES(sums, a, b, of) PRODUCTS(sums, a, b, of, short_product, 0, 8, 0)
#define halves_of(shorts) (shorts)
#define a_halves(x) (x)

#define SEND(to, from) (*(to) = *(from))
#define SEND4(to, from) (*(__local uint *)(to) = *(__global const uint *)(from))
#define SENT()
#endif
