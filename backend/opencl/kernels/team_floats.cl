// Products with plain rows of floats. The CPU adds them up in order, a fused multiply-add each, and so does a work-item for
// each row here, while the group brings the next pieces of 16 bytes of all its rows.

// PIECES is how many groups of four elements a piece has.
#if FORMAT_IS(f32)
#define PIECES 1
#else
#define PIECES 2
#endif

// add_piece adds the products of a piece with the activations x.
INLINED float add_piece(float sum, __local const uint4 *piece, __local const float4 *x) {
#if FORMAT_IS(f32)
  return add_four(sum, as_float4(*piece), x[0]);
#elif FORMAT_IS(f16)
  const float8 w = vloada_half8(0, (__local const half *)piece);
  return add_four(add_four(sum, w.lo, x[0]), w.hi, x[1]);
#elif FORMAT_IS(bf16)
  const uint4 w = *piece;
  sum = add_four(sum, as_float4((uint4)(w.x << 16, w.x & 0xFFFF0000u, w.y << 16, w.y & 0xFFFF0000u)), x[0]);
  return add_four(sum, as_float4((uint4)(w.z << 16, w.z & 0xFFFF0000u, w.w << 16, w.w & 0xFFFF0000u)), x[1]);
#endif
}

#define TEAM_MEMORY                                                                                                  \
  __local float part[PART], lanes[LANES_OF_SUM];                                                                     \
  __local uint4 pieces[SETS * ROWS_OF_GROUP * (LANES + 1)] __attribute__((aligned(16)));                             \
  __local float4 normed[LANES * PIECES] __attribute__((aligned(16)))
#define TEAM_MEMORY_ARGUMENTS __local float *part, __local float *lanes, __local uint4 *pieces, __local float4 *normed
#define TEAM_MEMORY_NAMES part, lanes, pieces, normed

// LOADS is how many groups of four activations a work-item loads.
#define LOADS ((LANES * PIECES + GROUP - 1) / GROUP)

// team_sums leaves in TOTAL the products of x, normed where norm is 1. Rows have `stride` pieces and those of a set are
// first, …, end-1.
INLINED void team_sums(__global const uint4 *quants[SETS], __global const ushort *scales[SETS], const int first[SETS],
                       const int end[SETS], int k, int stride, __global const float4 *x, __global const float4 *gain,
                       int norm, float eps, TEAM_MEMORY_ARGUMENTS) {
  const int id = get_local_id(0), lane = id % LANES, team = id / LANES, count = k / (4 * PIECES);
  float sums[CHAINS];
  for (int c = 0; c < CHAINS; c++)
    sums[c] = 0;
  // What the next pieces need is on its way while the present ones are added.
  uint4 w[SETS * ROWS];
  float4 v[LOADS], g[LOADS];
#define LOAD_NEXT(start)                                                                                             \
  _Pragma("unroll") for (int i = 0; i < SETS * ROWS; i++)                                                            \
    w[i] = (start) + lane < count ? quants[i / ROWS][ROW(i) * stride + (start) + lane] : (uint4)(0);                 \
  _Pragma("unroll") for (int i = 0; i < LOADS; i++) {                                                                \
    const int at = (start) * PIECES + id + i * GROUP;                                                                \
    v[i] = at < k / 4 ? x[at] : (float4)(0);                                                                         \
    g[i] = norm && at < k / 4 ? gain[at] : (float4)(1);                                                              \
  }
  LOAD_NEXT(0)
  const float factor = norm ? norm_scale((input)x, k, eps, part, lanes) : 1.0f;
  for (int start = 0; start < count; start += LANES) {
#pragma unroll
    for (int i = 0; i < LOADS; i++)
      if (id + i * GROUP < LANES * PIECES)
        normed[id + i * GROUP] = v[i] * factor * g[i]; // by 1 nothing changes
#pragma unroll
    for (int i = 0; i < SETS * ROWS; i++)
      pieces[(i / ROWS * ROWS_OF_GROUP + team * ROWS + i % ROWS) * (LANES + 1) + lane] = w[i];
    LOAD_NEXT(start + LANES)
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (int c = 0; c < CHAINS; c++) {
      const int row = id + c * GROUP;
      if (row < SETS * ROWS_OF_GROUP)
#pragma unroll 8 // some compilers die of longer chains
        for (int i = 0; i < LANES; i++)
          sums[c] = add_piece(sums[c], &pieces[row * (LANES + 1) + i], normed + i * PIECES);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  leave_totals(sums, part);
}
