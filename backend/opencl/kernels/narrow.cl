// Floats to the types that keys and values are cached in. src_at is in elements, dst_at in bytes; rows are whole blocks, so
// n elements are n / 32 blocks wherever rows end.

__kernel void narrow_f16(input src, int src_at, __global uchar *dst, ulong dst_at, int n) {
  const int i = get_global_id(0);
  if (i < n)
    vstore_half_rte(src[src_at + i], i, (__global half *)(dst + dst_at));
}

// narrow_q8_0 maps the largest magnitude of a block to 127.
__kernel void narrow_q8_0(input src, int src_at, __global uchar *dst, ulong dst_at, int n) {
  const int block = get_global_id(0);
  if (block >= n)
    return;
  src += src_at + (size_t)block * 32;
  dst += dst_at + (size_t)block * 34;
  float largest = 0;
  for (int i = 0; i < 32; i++)
    largest = LARGER(largest, fabs(src[i]));
  const float d = not_nan(largest / 127), inverse = reciprocal(d);
  vstore_half_rte(d, 0, (__global half *)dst);
  for (int i = 0; i < 32; i++)
    dst[2 + i] = convert_char_sat(round(src[i] * inverse));
}

// narrow_q4_0 maps the element of the largest magnitude, sign included, to -8.
__kernel void narrow_q4_0(input src, int src_at, __global uchar *dst, ulong dst_at, int n) {
  const int block = get_global_id(0);
  if (block >= n)
    return;
  src += src_at + (size_t)block * 32;
  dst += dst_at + (size_t)block * 18;
  float extreme = 0;
  for (int i = 0; i < 32; i++)
    if (as_int(fabs(src[i])) > as_int(fabs(extreme)))
      extreme = src[i];
  const float d = not_nan(extreme / -8), inverse = reciprocal(d);
  vstore_half_rte(d, 0, (__global half *)dst);
  for (int i = 0; i < 16; i++) {
    const int low = min(15, convert_int_sat(fma(src[i], inverse, 8.5f)));
    const int high = min(15, convert_int_sat(fma(src[i + 16], inverse, 8.5f)));
    dst[2 + i] = (uchar)(max(low, 0) | max(high, 0) << 4);
  }
}
