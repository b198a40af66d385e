// Slots on their way to the front of their heads, by way of other memory: a kernel takes them there, and one brings them back.
//
// keep has for each head where its list begins and how many slots it keeps, and then the lists: slot keep[i] of a head becomes its
// slot i. The grid's third dimension has slots `begin` and on; where they are in the memory between is [slots, kv_heads, keys and
// values, HEAD_BYTES]. Slots that stay are not touched: their pages may be others' too. Bytes go in twos.

#define TWOS ((int)HEAD_BYTES / 2)
#define MOVE_ARGUMENTS __global const int *keep, int begin, __global ushort *between, CACHE_ARGUMENTS, const run_list runs

// move_begin says what the work-item moves, and returns where it does not.
#define MOVE_BEGIN                                                                                                   \
  const int i = get_global_id(0), head = get_global_id(1), kv_heads = get_global_size(1), slot = get_global_id(2);   \
  const int to = begin + slot, from = to < keep[2 * head + 1] ? keep[keep[2 * head] + to] : to;                      \
  if (i >= 2 * TWOS || from == to)                                                                                   \
    return;                                                                                                          \
  const run r = runs.of[0];                                                                                          \
  __global ushort *there = between + ((size_t)slot * kv_heads + head) * 2 * TWOS + i;

// two_of returns the two bytes with number i of a slot's keys and values.
#define TWO_OF(page, slot, i) ((__global ushort *)(page))[(((i) < TWOS ? 0 : TILE) + (slot) % TILE) * (size_t)TWOS + (i) % TWOS]

__kernel void compact_take(MOVE_ARGUMENTS) {
  MOVE_BEGIN
  *there = TWO_OF(page_of(r, head, from / TILE, CACHE_NAMES), from, i);
}

__kernel void compact_bring(MOVE_ARGUMENTS) {
  MOVE_BEGIN
  TWO_OF(page_of(r, head, to / TILE, CACHE_NAMES), to, i) = *there;
}
