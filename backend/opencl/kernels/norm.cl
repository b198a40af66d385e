// The norm of a row.

#define NORM_STAGE 1024

// norm_scale returns 1/√(mean of squares + eps) of x [k] to all of a group (arXiv 1910.07467), the sum in lanes as on the CPU.
// The group's work-items load the row together, NORM_STAGE elements at a time. There is a barrier before it returns.
static inline float norm_scale(input x, int k, float eps, __local float *stage, __local float *lanes) {
  const int id = get_local_id(0);
  float sum = 0;
  for (int first = 0; first < k; first += NORM_STAGE) {
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = id; i < NORM_STAGE; i += GROUP)
      stage[i] = first + i < k ? x[first + i] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (id < LANES_OF_SUM)
#pragma unroll 8
      for (int i = 0; i < NORM_STAGE; i += LANES_OF_SUM)
        sum = fma(stage[id + i], stage[id + i], sum);
  }
  if (id < LANES_OF_SUM)
    lanes[id] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  return 1.0f / sqrt(fold_lanes(lanes) / k + eps);
}
