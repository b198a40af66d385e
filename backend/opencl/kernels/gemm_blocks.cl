// gemm_blocks computes out [m, n] = a [m, k] · w [n, k]ᵀ, or adds it to out, for rounded activations and weights in blocks: the
// products of many rows. A group computes a tile of 64 × 64, a work-item 8 × 4 of it, from a block of 32 columns at a time in
// local memory; the next one is on its way to registers meanwhile. Each result adds its blocks in order, as on the CPU.

#define TILE 64
#define TILE_ROWS TILE
#define WIDTH (TILE + 4) // of a local row: the columns are stored one after the other, four elements a word

#if BLOCK == 256
#define GROUPS_OF_BLOCK 8 // of 32
#else
#define GROUPS_OF_BLOCK 1
#endif

__kernel __attribute__((reqd_work_group_size(128, 1, 1))) void
gemm_blocks(__global const uint4 *a, __global const float *steps, int steps_at, __global const short *sums, int sums_at,
            __global const uint4 *quants, int scales_at, int first, int stride, output out, int out_at, int m,
            int n, int k, int width, int accumulate GROUPED_ARGUMENTS) {
  FIND_TILE;
  first += WEIGHTS_BEFORE(n);
  __local uint a_slice[8 * WIDTH] __attribute__((aligned(16))), w_slice[8 * WIDTH] __attribute__((aligned(16))); // read as uint4
  __local float a_step[TILE], w_scale[TILE], w_minimum[TILE];
  __local int a_lower[TILE], a_upper[TILE], w_scales[TILE];
  const int id = get_local_id(0), blocks = BLOCKS_OF(k);
  __global const ushort *scales = SCALES_OF(quants, scales_at);
  const int row0 = ROW0, column0 = get_group_id(0) * TILE;
  // Loading: two work-items a row of each, a half of the block each. Rows past the end repeat the last one; what becomes of
  // them is not stored.
  const int load_row = id / 2, upper = id % 2;
  const size_t a_row = A_ROW(min(row0 + load_row, max(m, 1) - 1)), w_row = first + min(column0 + load_row, n - 1);
  a += a_row * (k / 16) + upper;
  sums += sums_at + a_row * (k / 16) + upper;
  steps += steps_at + a_row * (k / BLOCK);
  // Computing: rows 8·(id/16) …, columns 4·(id%16) ….
  const int row = id / 16 * 8, column = id % 16 * 4;
  float result[8][4];
  int total[8][4], minimums[8][4]; // of a block of 256, so far
  for (int i = 0; i < 8; i++)
    for (int j = 0; j < 4; j++) {
      result[i][j] = 0;
      total[i][j] = 0;
      minimums[i][j] = 0;
    }

  uint4 next_a = a[0];
  int next_sum = sums[0];
  float next_step = steps[0];
  lane_weights next_w = load_lane(quants, scales, w_row, stride, 0);
  for (int block = 0; block < blocks; block++) {
    barrier(CLK_LOCAL_MEM_FENCE);
#define STORE(slice, i, v) slice[(upper * 4 + i) * WIDTH + load_row] = v
    STORE(a_slice, 0, next_a.x);
    STORE(a_slice, 1, next_a.y);
    STORE(a_slice, 2, next_a.z);
    STORE(a_slice, 3, next_a.w);
    STORE(w_slice, 0, (upper ? UPPER(next_w, x, 0) : LOWER(next_w, x, 0)));
    STORE(w_slice, 1, (upper ? UPPER(next_w, y, 1) : LOWER(next_w, y, 1)));
    STORE(w_slice, 2, (upper ? UPPER(next_w, z, 2) : LOWER(next_w, z, 2)));
    STORE(w_slice, 3, (upper ? UPPER(next_w, w, 3) : LOWER(next_w, w, 3)));
    if (upper) {
      a_upper[load_row] = next_sum;
      w_scale[load_row] = weight_scale(next_w);
#if defined(MINIMUMS)
      w_minimum[load_row] = weight_minimum(next_w);
#endif
    } else {
      a_lower[load_row] = next_sum;
      a_step[load_row] = next_step;
#if BLOCK == 256
      w_scales[load_row] = next_w.scales;
#endif
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (block + 1 < blocks) {
      next_a = a[2 * (block + 1)];
      next_sum = sums[2 * (block + 1)];
      next_step = steps[(block + 1) / GROUPS_OF_BLOCK];
      next_w = load_lane(quants, scales, w_row, stride, block + 1);
    }
    int product[8][4];
    for (int i = 0; i < 8; i++)
      for (int j = 0; j < 4; j++)
        product[i][j] = 0;
#if defined(HALVES)
#pragma unroll
    for (int side = 0; side < 2; side++) {
      const int begin = side * 4, end = begin + 4;
#else
    {
      const int begin = 0, end = 8;
#endif
#pragma unroll
      for (int word = begin; word < end; word++) {
        const uint4 w4 = *(__local const uint4 *)(w_slice + word * WIDTH + column);
        __local const uint4 *av = (__local const uint4 *)(a_slice + word * WIDTH + row);
        const uint4 a0 = av[0], a1 = av[1];
        const uint x[8] = {a0.x, a0.y, a0.z, a0.w, a1.x, a1.y, a1.z, a1.w}, y[4] = {w4.x, w4.y, w4.z, w4.w};
#pragma unroll
        for (int i = 0; i < 8; i++)
#pragma unroll
          for (int j = 0; j < 4; j++)
            product[i][j] = DOT(y[j], x[i], product[i][j]);
      }
#if defined(HALVES)
#pragma unroll
      for (int i = 0; i < 8; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) {
          const int sum = side ? a_upper[row + i] : a_lower[row + i];
          total[i][j] += SCALE_OF(w_scales[column + j], side) * (product[i][j] - ZERO * sum);
#if defined(MINIMUMS)
          minimums[i][j] += MINIMUM_OF(w_scales[column + j], side) * sum;
#endif
          product[i][j] = 0;
        }
#endif
    }
#pragma unroll
    for (int i = 0; i < 8; i++) {
      const float step = a_step[row + i];
      const int sum = a_lower[row + i] + a_upper[row + i];
#pragma unroll
      for (int j = 0; j < 4; j++) {
#if BLOCK == 32
        result[i][j] = fma(w_scale[column + j] * step, (float)(product[i][j] - ZERO * sum), result[i][j]);
#if defined(MINIMUMS)
        result[i][j] = fma(w_minimum[column + j] * step, (float)sum, result[i][j]);
#endif
#else
#if !defined(HALVES)
        total[i][j] += (w_scales[column + j] & 255) * product[i][j];
        minimums[i][j] += (w_scales[column + j] >> 8) * sum;
#endif
        if (block % 8 == 7) {
          result[i][j] = fma(w_scale[column + j] * step, (float)total[i][j], result[i][j]);
          total[i][j] = 0;
#if defined(MINIMUMS)
          result[i][j] = fma(-w_minimum[column + j] * step, (float)minimums[i][j], result[i][j]);
          minimums[i][j] = 0;
#endif
        }
#endif
      }
    }
  }
#pragma unroll
  for (int i = 0; i < 8; i++) {
    if (row0 + row + i >= m)
      continue;
    output to = out + out_at + (size_t)OUT_ROW(row0 + row + i) * width + column0 + column;
#pragma unroll
    for (int j = 0; j < 4; j++)
      if (column0 + column + j < n)
        to[j] = accumulate ? to[j] + result[i][j] : RESULT(result[i][j]);
  }
}
