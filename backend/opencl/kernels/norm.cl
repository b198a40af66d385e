// Sums over a row, in lanes as on the CPU. The group's work-items load the row together, NORM_STAGE elements at a time, the next
// ones while the present ones are added.

#define NORM_STAGE 2048

#define STAGE_LOADS (NORM_STAGE / GROUP)

#define ADD(sum, v) ((sum) + (v))
#define ADD_SQUARE(sum, v) fma(v, v, sum)

// LANE_SUMS defines a function that returns a sum over x [n] to all of a group, a barrier before it returns.
#define LANE_SUMS(NAME, STEP)                                                                                        \
  INLINED float NAME(input x, int n, __local float *stage, __local float *lanes) {                                   \
    const int id = get_local_id(0);                                                                                  \
    float sum = 0, next[STAGE_LOADS];                                                                                \
    for (int j = 0; j < STAGE_LOADS; j++)                                                                            \
      next[j] = id + j * GROUP < n ? x[id + j * GROUP] : 0;                                                          \
    for (int first = 0; first < n; first += NORM_STAGE) {                                                            \
      barrier(CLK_LOCAL_MEM_FENCE);                                                                                  \
      for (int j = 0; j < STAGE_LOADS; j++)                                                                          \
        stage[id + j * GROUP] = next[j];                                                                             \
      barrier(CLK_LOCAL_MEM_FENCE);                                                                                  \
      for (int j = 0; j < STAGE_LOADS; j++) {                                                                        \
        const int at = first + NORM_STAGE + id + j * GROUP;                                                          \
        next[j] = at < n ? x[at] : 0;                                                                                \
      }                                                                                                              \
      if (id < LANES_OF_SUM)                                                                                         \
        _Pragma("unroll 16") for (int i = 0; i < NORM_STAGE; i += LANES_OF_SUM) sum = STEP(sum, stage[id + i]);      \
    }                                                                                                                \
    if (id < LANES_OF_SUM)                                                                                           \
      lanes[id] = sum;                                                                                               \
    barrier(CLK_LOCAL_MEM_FENCE);                                                                                    \
    return fold_lanes(lanes);                                                                                        \
  }

LANE_SUMS(sum_in_lanes, ADD)
LANE_SUMS(squares_in_lanes, ADD_SQUARE)

// scale_of_squares returns 1/√(squares/k + eps), and NaN if the squares are beyond float.
static inline float scale_of_squares(float squares, int k, float eps) {
  const float mean = squares / k;
  return as_uint(mean) == 0x7f800000 ? as_float(0x7fc00000) : 1.0f / sqrt(mean + eps);
}

// norm_scale returns 1/√(mean of squares + eps) of x [k] to all of a group (arXiv 1910.07467), and NaN if the squares are beyond float.
INLINED float norm_scale(input x, int k, float eps, __local float *stage, __local float *lanes) {
  return scale_of_squares(squares_in_lanes(x, k, stage, lanes), k, eps);
}
