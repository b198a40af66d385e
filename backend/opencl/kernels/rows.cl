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

// layer_norm normalises the rows of x about their means. Without a bias, `biased` is 0.
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
layer_norm(output x, int x_at, input weight, int weight_at, input bias, int bias_at, int dim, float eps, int biased) {
  __local float stage[NORM_STAGE], lanes[LANES_OF_SUM];
  x += x_at + (size_t)get_group_id(0) * dim;
  const float mean = sum_in_lanes(x, dim, stage, lanes) / dim;
  barrier(CLK_LOCAL_MEM_FENCE); // the lanes are used again
  for (int i = get_local_id(0); i < dim; i += GROUP)
    x[i] -= mean;
  barrier(CLK_GLOBAL_MEM_FENCE);
  const float factor = norm_scale(x, dim, eps, stage, lanes);
  for (int i = get_local_id(0); i < dim; i += GROUP) {
    const float v = x[i] * factor * weight[weight_at + i];
    x[i] = biased ? v + bias[bias_at + i] : v;
  }
}

// group_largest returns the largest of x[first] … x[end-1] to all of a group.
INLINED float group_largest(input x, int first, int end, __local float *part) {
  float largest = LOWEST;
  for (int i = first + get_local_id(0); i < end; i += GROUP)
    largest = fmax(largest, x[i]);
  return group_max(largest, part);
}

// softmax replaces rows by their softmax, the sum in lanes as on the CPU.
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void softmax(output x, int x_at, int dim) {
  __local float part[GROUP], stage[NORM_STAGE], lanes[LANES_OF_SUM];
  const int id = get_local_id(0);
  x += x_at + (size_t)get_group_id(0) * dim;
  const float largest = group_largest(x, 0, dim, part);
  for (int i = id; i < dim; i += GROUP)
    x[i] = exact_exp(x[i] - largest);
  barrier(CLK_GLOBAL_MEM_FENCE);
  const float sum = sum_in_lanes(x, dim, stage, lanes);
  for (int i = id; i < dim; i += GROUP)
    x[i] /= sum;
}

// A long row is shared out: softmax_largest finds the largest of each slice, softmax_exponentials takes the exponentials,
// softmax_sum, in one group, since its order is fixed, adds them up, and softmax_divide divides. The grid's second dimension is
// the rows; parts [rows, slices + 1] has the largest of the slices, and the sum.

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
softmax_largest(input x, int x_at, int dim, int slice, output parts) {
  __local float part[GROUP];
  const int slices = get_num_groups(0), first = get_group_id(0) * slice, row = get_group_id(1);
  x += x_at + (size_t)row * dim;
  const float largest = group_largest(x, first, min(first + slice, dim), part);
  if (get_local_id(0) == 0)
    parts[row * (slices + 1) + get_group_id(0)] = largest;
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
softmax_exponentials(output x, int x_at, int dim, int slice, input parts) {
  __local float part[GROUP];
  const int slices = get_num_groups(0), first = get_group_id(0) * slice, row = get_group_id(1);
  x += x_at + (size_t)row * dim;
  const float largest = group_largest(parts + row * (slices + 1), 0, slices, part);
  for (int i = first + get_local_id(0); i < min(first + slice, dim); i += GROUP)
    x[i] = exact_exp(x[i] - largest);
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
softmax_sum(input x, int x_at, int dim, int slices, output parts) {
  __local float stage[NORM_STAGE], lanes[LANES_OF_SUM];
  const int row = get_group_id(1);
  const float sum = sum_in_lanes(x + x_at + (size_t)row * dim, dim, stage, lanes);
  if (get_local_id(0) == 0)
    parts[row * (slices + 1) + slices] = sum;
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
softmax_divide(output x, int x_at, int dim, int slice, input parts) {
  const int slices = get_num_groups(0), first = get_group_id(0) * slice, row = get_group_id(1);
  x += x_at + (size_t)row * dim;
  const float sum = parts[row * (slices + 1) + slices];
  for (int i = first + get_local_id(0); i < min(first + slice, dim); i += GROUP)
    x[i] /= sum;
}
