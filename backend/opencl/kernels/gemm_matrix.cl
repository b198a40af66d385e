// gemm_matrix computes out [m, n] = a [m, k] · w [n, k]ᵀ, or adds it to out, for rounded activations and weights in blocks, by the device's
// instructions for matrices (matrix.cl): the products of many rows, with the bits of gemm_blocks.
//
// A group computes a tile of the output, M_TEAMS × N_TEAMS teams of MATRIX_LANES work-items M_PIECES × N_PIECES pieces of it each. It takes
// STEP blocks of 32 columns of all its rows at a time from local memory, weights as bytes; the next ones are on their way to registers
// meanwhile. Each result adds its blocks in order, as on the CPU.
//
// WHOLE says that k is a multiple of STEP blocks: the loop over them is then unrolled.
//
// With SETS = 2 there are two weights, and out is silu(a·w0ᵀ)·(a·w1ᵀ): a team's first half of pieces of weights are of the former, the
// second of the latter.

#define TILE_M (MATRIX_M * M_PIECES * M_TEAMS)
#define TILE_ROWS TILE_M
#define TILE_N (MATRIX_N * N_PIECES * N_TEAMS)
#define A_LOADS ((TILE_M * STEP * 2 + GROUP - 1) / GROUP) // halves of blocks of a that a work-item loads
#define W_LOADS ((TILE_N * STEP + GROUP - 1) / GROUP)     // blocks of w
#define TEAM_N (MATRIX_N * N_PIECES)                      // rows of weights of a team
#define COLUMNS (TILE_N / SETS)                           // of the output
#define APART 8                                           // numbers between those of two blocks in local memory, for banks

#if defined(GROUPED)
#define A_OF(i) a_of[i]
#else
#define A_OF(i) min(row0 + (i), m - 1)
#endif

// SIDES are how many places local memory has for STEP blocks: with two, the next ones are put down while others still compute.
#define SIDES ((TILE_M + TILE_N) * STEP * 2 * 40 <= 40 << 10 ? 2 : 1)

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
typedef ushort scale_type; // a scale and a minimum, or those of halves
#else
#define GROUPS_OF_BLOCK 1
#if defined(MINIMUMS)
typedef float2 scale_type; // scale and minimum
#else
typedef float scale_type;
#endif
#endif

// WEIGHTS_AT loads block number `block` of the tile's row number `row`.
#define BLOCK_OF(i, column) \
  load_lane(quants##i, SCALES_OF(quants##i, scales##i##_at), first##i + min(column0 + (column), n - 1), stride, block)
#if SETS == 2
#define WEIGHTS_AT(row, block)                                                                                                             \
  ((row) % TEAM_N < TEAM_N / 2 ? BLOCK_OF(0, (row) / TEAM_N * (TEAM_N / 2) + (row) % (TEAM_N / 2))                                         \
                               : BLOCK_OF(1, (row) / TEAM_N * (TEAM_N / 2) + (row) % (TEAM_N / 2)))
#else
#define WEIGHTS_AT(row, block) BLOCK_OF(0, row)
#endif

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
gemm_matrix(__global const uint4 *a, __global const float *steps, int steps_at, __global const short *sums, int sums_at,
            __global const uint4 *quants0, int scales0_at, int first0,
#if SETS == 2
            __global const uint4 *quants1, int scales1_at, int first1,
#endif
            int stride, output out, int out_at, int m, int n, int k, int width, int accumulate GROUPED_ARGUMENTS) {
  __local uint4 a_rows[SIDES][TILE_M * STEP * 2], w_rows[SIDES][TILE_N * STEP * 2];
  __local float a_steps[SIDES][STEP][TILE_M + APART];
  __local scale_type w_scales[SIDES][STEP][TILE_N + APART];
#if BLOCK == 256
  __local float2 w_factors[SIDES][TILE_N]; // of eight blocks: scale and minimum
#endif
#if defined(MINIMUMS)
  __local short a_sums[SIDES][STEP][2][TILE_M + APART]; // of the halves of a block
#endif
  FIND_TILE;
  first0 += WEIGHTS_BEFORE(n);
  const int id = get_local_id(0), lane = id % MATRIX_LANES, team = id / MATRIX_LANES, blocks = BLOCKS_OF(k);
  const int row0 = ROW0, column0 = get_group_id(0) * COLUMNS;
  const int team_row = team / N_TEAMS * (MATRIX_M * M_PIECES), team_column = team % N_TEAMS * TEAM_N;
#if defined(GROUPED)
  __local int a_of[TILE_M]; // the rows of a, which are looked up once
  for (int i = id; i < TILE_M; i += GROUP)
    a_of[i] = A_ROW(min(i, max(m, 1) - 1));
  barrier(CLK_LOCAL_MEM_FENCE);
#endif
  float results[M_PIECES][N_PIECES][MATRIX_SUMS];
#if BLOCK == 256
  int totals[M_PIECES][N_PIECES][MATRIX_SUMS]; // of a block of 256, so far
#endif
#if BLOCK == 256 && defined(MINIMUMS)
  int minimums[M_PIECES][N_PIECES][MATRIX_SUMS];
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
#if BLOCK == 256 && defined(MINIMUMS)
        minimums[i][j][s] = 0;
#endif
      }
  uint4 next_a[A_LOADS];
  float next_steps[A_LOADS];
#if defined(MINIMUMS)
  short next_sums[A_LOADS];
#endif
  lane_weights next_w[W_LOADS];
  for (int begin = -STEP, side = 0; begin < blocks; begin += STEP) {
    if (begin + STEP < blocks) { // the next ones; rows and blocks past the end repeat the last one, and what becomes of them is not stored
#pragma unroll
      for (int j = 0; j < A_LOADS; j++) {
        const int i = id + j * GROUP, block = min(begin + STEP + i / 2 % STEP, blocks - 1), row = A_OF(i / (2 * STEP));
        next_a[j] = a[(size_t)row * (k / 16) + 2 * block + i % 2];
        next_steps[j] = steps[steps_at + (size_t)row * (k / BLOCK) + block / GROUPS_OF_BLOCK];
#if defined(MINIMUMS)
        next_sums[j] = sums[sums_at + (size_t)row * (k / 16) + 2 * block + i % 2];
#endif
      }
#pragma unroll
      for (int j = 0; j < W_LOADS; j++) {
        const int i = id + j * GROUP, block = min(begin + STEP + i % STEP, blocks - 1);
        next_w[j] = WEIGHTS_AT(i / STEP, block);
      }
    }
    if (begin >= 0) {
#pragma unroll
      for (int of = 0; of < STEP; of++) {
#if !defined(WHOLE)
        if (begin + of >= blocks)
          break;
#endif
        a_piece pieces[M_PIECES];
        float row_steps[M_PIECES][MATRIX_SUMS];
#pragma unroll
        for (int i = 0; i < M_PIECES; i++) {
          pieces[i] = load_a(a_rows[side], team_row + i * MATRIX_M, of, lane);
#pragma unroll
          for (int s = 0; s < MATRIX_SUMS; s++)
            row_steps[i][s] = a_steps[side][of][team_row + i * MATRIX_M + SUM_ROW(lane, s)];
        }
#if defined(MINIMUMS)
        int row_sums[M_PIECES][MATRIX_SUMS][2];
#pragma unroll
        for (int i = 0; i < M_PIECES; i++)
#pragma unroll
          for (int s = 0; s < MATRIX_SUMS; s++) {
            row_sums[i][s][0] = a_sums[side][of][0][team_row + i * MATRIX_M + SUM_ROW(lane, s)];
            row_sums[i][s][1] = a_sums[side][of][1][team_row + i * MATRIX_M + SUM_ROW(lane, s)];
          }
#endif
#pragma unroll
        for (int pair = 0; pair < N_PIECES / 2; pair++) {
          const b_pair weights = load_b(w_rows[side], team_column + pair * 2 * MATRIX_N, of, lane);
#pragma unroll
          for (int j = 2 * pair; j < 2 * pair + 2; j++) {
            scale_type scales[MATRIX_SUMS];
#pragma unroll
            for (int s = 0; s < MATRIX_SUMS; s++)
              scales[s] = w_scales[side][of][team_column + j * MATRIX_N + SUM_COLUMN(lane, s)];
#if BLOCK == 256
            float2 factors[MATRIX_SUMS];
            if ((begin + of) % 8 == 7)
#pragma unroll
              for (int s = 0; s < MATRIX_SUMS; s++)
                factors[s] = w_factors[side][team_column + j * MATRIX_N + SUM_COLUMN(lane, s)];
#endif
#pragma unroll
            for (int i = 0; i < M_PIECES; i++) {
              int products[MATRIX_SUMS];
#if defined(HALVES)
              int upper[MATRIX_SUMS];
              MULTIPLY_HALF(products, pieces[i], weights, j % 2, 0, 0);
              MULTIPLY_HALF(upper, pieces[i], weights, j % 2, 1, 0);
#elif BLOCK == 256
              MULTIPLY(products, pieces[i], weights, j % 2, 0);
#else
              MULTIPLY(products, pieces[i], weights, j % 2, INTEGER_BITS);
#endif
#pragma unroll
              for (int s = 0; s < MATRIX_SUMS; s++) {
                const float step = row_steps[i][s];
                float *result = &results[i][j][s];
#if BLOCK == 32
                const float product = as_float(products[s]) - MAGIC;
#if defined(MINIMUMS)
                *result = fma(scales[s].x * step, product, *result);
                *result = fma(scales[s].y * step, (float)(row_sums[i][s][0] + row_sums[i][s][1]), *result);
#else
                *result = fma(scales[s] * step, product, *result);
#endif
#else
#if defined(HALVES)
                totals[i][j][s] += SCALE_OF(scales[s], 0) * products[s] + SCALE_OF(scales[s], 1) * upper[s];
#else
                totals[i][j][s] += (scales[s] & 255) * products[s];
#endif
#if defined(MINIMUMS) && defined(HALVES)
                minimums[i][j][s] += MINIMUM_OF(scales[s], 0) * row_sums[i][s][0] + MINIMUM_OF(scales[s], 1) * row_sums[i][s][1];
#elif defined(MINIMUMS)
                minimums[i][j][s] += (scales[s] >> 8) * (row_sums[i][s][0] + row_sums[i][s][1]);
#endif
                if ((begin + of) % 8 == 7) {
                  *result = fma(factors[s].x * step, (float)totals[i][j][s], *result);
                  totals[i][j][s] = 0;
#if defined(MINIMUMS)
                  *result = fma(factors[s].y * step, (float)minimums[i][j][s], *result);
                  minimums[i][j][s] = 0;
#endif
                }
#endif
              }
            }
          }
        }
      }
      if (SIDES == 1)
        barrier(CLK_LOCAL_MEM_FENCE);
      else
        side = 1 - side;
    }
    if (begin + STEP < blocks) {
#pragma unroll
      for (int j = 0; j < A_LOADS; j++) {
        const int i = id + j * GROUP, row = i / (2 * STEP), of = i / 2 % STEP;
        if (A_LOADS * GROUP > TILE_M * STEP * 2 && i >= TILE_M * STEP * 2)
          continue;
        a_rows[side][CHUNK(row, of, i % 2)] = next_a[j];
        if (i % 2 == 0)
          a_steps[side][of][row] = next_steps[j];
#if defined(MINIMUMS)
        a_sums[side][of][i % 2][row] = next_sums[j];
#endif
      }
#pragma unroll
      for (int j = 0; j < W_LOADS; j++) {
        const int i = id + j * GROUP, row = i / STEP, of = i % STEP;
        if (W_LOADS * GROUP > TILE_N * STEP && i >= TILE_N * STEP)
          continue;
        const lane_weights block = next_w[j];
        w_rows[side][CHUNK(row, of, 0)] = WORDS(LOWER, block);
        w_rows[side][CHUNK(row, of, 1)] = WORDS(UPPER, block);
#if BLOCK == 256
        w_scales[side][of][row] = block.scales;
#if defined(MINIMUMS)
        w_factors[side][row] = (float2)(weight_scale(block), -weight_minimum(block));
#else
        w_factors[side][row] = (float2)(weight_scale(block), 0);
#endif
#elif defined(MINIMUMS)
        w_scales[side][of][row] = (float2)(weight_scale(block), weight_minimum(block));
#else
        w_scales[side][of][row] = weight_scale(block);
#endif
      }
      barrier(CLK_LOCAL_MEM_FENCE);
    }
  }
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
        *to = accumulate ? *to + results[i][j][s] : RESULT(results[i][j][s]);
#endif
      }
}
