// probe_matrix counts where products of pieces of matrices (matrix.cl) are not what they should be, of bytes of every sign and size, whole
// blocks and halves, and of the sums of 16 activations with minimums, where the first rows have the largest that there may be. It is for one group
// of MATRIX_LANES; a lane counts its own sums.

static inline int byte_of(int matrix, int row, int i) { return (char)((row * 37 + i * 11 + matrix * 101) * (2 * row + 5) ^ (i << 3)); }

static inline uint4 chunk_of(int matrix, int row, int at) {
  uint words[4];
  for (int i = 0; i < 4; i++) {
    words[i] = 0;
    for (int j = 0; j < 4; j++)
      words[i] |= (uint)(byte_of(matrix, row, at + 4 * i + j) & 255) << 8 * j;
  }
  return (uint4)(words[0], words[1], words[2], words[3]);
}

static inline int sum_of(int row, int i) { return row == 0 ? 16 * 127 : (row * 1237 + i * 397) % (2 * 16 * 127 + 1) - 16 * 127; }
static inline int minimum_of(int row, int i) { return row == 0 ? 63 : (row * 11 + i * 7) % 64; }

__kernel __attribute__((reqd_work_group_size(MATRIX_LANES, 1, 1))) void probe_matrix(__global int *wrong) {
  __local uint4 a[MATRIX_M * 2 * STEP], b[2 * MATRIX_N * 2 * STEP];
  __local uint4 sums[MATRIX_M * 2], minimums[2 * MATRIX_N * 2];
  const int lane = get_local_id(0);
  for (int i = lane; i < MATRIX_M * 8; i += MATRIX_LANES)
    ((__local uint *)sums)[4 * CHUNK(2, i / 8, i / 4 % 2) + i % 4] = (sum_of(i / 8, i % 8 * 2) & 0xFFFF) | (uint)sum_of(i / 8, i % 8 * 2 + 1) << 16;
  for (int i = lane; i < 2 * MATRIX_N * 8; i += MATRIX_LANES)
    ((__local uint *)minimums)[4 * CHUNK(2, i / 8, i / 4 % 2) + i % 4] = halves_of(minimum_of(i / 8, i % 8 * 2) | minimum_of(i / 8, i % 8 * 2 + 1) << 16);
  for (int i = lane; i < MATRIX_M * 2 * STEP; i += MATRIX_LANES)
    a[CHUNK(2 * STEP, i / (2 * STEP), i % (2 * STEP))] = chunk_of(0, i / (2 * STEP), i % (2 * STEP) * 16);
  for (int i = lane; i < 2 * MATRIX_N * 2 * STEP; i += MATRIX_LANES)
    b[CHUNK(2 * STEP, i / (2 * STEP), i % (2 * STEP))] = chunk_of(1, i / (2 * STEP), i % (2 * STEP) * 16);
  barrier(CLK_LOCAL_MEM_FENCE);
  int found = 0;
  for (int block = 0; block < STEP; block++) {
    const a_piece x = load_a(a, 2 * STEP, 0, block, lane);
    const b_pair y = load_b(b, 2 * STEP, 0, block, lane);
#pragma unroll
    for (int of = 0; of < 2; of++) {
      int whole[MATRIX_SUMS], lower[MATRIX_SUMS], upper[MATRIX_SUMS];
      MULTIPLY(whole, x, y, of, 0x4B400000);
      MULTIPLY_HALF(lower, x, y, of, 0, 0);
      MULTIPLY_HALF(upper, x, y, of, 1, -7);
      for (int s = 0; s < MATRIX_SUMS; s++) {
        int halves[2] = {0, 0};
        for (int i = 0; i < 32; i++)
          halves[i / 16] += byte_of(0, SUM_ROW(lane, s), block * 32 + i) * byte_of(1, of * MATRIX_N + SUM_COLUMN(lane, s), block * 32 + i);
        found += whole[s] != 0x4B400000 + halves[0] + halves[1];
        found += lower[s] != halves[0];
        found += upper[s] != halves[1] - 7;
      }
    }
  }
  const a_piece x = a_halves(load_a(sums, 2, 0, 0, lane));
  const b_pair y = load_b(minimums, 2, 0, 0, lane);
#pragma unroll
  for (int of = 0; of < 2; of++) {
    float products[MATRIX_SUMS];
    MULTIPLY_HALVES(products, x, y, of);
    for (int s = 0; s < MATRIX_SUMS; s++) {
      int sum = 0;
      for (int i = 0; i < 16; i++)
        sum += sum_of(SUM_ROW(lane, s), i) * minimum_of(of * MATRIX_N + SUM_COLUMN(lane, s), i);
      found += products[s] != sum;
    }
  }
  wrong[lane] = found;
}
