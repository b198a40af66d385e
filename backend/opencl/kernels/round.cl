// round_rows rounds rows of activations x [m, k] for gemm_blocks: to quants [m, k], a step for each block of 32 or 256 elements,
// and sums of 16 quants, in arrays of their own. The grid's second dimension is the rows.
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
round_rows(__global const float4 *x, int x_at, int k, int block, __global char8 *quants, __global float *steps, int steps_at,
           __global short *sums, int sums_at) {
  __local float part[GROUP];
  const int i = get_global_id(0), id = get_local_id(0), inside = i * ROUNDED_AT_ONCE < k;
  const size_t row = get_global_id(1);
  float step;
  const float8 v = inside ? EIGHT_AT(x + x_at + row * (k / 4), i) : (float8)(0);
  const char8 q = round_eight(v, block / ROUNDED_AT_ONCE, &step, part);
  const short8 s = convert_short8(q);
  const short4 t = s.lo + s.hi;
  part[id] = t.x + t.y + t.z + t.w; // small integers
  barrier(CLK_LOCAL_MEM_FENCE);
  if (!inside)
    return;
  quants[row * (k / 8) + i] = q;
  if (i % 2 == 0)
    sums[sums_at + row * (k / 16) + i / 2] = (short)(part[id] + part[id + 1]);
  if (i % (block / ROUNDED_AT_ONCE) == 0)
    steps[steps_at + row * (k / block) + i / (block / ROUNDED_AT_ONCE)] = step;
}

// whole_scale returns what rows of activations x [k] are multiplied by to be rounded by one scale each: 127/max(max|x|, 1e-5). All work-items of a
// group work on one row, and there is a barrier when it returns.
INLINED float whole_scale(__global const float4 *x, int k, __local float *part) {
  const int id = get_local_id(0);
  float largest = 0;
  for (int i = id; i * ROUNDED_AT_ONCE < k; i += GROUP)
    largest = LARGER(largest, largest_of_eight(EIGHT_AT(x, i)));
  part[id] = largest;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = 0; i < GROUP; i++)
    largest = LARGER(largest, part[i]);
  return 127 / (largest < 1e-5f ? 1e-5f : largest);
}

// round_whole is round_rows with one scale for each row, which is the step of all its blocks. A group rounds a row.
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
round_whole(__global const float4 *x, int x_at, int k, int block, __global char8 *quants, __global float *steps, int steps_at,
            __global short *sums, int sums_at) {
  __local float part[GROUP];
  const int id = get_local_id(0);
  const size_t row = get_group_id(0);
  x += x_at + row * (k / 4);
  const float scale = whole_scale(x, k, part);
  for (int g = id; g < k / 16; g += GROUP) {
    const char8 a = convert_char8_sat_rte(EIGHT_AT(x, 2 * g) * scale), b = convert_char8_sat_rte(EIGHT_AT(x, 2 * g + 1) * scale);
    quants[row * (k / 8) + 2 * g] = a;
    quants[row * (k / 8) + 2 * g + 1] = b;
    const short8 s = convert_short8(a) + convert_short8(b);
    const short4 t = s.lo + s.hi;
    sums[sums_at + row * (k / 16) + g] = t.x + t.y + t.z + t.w;
  }
  const float step = 1 / scale;
  for (int b = id; b < k / block; b += GROUP)
    steps[steps_at + row * (k / block) + b] = step;
}

// round_whole_floats is round_whole for weights of floats: out [m, k] are the quants times the row's step. k may be any number.
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
round_whole_floats(__global const float *x, int x_at, int k, __global float *out, int out_at) {
  __local float part[GROUP];
  const int id = get_local_id(0);
  const size_t row = get_group_id(0);
  x += x_at + row * k;
  float largest = 0;
  for (int i = id; i < k; i += GROUP)
    largest = LARGER(largest, fabs(x[i]));
  part[id] = largest;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = 0; i < GROUP; i++)
    largest = LARGER(largest, part[i]);
  const float scale = 127 / (largest < 1e-5f ? 1e-5f : largest), step = 1 / scale;
  for (int i = id; i < k; i += GROUP)
    out[out_at + row * k + i] = convert_char_sat_rte(x[i] * scale) * step;
}
