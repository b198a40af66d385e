// Floats as keys that can be ordered as integers.

// An element is its order and, below, the complement of where it stands, so that a larger key comes first whatever compilers
// assume of NaNs and signs of zeros. No element has the key 0.
static inline ulong key_of(uint bits, uint index) {
  uint order = bits & 0x80000000 ? ~bits : bits | 0x80000000;
  if ((bits & 0x7fffffff) > 0x7f800000) // NaN
    order = 0xffffffff;
  else if ((bits & 0x7fffffff) == 0)
    order = 0x80000000;
  return (ulong)order << 32 | (uint)~index;
}
