// gemm computes out [m, n] = a [m, k] · w [n, k]ᵀ of floats, or adds it to out: products of many rows. A group computes a tile
// of 64 × 64, a work-item 8 × 4 of it, from slices of 16 columns in local memory; the next slice is on its way to registers
// meanwhile. Each result adds its products in order, a fused multiply-add each, as on the CPU. Weights of other formats are
// widened first, which many rows pay for.
//
// Offsets of a and w are in float4, and k is a multiple of 4.

#define TILE 64
#define DEPTH 16
#define WIDTH (TILE + 4) // of a local row: the slices are stored by columns

__kernel __attribute__((reqd_work_group_size(128, 1, 1))) void
gemm(__global const float4 *a, int a_at, __global const float4 *w, int w_at, output out, int out_at, int m, int n, int k,
     int width, int accumulate) {
  __local float a_slice[DEPTH * WIDTH] __attribute__((aligned(16))), w_slice[DEPTH * WIDTH] __attribute__((aligned(16))); // read as float4
  const int id = get_local_id(0);
  const int row0 = get_group_id(1) * TILE, column0 = get_group_id(0) * TILE;
  const int depth4 = k / 4;
  // Loading: a row of a slice is 4 float4; a work-item loads two rows' pieces of each slice.
  const int load_row = id / 4, load_piece = id % 4;
  // Rows past the end repeat the last one; what becomes of them is not stored.
  __global const float4 *a0 = a + a_at + (size_t)min(row0 + load_row, m - 1) * depth4;
  __global const float4 *a1 = a + a_at + (size_t)min(row0 + load_row + 32, m - 1) * depth4;
  __global const float4 *w0 = w + w_at + (size_t)min(column0 + load_row, n - 1) * depth4;
  __global const float4 *w1 = w + w_at + (size_t)min(column0 + load_row + 32, n - 1) * depth4;
  // Computing: rows 8·(id/16) …, columns 4·(id%16) ….
  const int row = id / 16 * 8, column = id % 16 * 4;
  float4 sum[8];
  for (int i = 0; i < 8; i++)
    sum[i] = (float4)(0);

  const float4 zero = (float4)(0);
  int piece = load_piece;
  float4 na0 = piece < depth4 ? a0[piece] : zero, na1 = piece < depth4 ? a1[piece] : zero;
  float4 nw0 = piece < depth4 ? w0[piece] : zero, nw1 = piece < depth4 ? w1[piece] : zero;
  for (int slice = 0; slice < depth4; slice += DEPTH / 4) {
    barrier(CLK_LOCAL_MEM_FENCE);
#define STORE(slice, r, v)                                                                                           \
  slice[(load_piece * 4 + 0) * WIDTH + r] = v.x;                                                                     \
  slice[(load_piece * 4 + 1) * WIDTH + r] = v.y;                                                                     \
  slice[(load_piece * 4 + 2) * WIDTH + r] = v.z;                                                                     \
  slice[(load_piece * 4 + 3) * WIDTH + r] = v.w;
    STORE(a_slice, load_row, na0)
    STORE(a_slice, load_row + 32, na1)
    STORE(w_slice, load_row, nw0)
    STORE(w_slice, load_row + 32, nw1)
    barrier(CLK_LOCAL_MEM_FENCE);
    piece += DEPTH / 4;
    na0 = piece < depth4 ? a0[piece] : zero;
    na1 = piece < depth4 ? a1[piece] : zero;
    nw0 = piece < depth4 ? w0[piece] : zero;
    nw1 = piece < depth4 ? w1[piece] : zero;
#pragma unroll
    for (int i = 0; i < DEPTH; i++) {
      __local const float4 *av = (__local const float4 *)(a_slice + i * WIDTH + row);
      const float4 x0 = av[0], x1 = av[1], y = *(__local const float4 *)(w_slice + i * WIDTH + column);
      sum[0] = fma((float4)(x0.x), y, sum[0]);
      sum[1] = fma((float4)(x0.y), y, sum[1]);
      sum[2] = fma((float4)(x0.z), y, sum[2]);
      sum[3] = fma((float4)(x0.w), y, sum[3]);
      sum[4] = fma((float4)(x1.x), y, sum[4]);
      sum[5] = fma((float4)(x1.y), y, sum[5]);
      sum[6] = fma((float4)(x1.z), y, sum[6]);
      sum[7] = fma((float4)(x1.w), y, sum[7]);
    }
  }
#pragma unroll
  for (int i = 0; i < 8; i++) {
    if (row0 + row + i >= m)
      continue;
    output to = out + out_at + (size_t)(row0 + row + i) * width + column0 + column;
    const float v[4] = {sum[i].x, sum[i].y, sum[i].z, sum[i].w};
    for (int j = 0; j < 4; j++)
      if (column0 + column + j < n)
        to[j] = accumulate ? to[j] + v[j] : v[j];
  }
}
