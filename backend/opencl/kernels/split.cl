// A file's rows to the split layout that formats.cl describes. A work-item moves the 32 elements of a lane.

#define SPLIT_ARGUMENTS bytes raw, int k, int chunks, int lanes, int total, __global uint4 *quants, __global half *scales, int row_at

// split_scales stores the scales of a set of 8 lanes.
inline void split_scales(bytes row, int k, int chunk, int lanes, int lane, int block_bytes, size_t row_chunk, __global half *scales) {
  if (lane % 8 != 0)
    return;
  __global ushort *to = (__global ushort *)scales + split_scale(row_chunk, lanes, lane);
  for (int j = 0; j < 8; j++) {
    const int at = chunk * 32 * lanes + 4 * (j * lanes + lane);
    to[j] = at < k ? *(__global const ushort *)(row + (size_t)(at / 32) * block_bytes) : 0;
  }
}

__kernel void split_q4_0(SPLIT_ARGUMENTS) {
  const int id = get_global_id(0);
  if (id >= total)
    return;
  const int lane = id % lanes, chunk = id / lanes % chunks, row = id / lanes / chunks;
  bytes from = raw + (size_t)row * (k / 32) * 18;
  const size_t row_chunk = (size_t)(row_at + row) * chunks + chunk;
  uint word[4] = {0, 0, 0, 0};
  for (int j = 0; j < 8; j++) {
    const int at = chunk * 32 * lanes + 4 * (j * lanes + lane);
    uint group = 0x8888;
    if (at < k) {
      bytes q = from + (size_t)(at / 32) * 18 + 2 + at % 16;
      const int shift = at % 32 / 16 * 4;
      group = (q[0] >> shift & 15) | (q[1] >> shift & 15) << 4 | (q[2] >> shift & 15) << 8 | (q[3] >> shift & 15) << 12;
    }
    word[j / 2] |= group << (j % 2 * 16);
  }
  quants[row_chunk * lanes + lane] = (uint4)(word[0], word[1], word[2], word[3]);
  split_scales(from, k, chunk, lanes, lane, 18, row_chunk, scales);
}

__kernel void split_q8_0(SPLIT_ARGUMENTS) {
  const int id = get_global_id(0);
  if (id >= total)
    return;
  const int lane = id % lanes, chunk = id / lanes % chunks, row = id / lanes / chunks;
  bytes from = raw + (size_t)row * (k / 32) * 34;
  const size_t row_chunk = (size_t)(row_at + row) * chunks + chunk;
  uint word[8];
  for (int j = 0; j < 8; j++) {
    const int at = chunk * 32 * lanes + 4 * (j * lanes + lane);
    bytes q = from + (size_t)(at / 32) * 34 + 2 + at % 32;
    word[j] = at < k ? (uint)q[0] | (uint)q[1] << 8 | (uint)q[2] << 16 | (uint)q[3] << 24 : 0;
  }
  quants[row_chunk * 2 * lanes + lane] = (uint4)(word[0], word[1], word[2], word[3]);
  quants[(row_chunk * 2 + 1) * lanes + lane] = (uint4)(word[4], word[5], word[6], word[7]);
  split_scales(from, k, chunk, lanes, lane, 34, row_chunk, scales);
}
