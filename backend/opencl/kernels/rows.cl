// Operations on rows, a group a row.

// rms_norm writes the norm of the rows of x to out, which may be x.
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
rms_norm(input x, int x_at, input weight, int weight_at, output out, int out_at, int dim, float eps) {
  __local float part[GROUP];
  const size_t row = (size_t)get_group_id(0) * dim;
  x += x_at + row;
  out += out_at + row;
  float squares = 0;
  for (int i = get_local_id(0); i < dim; i += GROUP)
    squares += x[i] * x[i];
  const float factor = 1.0f / sqrt(group_sum(squares, part) / dim + eps);
  for (int i = get_local_id(0); i < dim; i += GROUP)
    out[i] = x[i] * factor * weight[weight_at + i];
}

// softmax replaces rows by their softmax.
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void softmax(output x, int x_at, int dim) {
  __local float part[GROUP];
  x += x_at + (size_t)get_group_id(0) * dim;
  float largest = LOWEST;
  for (int i = get_local_id(0); i < dim; i += GROUP)
    largest = fmax(largest, x[i]);
  largest = group_max(largest, part);
  barrier(CLK_LOCAL_MEM_FENCE);
  float sum = 0;
  for (int i = get_local_id(0); i < dim; i += GROUP) {
    x[i] = exp(x[i] - largest);
    sum += x[i];
  }
  sum = group_sum(sum, part);
  for (int i = get_local_id(0); i < dim; i += GROUP)
    x[i] /= sum;
}
