// gemm_matrix computes out [m, n] = a [m, k] · w [n, k]ᵀ, or adds it to out, for rounded activations and weights in blocks, by the device's
// instructions for matrices (matrix.cl): the products of many rows, with the bits of gemm_blocks.
//
// A group computes a tile of the output, M_TEAMS × N_TEAMS teams of MATRIX_LANES work-items M_PIECES × N_PIECES pieces of it each. It takes
// STEP blocks of 32 columns of all its rows at a time from local memory, weights as bytes. Local memory has two places for these: while a group
// multiplies those in one, the next ones are sent to the other, and the weights after these are on their way to registers, since they become bytes.
// So there is one barrier for STEP blocks. Each result adds its blocks in order, as on the CPU.
//
// Blocks of 256 take STEP ≤ 4. Products of their blocks of 32 are integers, which are added up times their scales. The sums of activations times
// the minimums are matrices, too, of halves with 16 columns for 256, and exact: below 2^21.
//
// WHOLE says that k is a multiple of STEP blocks.
//
// With SETS = 2 there are two weights, and out is silu(a·w0ᵀ)·(a·w1ᵀ): a team's first half of pieces of weights are of the former, the
// second of the latter.

#define TILE_M (MATRIX_M * M_PIECES * M_TEAMS)
#define TILE_ROWS TILE_M
#define TILE_N (MATRIX_N * N_PIECES * N_TEAMS)
#define CHUNKS (2 * STEP)              // pieces of 16 bytes of a row in local memory
#define LOADS(count) (((count) + GROUP - 1) / GROUP) // of a work-item, of a number of things
#define TEAM_N (MATRIX_N * N_PIECES)   // rows of weights of a team
#define COLUMNS (TILE_N / SETS)        // of the output
#define APART 8                        // numbers between those of two blocks in local memory, for banks
#define ROW_OF_A(i) A_ROW(min(ROW0 + (i), max(m, 1) - 1)) // rows past the end repeat the last one, and what becomes of them is not stored

// The instruction begins with INTEGER_BITS, whose float is MAGIC: what it leaves for a sum p are the bits of the float MAGIC + p, exactly,
// as |p| is at most 32·128·128, and a subtraction converts it.
#define INTEGER_BITS 0x4B400000
#define MAGIC 12582912.0f

// CENTRED are a word's quants less ZERO, as signed bytes: no byte carries over to the next.
#if ZERO
#define CENTRED(x) (((x) + (0x80 - ZERO) * 0x01010101u) ^ 0x80808080u)
#else
#define CENTRED(x) (x)
#endif
#define WORDS(HALF, of) (uint4)(CENTRED(HALF(of, x, 0)), CENTRED(HALF(of, y, 1)), CENTRED(HALF(of, z, 2)), CENTRED(HALF(of, w, 3)))

// scale_type is what a row of weights has in local memory for a block of 32.
#if BLOCK == 256
#define GROUPS_OF_BLOCK 8 // of 32
#if defined(HALVES)
typedef ushort scale_type; // those of halves, and their minimums
#else
typedef int scale_type;
#endif
#else
#define GROUPS_OF_BLOCK 1
#if defined(MINIMUMS)
typedef float2 scale_type; // scale and minimum
#else
typedef float scale_type;
#endif
#endif

// EACH is a loop over those of a number of things that are this work-item's: number i, the j-th of its own. It is unrolled.
#define EACH(count) for (int j = 0, i = id; j < LOADS(count); j++, i += GROUP) if ((count) % GROUP == 0 || i < (count))

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
gemm_matrix(__global const uint4 *a, __global const float *steps, int steps_at, __global const short *sums, int sums_at,
            __global const uint4 *quants0, int scales0_at, int first0,
#if SETS == 2
            __global const uint4 *quants1, int scales1_at, int first1,
#endif
            int stride, output out, int out_at, int m, int n, int k, int width, int accumulate GROUPED_ARGUMENTS) {
  __local uint4 a_rows[2][TILE_M * CHUNKS], w_rows[2][TILE_N * CHUNKS];
  __local scale_type w_scales[2][STEP][TILE_N + APART];
#if BLOCK == 256
  __local float a_steps[TILE_M];
  __local ushort2 w_factors[TILE_N]; // scale and minimum of eight blocks, as they are stored
#if defined(MINIMUMS)
  __local uint4 a_sums[TILE_M * 2], w_minimums[2][TILE_N * 2]; // for 16 columns: of activations shorts, of weights halves
#endif
#else
  __local float a_steps[2][STEP][TILE_M + APART];
#if defined(MINIMUMS)
  __local short2 a_sums[2][STEP][TILE_M + APART]; // of the halves of a block
#endif
#endif
  FIND_TILE;
  first0 += WEIGHTS_BEFORE(n);
  const int id = get_local_id(0), lane = id % MATRIX_LANES, team = id / MATRIX_LANES, blocks = BLOCKS_OF(k);
  const int row0 = ROW0, column0 = get_group_id(0) * COLUMNS;
  const int team_row = team / N_TEAMS * (MATRIX_M * M_PIECES), team_column = team % N_TEAMS * TEAM_N;
  float results[M_PIECES][N_PIECES][MATRIX_SUMS];
#if BLOCK == 256
  int totals[M_PIECES][N_PIECES][MATRIX_SUMS]; // of a block of 256, so far
#endif
#pragma unroll
  for (int i = 0; i < M_PIECES; i++)
#pragma unroll
    for (int j = 0; j < N_PIECES; j++)
#pragma unroll
      for (int s = 0; s < MATRIX_SUMS; s++) {
        results[i][j][s] = 0;
#if BLOCK == 256
        totals[i][j][s] = 0;
#endif
      }

  // Where this work-item's rows begin.
  int a_at[LOADS(TILE_M * CHUNKS)];
#pragma unroll
  EACH(TILE_M * CHUNKS)
    a_at[j] = ROW_OF_A(i / CHUNKS) * (k / 16) + i % 2;
  __global const uint4 *w_quants[LOADS(TILE_N * STEP)];
  __global const ushort *w_stored[LOADS(TILE_N * STEP)];
  lane_weights next[LOADS(TILE_N * STEP)];
#pragma unroll
  EACH(TILE_N * STEP) {
    const int row = i / STEP;
#if SETS == 2
    const int second = row % TEAM_N / (TEAM_N / 2), column = row / TEAM_N * (TEAM_N / 2) + row % (TEAM_N / 2);
    __global const uint4 *quants = second ? quants1 : quants0;
    const int scales_at = second ? scales1_at : scales0_at, first = second ? first1 : first0;
#else
    const int column = row;
    __global const uint4 *quants = quants0;
    const int scales_at = scales0_at, first = first0;
#endif
    const size_t at = first + min(column0 + column, n - 1);
    w_quants[j] = quants + at * ROW_PIECES(stride);
    w_stored[j] = SCALES_OF(quants, scales_at) + at * ROW_SCALES(stride);
  }
#if BLOCK == 256
  int step_at[LOADS(TILE_M)];
#pragma unroll
  EACH(TILE_M)
    step_at[j] = steps_at + ROW_OF_A(i) * (k / 256);
#if defined(MINIMUMS)
  int sum_at[LOADS(TILE_M * 2)];
#pragma unroll
  EACH(TILE_M * 2)
    sum_at[j] = sums_at + ROW_OF_A(i / 2) * (k / 16) + i % 2 * 8;
#endif
#else
  int step_at[LOADS(TILE_M * STEP)];
#pragma unroll
  EACH(TILE_M * STEP)
    step_at[j] = ROW_OF_A(i / STEP) * (k / 32);
#endif

#if defined(WHOLE)
#define BLOCK_AT(i) (i)
#else
#define BLOCK_AT(i) min(i, blocks - 1)
#endif
  for (int begin = -2 * STEP, side = 0; begin < blocks; begin += STEP, side = 1 - side) {
    SENT();
    barrier(CLK_LOCAL_MEM_FENCE);
    const int after = begin + STEP; // these blocks are sent, and put down, to the other side
    if (after >= 0 && after < blocks) {
#pragma unroll
      EACH(TILE_M * CHUNKS)
        SEND(&a_rows[1 - side][CHUNK(CHUNKS, i / CHUNKS, i % CHUNKS)], a + a_at[j] + 2 * BLOCK_AT(after + i % CHUNKS / 2));
#if BLOCK == 32
#pragma unroll
      EACH(TILE_M * STEP) {
        const int of = BLOCK_AT(after + i % STEP);
        SEND4(&a_steps[1 - side][i % STEP][i / STEP], steps + steps_at + step_at[j] + of);
#if defined(MINIMUMS)
        SEND4(&a_sums[1 - side][i % STEP][i / STEP], sums + sums_at + 2 * (step_at[j] + of));
#endif
      }
#endif
#pragma unroll
      EACH(TILE_N * STEP) {
        const int row = i / STEP, of = i % STEP;
        const lane_weights block = next[j];
        w_rows[1 - side][CHUNK(CHUNKS, row, 2 * of)] = WORDS(LOWER, block);
        w_rows[1 - side][CHUNK(CHUNKS, row, 2 * of + 1)] = WORDS(UPPER, block);
#if BLOCK == 256
#if defined(HALVES)
        w_scales[1 - side][of][row] = block.scales;
#else
        w_scales[1 - side][of][row] = block.scales & 255;
#endif
        if (after % 8 == STEP && of == 0)
          w_factors[row] = (ushort2)(block.scale, block.minimum);
#if defined(MINIMUMS)
        const int at = after % 8 + of; // number of the block of 32
#if defined(HALVES)
        const uint pair = MINIMUM_OF(block.scales, 0) | MINIMUM_OF(block.scales, 1) << 16;
#else
        const uint pair = (block.scales >> 8) * 0x10001;
#endif
        ((__local uint *)w_minimums[after / 8 % 2])[4 * CHUNK(2, row, at / 4) + at % 4] = halves_of(pair);
#endif
#elif defined(MINIMUMS)
        w_scales[1 - side][of][row] = (float2)(weight_scale(block), weight_minimum(block));
#else
        w_scales[1 - side][of][row] = weight_scale(block);
#endif
      }
    }
    if (after + STEP < blocks) {
#pragma unroll
      EACH(TILE_N * STEP)
        next[j] = load_lane(w_quants[j], w_stored[j], 0, stride, BLOCK_AT(after + STEP + i % STEP));
    }
    if (begin < 0)
      continue;
#if BLOCK == 256
    if (begin % 8 == 0) { // what this block of 256 needs at its end; nobody needs that of the one before any more
#pragma unroll
      EACH(TILE_M)
        SEND4(&a_steps[i], steps + step_at[j] + begin / 8);
#if defined(MINIMUMS)
#pragma unroll
      EACH(TILE_M * 2)
        SEND(&a_sums[CHUNK(2, i / 2, i % 2)], (__global const uint4 *)(sums + sum_at[j] + begin * 2));
#endif
    }
#endif
#pragma unroll
    for (int of = 0; of < STEP; of++) {
#if !defined(WHOLE)
      if (begin + of >= blocks)
        break;
#endif
      a_piece pieces[M_PIECES];
#pragma unroll
      for (int i = 0; i < M_PIECES; i++)
        pieces[i] = load_a(a_rows[side], CHUNKS, team_row + i * MATRIX_M, of, lane);
#if BLOCK == 32
      float row_steps[M_PIECES][MATRIX_SUMS];
#pragma unroll
      for (int i = 0; i < M_PIECES; i++)
#pragma unroll
        for (int s = 0; s < MATRIX_SUMS; s++)
          row_steps[i][s] = a_steps[side][of][team_row + i * MATRIX_M + SUM_ROW(lane, s)];
#if defined(MINIMUMS)
      float row_sums[M_PIECES][MATRIX_SUMS];
#pragma unroll
      for (int i = 0; i < M_PIECES; i++)
#pragma unroll
        for (int s = 0; s < MATRIX_SUMS; s++) {
          const short2 both = a_sums[side][of][team_row + i * MATRIX_M + SUM_ROW(lane, s)];
          row_sums[i][s] = both.x + both.y;
        }
#endif
#endif
#pragma unroll
      for (int pair = 0; pair < N_PIECES / 2; pair++) {
        const b_pair weights = load_b(w_rows[side], CHUNKS, team_column + pair * 2 * MATRIX_N, of, lane);
#pragma unroll
        for (int j = 2 * pair; j < 2 * pair + 2; j++) {
          scale_type scales[MATRIX_SUMS];
#pragma unroll
          for (int s = 0; s < MATRIX_SUMS; s++)
            scales[s] = w_scales[side][of][team_column + j * MATRIX_N + SUM_COLUMN(lane, s)];
#pragma unroll
          for (int i = 0; i < M_PIECES; i++) {
            int products[MATRIX_SUMS];
#if defined(HALVES)
            int upper[MATRIX_SUMS];
            MULTIPLY_HALF(products, pieces[i], weights, j % 2, 0, 0);
            MULTIPLY_HALF(upper, pieces[i], weights, j % 2, 1, 0);
#else
            MULTIPLY(products, pieces[i], weights, j % 2, BLOCK == 32 ? INTEGER_BITS : 0);
#endif
#pragma unroll
            for (int s = 0; s < MATRIX_SUMS; s++) {
#if BLOCK == 32
              const float product = as_float(products[s]) - MAGIC, step = row_steps[i][s];
              float *result = &results[i][j][s];
#if defined(MINIMUMS)
              *result = fma(scales[s].x * step, product, *result);
              *result = fma(scales[s].y * step, row_sums[i][s], *result);
#else
              *result = fma(scales[s] * step, product, *result);
#endif
#elif defined(HALVES)
              totals[i][j][s] += SCALE_OF(scales[s], 0) * products[s] + SCALE_OF(scales[s], 1) * upper[s];
#else
              totals[i][j][s] += scales[s] * products[s];
#endif
            }
          }
        }
      }
    }
#if BLOCK == 256
    if ((begin + STEP) % 8 != 0)
      continue;
    float row_steps[M_PIECES][MATRIX_SUMS];
#pragma unroll
    for (int i = 0; i < M_PIECES; i++)
#pragma unroll
      for (int s = 0; s < MATRIX_SUMS; s++)
        row_steps[i][s] = a_steps[team_row + i * MATRIX_M + SUM_ROW(lane, s)];
#if defined(MINIMUMS)
    a_piece row_sums[M_PIECES];
#pragma unroll
    for (int i = 0; i < M_PIECES; i++)
      row_sums[i] = a_halves(load_a(a_sums, 2, team_row + i * MATRIX_M, 0, lane));
    b_pair minimums;
#endif
#pragma unroll
    for (int j = 0; j < N_PIECES; j++) {
#if defined(MINIMUMS)
      if (j % 2 == 0)
        minimums = load_b(w_minimums[begin / 8 % 2], 2, team_column + j * MATRIX_N, 0, lane);
#endif
      float2 factors[MATRIX_SUMS];
#pragma unroll
      for (int s = 0; s < MATRIX_SUMS; s++) {
        const ushort2 bits = w_factors[team_column + j * MATRIX_N + SUM_COLUMN(lane, s)];
        factors[s] = (float2)(stored_half(bits.x), -stored_half(bits.y));
      }
#pragma unroll
      for (int i = 0; i < M_PIECES; i++) {
#if defined(MINIMUMS)
        float of_minimums[MATRIX_SUMS];
        MULTIPLY_HALVES(of_minimums, row_sums[i], minimums, j % 2);
#endif
#pragma unroll
        for (int s = 0; s < MATRIX_SUMS; s++) {
          const float step = row_steps[i][s];
          float *result = &results[i][j][s];
          *result = fma(factors[s].x * step, (float)totals[i][j][s], *result);
          totals[i][j][s] = 0;
#if defined(MINIMUMS)
          *result = fma(factors[s].y * step, of_minimums[s], *result);
#endif
        }
      }
    }
#endif
  }
#if SETS == 1
  if (accumulate) { // all loads are on their way before the first store
#pragma unroll
    for (int i = 0; i < M_PIECES; i++)
#pragma unroll
      for (int j = 0; j < N_PIECES; j++)
#pragma unroll
        for (int s = 0; s < MATRIX_SUMS; s++) {
          const int row = min(row0 + team_row + i * MATRIX_M + SUM_ROW(lane, s), m - 1);
          const int column = min(column0 + team_column + j * MATRIX_N + SUM_COLUMN(lane, s), n - 1);
          results[i][j][s] += out[out_at + (size_t)OUT_ROW(row) * width + column];
        }
  }
#endif
#pragma unroll
  for (int i = 0; i < M_PIECES; i++)
#pragma unroll
    for (int j = 0; j < N_PIECES / SETS; j++)
#pragma unroll
      for (int s = 0; s < MATRIX_SUMS; s++) {
        const int row = row0 + team_row + i * MATRIX_M + SUM_ROW(lane, s);
        const int column = column0 + team_column / SETS + j * MATRIX_N + SUM_COLUMN(lane, s);
        if (row >= m || column >= n)
          continue;
        output to = out + out_at + (size_t)OUT_ROW(row) * width + column;
#if SETS == 2
        *to = exact_silu(results[i][j][s]) * results[i][j + N_PIECES / 2][s];
#else
        *to = RESULT(results[i][j][s]);
#endif
      }
}
