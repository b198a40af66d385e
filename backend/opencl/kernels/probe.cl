// probe_dot counts where DOT is not what it says, over pairs of bytes of every sign and size; a work-item tries 256.
__kernel void probe_dot(__global int *wrong) {
  const uint a = get_global_id(0) * 0x01030507u + 0x80FF7F01u;
  int found = 0;
  for (uint i = 0; i < 256; i++) {
    const uint b = i * 0x0B0D1113u ^ 0x7F8001FFu;
    const char4 x = as_char4(a), y = as_char4(b);
    found += DOT(a, b, -(int)i) != x.x * y.x + x.y * y.y + x.z * y.z + x.w * y.w - (int)i;
  }
  wrong[get_global_id(0)] = found;
}
