// MATRIX_… names the device's way to multiply matrices of bytes, which the host has tried: neighbouring work-items hold pieces of the matrices in
// common, and multiply them together. What a way defines is all that products know of it:
//
//   MATRIX_LANES            work-items that multiply together; a group's first so many are the first of them, and so on
//   MATRIX_M, MATRIX_N      rows of a piece of a, and of a piece of b
//   MATRIX_SUMS             sums of a piece [MATRIX_M, MATRIX_N] that a lane has
//   a_piece, b_pair         a lane's part of a piece of MATRIX_M rows of a block of 32 bytes, and of two pieces of MATRIX_N rows
//   CHUNK(row, block, half) where local memory has half a block of a row, of rows of STEP blocks: a number of pieces of 16 bytes
//   load_a, load_b          load a piece, or a pair, from there
//   MULTIPLY                the products of two pieces, `of` being 0 or 1 for one of the pair, added to a number
//   MULTIPLY_HALF           the same of the first or the second halves of their rows
//   SUM_ROW, SUM_COLUMN     of which rows of the pieces of a and b a lane's sum i is

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

// Eight rows' chunks lie in different banks, whichever half of whichever block is loaded.
#define CHUNK(row, block, half) ((row) * (2 * STEP) + ((2 * (block) + (half)) ^ ((row) & (2 * STEP - 1) & 7)))

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
#define load_a(rows, row, block, lane) load_matrices((rows) + CHUNK((row) + (lane) % 16, block, (lane) / 16))
#define load_b(rows, row, block, lane) load_matrices((rows) + CHUNK((row) + (lane) % 8 + (lane) / 16 * 8, block, (lane) / 8 % 2))

#define MULTIPLY(sums, a, b, of, begin)                                                                                                    \
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};"                \
      : "=r"(sums[0]), "=r"(sums[1]), "=r"(sums[2]), "=r"(sums[3])                                                                         \
      : "r"(a.words[0]), "r"(a.words[1]), "r"(a.words[2]), "r"(a.words[3]), "r"(b.words[2 * (of)]), "r"(b.words[2 * (of) + 1]), "r"(begin))
#define MULTIPLY_HALF(sums, a, b, of, upper, begin)                                                                                        \
  asm("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %7, %7, %7};"                                \
      : "=r"(sums[0]), "=r"(sums[1]), "=r"(sums[2]), "=r"(sums[3])                                                                         \
      : "r"(a.words[2 * (upper)]), "r"(a.words[2 * (upper) + 1]), "r"(b.words[2 * (of) + (upper)]), "r"(begin))
#endif
