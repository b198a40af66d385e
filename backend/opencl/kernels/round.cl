// round_rows writes rows of activations x [m, k] as their products with blocks take them, rounded and yet floats, to out; k is
// a multiple of block. The grid's second dimension is the rows.
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
round_rows(__global const float4 *x, int x_at, int k, int block, __global float8 *out) {
  __local float part[GROUP];
  const int i = get_global_id(0), inside = i * ROUNDED_AT_ONCE < k;
  const size_t row = get_global_id(1);
  float step;
  const float8 v = inside ? EIGHT_AT(x + x_at + row * (k / 4), i) : (float8)(0);
  const char8 q = round_eight(v, block / ROUNDED_AT_ONCE, &step, part);
  if (inside)
    out[row * (k / 8) + i] = step * convert_float8(q);
}
