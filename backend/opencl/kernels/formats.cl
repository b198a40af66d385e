// Numbers as they are stored: rows as files and caches have them, and the split layout of weights.
//
// A split row of k elements is divided into chunks of 32·lanes elements, where lanes is a power of two up to 32. Lane l of a
// chunk has its elements 4(j·lanes + l) + i for j < 8 and i < 4: so neighbouring lanes multiply with neighbouring groups of
// four activations, and yet each loads its 32 quants in pieces of 16 bytes. The quants of the lanes follow one another:
//
//   q4_0, q4_1: one piece a lane; 16-bit part j of it holds the nibbles of group j
//   q6_k: the low nibbles of all lanes like that, then half a piece a lane, whose byte j holds the upper bits of group j
//   q8_0: two pieces a lane, each piece for all lanes together; group j is 32-bit part j%4 of piece j/4
//
// Scales lie in an array of their own: for each chunk and each SCALE_LANES lanes, whose groups j belong to one block, eight
// halves, that of group j being number j. In q4_1, which stands for q4_k too, eight minimums divided by 16 follow each eight
// scales. Elements past the row's end have a scale of 0.

// element returns element i of a row of a file's or cache's layout, TYPE telling which.
static inline float f32_element(bytes row, int i) { return ((input)row)[i]; }
static inline float f16_element(bytes row, int i) { return half_at(row + 2 * (size_t)i); }
static inline float bf16_element(bytes row, int i) { return as_float((uint)((__global const ushort *)row)[i] << 16); }
static inline float q8_0_element(bytes row, int i) {
  bytes block = row + (size_t)(i / 32) * 34;
  return half_at(block) * (char)block[2 + i % 32];
}
static inline float q4_0_element(bytes row, int i) {
  bytes block = row + (size_t)(i / 32) * 18;
  const int nibble = block[2 + i % 16] >> (i % 32 / 16 * 4) & 15;
  return half_at(block) * (nibble - 8);
}

// split_scale returns where the scales of a lane are, in halves, for blocks of scale_lanes lanes and numbers for each group.
static inline size_t split_scale(size_t row_chunk, int lanes, int lane, int scale_lanes, int numbers) {
  return (row_chunk * max(lanes / scale_lanes, 1) + lane / scale_lanes) * 8 * numbers;
}
