// compact gathers the slots that heads keep: slot keep[head·kept + i] of a head becomes slot i - begin of to, for the slots
// that the grid's third dimension has from begin on. An element of the data is 16 bits, of which a head has `halves`.
__kernel void compact(__global const ushort *from, ulong from_at, __global const int *keep, int kept, int begin,
                      __global ushort *to, int halves) {
  const int i = get_global_id(0), head = get_global_id(1), heads = get_global_size(1), slot = get_global_id(2);
  if (i < halves)
    to[((size_t)slot * heads + head) * halves + i] =
        from[from_at / 2 + ((size_t)keep[head * kept + begin + slot] * heads + head) * halves + i];
}
