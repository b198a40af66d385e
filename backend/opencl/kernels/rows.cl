// Operations on rows, a group a row.

// rms_norm writes the norm of the rows of x to out, which may be x.
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
rms_norm(input x, int x_at, input weight, int weight_at, output out, int out_at, int dim, float eps) {
  __local float stage[NORM_STAGE], lanes[LANES_OF_SUM];
  const size_t row = (size_t)get_group_id(0) * dim;
  x += x_at + row;
  out += out_at + row;
  const float factor = norm_scale(x, dim, eps, stage, lanes);
  for (int i = get_local_id(0); i < dim; i += GROUP)
    out[i] = x[i] * factor * weight[weight_at + i];
}

// softmax replaces rows by their softmax, the sum in lanes as on the CPU, from NORM_STAGE elements at a time.
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void softmax(output x, int x_at, int dim) {
  __local float part[GROUP], stage[NORM_STAGE], lanes[LANES_OF_SUM];
  const int id = get_local_id(0);
  x += x_at + (size_t)get_group_id(0) * dim;
  float largest = LOWEST;
  for (int i = id; i < dim; i += GROUP)
    largest = fmax(largest, x[i]);
  largest = group_max(largest, part);
  float lane = 0;
  for (int first = 0; first < dim; first += NORM_STAGE) {
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = id; i < NORM_STAGE; i += GROUP)
      if (first + i < dim)
        stage[i] = x[first + i] = exact_exp(x[first + i] - largest);
      else
        stage[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (id < LANES_OF_SUM)
#pragma unroll 8
      for (int i = 0; i < NORM_STAGE; i += LANES_OF_SUM)
        lane += stage[id + i];
  }
  if (id < LANES_OF_SUM)
    lanes[id] = lane;
  barrier(CLK_LOCAL_MEM_FENCE);
  const float sum = fold_lanes(lanes);
  for (int i = id; i < dim; i += GROUP)
    x[i] /= sum;
}
