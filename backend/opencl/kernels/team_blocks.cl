// Products with weights in blocks. Each group rounds the activations for itself, PANEL of them at a time: in local memory they
// cost it less than waiting for a kernel that does it for all. A lane multiplies whole blocks of 32.
//
// The CPU adds the blocks of a row in order, a fused multiply-add each, and so does a work-item for each row here: of the
// integers, which have no order, that the lanes leave for it.

#define PANEL 4096

// TERMS is how many terms a row has room for, an odd number, as local memory likes it.
#define TERMS (LANES + 1)
#define FACTORS (LANES / 8 + 1)

#define TEAM_MEMORY                                                                                                  \
  __local float part[PART], lanes[LANES_OF_SUM], steps[PANEL / BLOCK];                                               \
  __local uint4 rounded[PANEL / 16];                                                                                 \
  __local short4 eights[PANEL / 32];                                                                                 \
  __local term_type terms[SETS * ROWS_OF_GROUP * TERMS];                                                             \
  __local float2 factors[BLOCK == 256 ? SETS * ROWS_OF_GROUP * FACTORS : 1]
#define TEAM_MEMORY_ARGUMENTS                                                                                        \
  __local float *part, __local float *lanes, __local float *steps, __local uint4 *rounded, __local short4 *eights,   \
      __local term_type *terms, __local float2 *factors
#define TEAM_MEMORY_NAMES part, lanes, steps, rounded, eights, terms, factors

// round_panel rounds elements [first, first + count) of x, normed with a factor and a gain where norm is 1.
INLINED void round_panel(__global const float4 *x, __global const float4 *gain, int norm, float factor, int first, int count,
                         TEAM_MEMORY_ARGUMENTS) {
  for (int base = 0; base < count; base += GROUP * ROUNDED_AT_ONCE) {
    const int i = base / ROUNDED_AT_ONCE + get_local_id(0), at = first / ROUNDED_AT_ONCE + i;
    const int inside = i * ROUNDED_AT_ONCE < count;
    float8 v = inside ? EIGHT_AT(x, at) : (float8)(0);
    if (norm && inside)
      v = v * factor * EIGHT_AT(gain, at);
    float step;
    const char8 q = round_eight(v, BLOCK / ROUNDED_AT_ONCE, &step, part);
    if (!inside)
      continue;
    // The halves of all blocks lie together, so that lanes that load theirs meet in no bank.
    const int block = i / 4, quarter = i % 4;
    ((__local uint2 *)rounded)[(quarter / 2 * (PANEL / 32) + block) * 2 + quarter % 2] = as_uint2(q);
    const short8 s = convert_short8(q);
    const short4 t = s.lo + s.hi;
    ((__local short *)eights)[i] = t.x + t.y + t.z + t.w;
    steps[i / (BLOCK / ROUNDED_AT_ONCE)] = step; // the same from all of a block
  }
}

// team_sums leaves in TOTAL the products of x, normed where norm is 1. Rows have `stride` blocks and those of a set are
// first, …, end-1.
INLINED void team_sums(__global const uint4 *quants[SETS], __global const ushort *scales[SETS], const int first[SETS],
                       const int end[SETS], int k, int stride, __global const float4 *x, __global const float4 *gain,
                       int norm, float eps, TEAM_MEMORY_ARGUMENTS) {
  const int id = get_local_id(0), lane = id % LANES, team = id / LANES, blocks = k / 32;
  float sums[CHAINS];
  for (int c = 0; c < CHAINS; c++)
    sums[c] = 0;
  lane_weights w[SETS * ROWS];
#define LOAD_WEIGHTS(block)                                                                                          \
  if (block < blocks)                                                                                                \
    _Pragma("unroll") for (int i = 0; i < SETS * ROWS; i++)                                                          \
      w[i] = load_lane(quants[i / ROWS], scales[i / ROWS], ROW(i), stride, block);
  // They are on their way while the activations are rounded. Two or four rounds in place of one, and gains loaded as early, gained an H200 little
  // and cost it registers; some compilers for processors make wrong code of such unrolled rounds.
  LOAD_WEIGHTS(lane)
  const float factor = norm ? norm_scale((input)x, k, eps, part, lanes) : 1.0f;
  for (int start = 0; start < blocks; start += LANES) {
    if (start % (PANEL / 32) == 0) {
      round_panel(x, gain, norm, factor, start * 32, min(k - start * 32, PANEL), TEAM_MEMORY_NAMES);
      barrier(CLK_LOCAL_MEM_FENCE);
    }
    const int block = start + lane;
    if (block >= blocks) { // terms that add nothing
      for (int i = 0; i < SETS * ROWS; i++) {
        const int row = i / ROWS * ROWS_OF_GROUP + team * ROWS + i % ROWS;
        terms[row * TERMS + lane] = (term_type)(0);
        if (BLOCK == 256 && lane % 8 == 0)
          factors[row * FACTORS + lane / 8] = (float2)(0);
      }
    } else {
      const int at = block % (PANEL / 32);
      const short4 e = eights[at];
      const block_activations a = {rounded[at], rounded[PANEL / 32 + at], e.x + e.y, e.z + e.w, steps[at / (BLOCK / 32)]};
#pragma unroll
      for (int i = 0; i < SETS * ROWS; i++) {
        const int row = i / ROWS * ROWS_OF_GROUP + team * ROWS + i % ROWS;
        terms[row * TERMS + lane] = block_term(w[i], a);
#if BLOCK == 256
        if (lane % 8 == 0)
          factors[row * FACTORS + lane / 8] = block_factors(w[i], a.step);
#endif
      }
      LOAD_WEIGHTS(block + LANES)
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (int c = 0; c < CHAINS; c++) {
      const int row = id + c * GROUP;
      if (row < SETS * ROWS_OF_GROUP)
        sums[c] = add_terms(sums[c], terms + row * TERMS, factors + row * FACTORS, LANES);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  leave_totals(sums, part);
}
