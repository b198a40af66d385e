// Products of few rows of activations with weights: what decoding does most. It is bound by the memory that holds the
// weights, so every byte of them is loaded once, in pieces of 16 bytes, neighbouring lanes loading neighbouring pieces.
//
// LANES_GROUP, the group, is divided into teams of `lanes` work-items, which formats.cl explains. A team computes ROWS rows
// of weights at once for the sake of the activations, which each row needs anew; then its lanes' sums meet in local memory.
// FORMAT_… names the format of the weights.
//
// A norm costs no pass of its own: Σ w·(x/r·g) = (Σ w·x·g)/r, and the sum of the squares that r is made of comes by the way.

#define TEAM_ARGUMENTS int k, int chunks, int lanes
#define WEIGHT_ARGUMENTS(i) __global const uint4 *quants##i, __global const half *scales##i, int first##i, int rows##i

#if defined(FORMAT_q4_0) || defined(FORMAT_q8_0)
#define PIECES 8 // groups of four elements that a lane has of a chunk
#elif defined(FORMAT_f32)
#define PIECES 1
#else
#define PIECES 2
#endif

// group_index returns which group of four activations is number j of a lane.
inline int group_index(int chunk, int lanes, int lane, int j) {
#if PIECES == 8
  return (chunk * 8 + j) * lanes + lane;
#else
  return (chunk * lanes + lane) * PIECES + j;
#endif
}

// row_product returns a lane's part of the product of a row of weights with the activations x; correction[j] is what the
// format wants of group j.
inline float row_product(__global const uint4 *quants, __global const half *scales, size_t row_chunk, int lanes, int lane,
                         const float4 *x, const float *correction) {
  float sum = 0;
#if defined(FORMAT_q4_0)
  // The four bits of a quant q, put below a float's leading 1, make 1 + q/16. With t = Σ x the sum of (q-8)·x is
  // 16·(Σ (1 + q/16)·x - 1.5·t), and -1.5·t is the correction; the 16 comes last.
  const uint4 word = quants[row_chunk * lanes + lane];
  const float8 scale = vload_half8(0, scales + split_scale(row_chunk, lanes, lane));
#define BITS(q, at) as_float(0x3F800000u | (((at) < 19 ? (q) << (19 - (at)) : (q) >> ((at) - 19)) & 0x780000u))
#define GROUP_OF(q, at, j, s)                                                                                        \
  sum += scale.s * (x[j].x * BITS(q, at) + (x[j].y * BITS(q, at + 4) + (x[j].z * BITS(q, at + 8) +                   \
                    (x[j].w * BITS(q, at + 12) + correction[j]))));
  GROUP_OF(word.x, 0, 0, s0)
  GROUP_OF(word.x, 16, 1, s1)
  GROUP_OF(word.y, 0, 2, s2)
  GROUP_OF(word.y, 16, 3, s3)
  GROUP_OF(word.z, 0, 4, s4)
  GROUP_OF(word.z, 16, 5, s5)
  GROUP_OF(word.w, 0, 6, s6)
  GROUP_OF(word.w, 16, 7, s7)
#elif defined(FORMAT_q8_0)
  const uint4 low = quants[row_chunk * 2 * lanes + lane], high = quants[(row_chunk * 2 + 1) * lanes + lane];
  const float8 scale = vload_half8(0, scales + split_scale(row_chunk, lanes, lane));
  sum += scale.s0 * dot(x[0], convert_float4(as_char4(low.x)));
  sum += scale.s1 * dot(x[1], convert_float4(as_char4(low.y)));
  sum += scale.s2 * dot(x[2], convert_float4(as_char4(low.z)));
  sum += scale.s3 * dot(x[3], convert_float4(as_char4(low.w)));
  sum += scale.s4 * dot(x[4], convert_float4(as_char4(high.x)));
  sum += scale.s5 * dot(x[5], convert_float4(as_char4(high.y)));
  sum += scale.s6 * dot(x[6], convert_float4(as_char4(high.z)));
  sum += scale.s7 * dot(x[7], convert_float4(as_char4(high.w)));
#elif defined(FORMAT_f32)
  sum = dot(x[0], as_float4(quants[row_chunk * lanes + lane]));
#elif defined(FORMAT_f16)
  const float8 w = vload_half8(row_chunk * lanes + lane, (__global const half *)quants);
  sum = dot(x[0], w.lo) + dot(x[1], w.hi);
#elif defined(FORMAT_bf16)
  const uint4 w = quants[row_chunk * lanes + lane];
  const float4 a = as_float4((uint4)(w.x << 16, w.x & 0xFFFF0000u, w.y << 16, w.y & 0xFFFF0000u));
  const float4 b = as_float4((uint4)(w.z << 16, w.z & 0xFFFF0000u, w.w << 16, w.w & 0xFFFF0000u));
  sum = dot(x[0], a) + dot(x[1], b);
#endif
  return sum;
}

// team_sums leaves in totals[team·(ROWS+1) + r] the product of row r, and after the rows the sum of squares of x, where norm
// is 1. A plain format's rows have `stride` lanes' pieces, the last of which may be fewer than lanes.
inline void team_sums(__global const uint4 *quants, __global const half *scales, int row, int rows, TEAM_ARGUMENTS, int stride,
                      __global const float4 *x, __global const float4 *gain, int norm, __local float *part, __local float *totals) {
  const int id = get_local_id(0), lane = id % lanes;
  float sums[ROWS + 1];
  for (int r = 0; r <= ROWS; r++)
    sums[r] = 0;
  for (int chunk = 0; chunk < chunks; chunk++) {
    float4 v[PIECES];
    float correction[PIECES];
#pragma unroll
    for (int j = 0; j < PIECES; j++) {
      const int i = group_index(chunk, lanes, lane, j);
      v[j] = i * 4 < k ? x[i] : (float4)(0);
      if (norm) {
        sums[ROWS] += dot(v[j], v[j]);
        v[j] *= i * 4 < k ? gain[i] : (float4)(0);
      }
      correction[j] = -1.5f * (v[j].x + v[j].y + v[j].z + v[j].w);
    }
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
      const size_t at = (size_t)min(row + r, rows - 1);
#if PIECES == 8
      sums[r] += row_product(quants, scales, at * stride + chunk, lanes, lane, v, correction);
#else
      if ((chunk * lanes + lane) * PIECES * 4 < k) // a plain row: pieces count through
        sums[r] += row_product(quants, scales, at * stride + chunk * lanes + lane, 1, 0, v, correction);
#endif
    }
  }
#pragma unroll
  for (int r = 0; r <= ROWS; r++)
    part[r * GROUP + id] = sums[r];
  barrier(CLK_LOCAL_MEM_FENCE);
  const int teams = GROUP / lanes;
  for (int i = id; i < teams * (ROWS + 1); i += GROUP) {
    const int team = i / (ROWS + 1), r = i % (ROWS + 1);
    float sum = 0;
    for (int l = 0; l < lanes; l++)
      sum += part[r * GROUP + team * lanes + l];
#if defined(FORMAT_q4_0)
    if (r < ROWS)
      sum *= 16.0f;
#endif
    totals[i] = sum;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
}

#define KERNEL __kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
#define ROWS_OF_GROUP (GROUP / lanes * ROWS)

// matvec computes out [.., width] = x [.., k] · weightᵀ for `rows` rows from first, or adds it. The grid's second dimension
// is the rows of x.
KERNEL matvec(WEIGHT_ARGUMENTS(0), TEAM_ARGUMENTS, int stride, __global const float4 *x, int x_at, output out, int out_at,
              int width, int accumulate) {
  __local float part[GROUP * (ROWS + 1)], totals[GROUP * (ROWS + 1)];
  const int id = get_local_id(0), block = get_group_id(0) * ROWS_OF_GROUP, m = get_group_id(1);
  x += x_at + (size_t)m * (k / 4);
  team_sums(quants0, scales0, first0 + block + id / lanes * ROWS, first0 + rows0, k, chunks, lanes, stride, x, x, 0, part, totals);
  for (int i = id; i < ROWS_OF_GROUP; i += GROUP) {
    const int row = block + i;
    if (row < rows0) {
      output to = out + out_at + (size_t)m * width + row;
      const float v = totals[i / ROWS * (ROWS + 1) + i % ROWS];
      *to = accumulate ? *to + v : v;
    }
  }
}

// norm_factor returns 1/r of a team's sum of squares.
inline float norm_factor(__local const float *totals, int team, int k, float eps) {
  return 1.0f / sqrt(totals[team * (ROWS + 1) + ROWS] / k + eps);
}

// norm_matvec computes the products of the normed x with up to three weights; blocks1 and blocks2 say with which group
// those of the second and third begin.
KERNEL norm_matvec(WEIGHT_ARGUMENTS(0), WEIGHT_ARGUMENTS(1), WEIGHT_ARGUMENTS(2), int blocks1, int blocks2, TEAM_ARGUMENTS,
                   int stride, __global const float4 *x, int x_at, __global const float4 *gain, int gain_at, float eps,
                   output out0, int out0_at, output out1, int out1_at, output out2, int out2_at) {
  __local float part[GROUP * (ROWS + 1)], totals[GROUP * (ROWS + 1)];
  const int id = get_local_id(0), group = get_group_id(0), m = get_group_id(1);
  const int term = (group >= blocks1) + (group >= blocks2);
  __global const uint4 *quants = term == 0 ? quants0 : term == 1 ? quants1 : quants2;
  __global const half *scales = term == 0 ? scales0 : term == 1 ? scales1 : scales2;
  const int first = term == 0 ? first0 : term == 1 ? first1 : first2, rows = term == 0 ? rows0 : term == 1 ? rows1 : rows2;
  output out = term == 0 ? out0 + out0_at : term == 1 ? out1 + out1_at : out2 + out2_at;
  const int block = (group - (term == 0 ? 0 : term == 1 ? blocks1 : blocks2)) * ROWS_OF_GROUP;
  x += x_at + (size_t)m * (k / 4);
  team_sums(quants, scales, first + block + id / lanes * ROWS, first + rows, k, chunks, lanes, stride, x, gain + gain_at, 1,
            part, totals);
  for (int i = id; i < ROWS_OF_GROUP; i += GROUP) {
    const int row = block + i;
    if (row < rows)
      out[(size_t)m * rows + row] = totals[i / ROWS * (ROWS + 1) + i % ROWS] * norm_factor(totals, i / ROWS, k, eps);
  }
}

// norm_swiglu computes silu(n·gateᵀ)·(n·upᵀ) of the normed x; both weights have the same rows.
KERNEL norm_swiglu(WEIGHT_ARGUMENTS(0), WEIGHT_ARGUMENTS(1), TEAM_ARGUMENTS, int stride, __global const float4 *x, int x_at,
                   __global const float4 *gain, int gain_at, float eps, output out, int out_at) {
  __local float part[GROUP * (ROWS + 1)], gates[GROUP * (ROWS + 1)], ups[GROUP * (ROWS + 1)];
  const int id = get_local_id(0), block = get_group_id(0) * ROWS_OF_GROUP, m = get_group_id(1);
  const int row0 = block + id / lanes * ROWS;
  x += x_at + (size_t)m * (k / 4);
  team_sums(quants0, scales0, first0 + row0, first0 + rows0, k, chunks, lanes, stride, x, gain + gain_at, 1, part, gates);
  team_sums(quants1, scales1, first1 + row0, first1 + rows1, k, chunks, lanes, stride, x, gain + gain_at, 1, part, ups);
  for (int i = id; i < ROWS_OF_GROUP; i += GROUP) {
    const int row = block + i, at = i / ROWS * (ROWS + 1) + i % ROWS;
    if (row < rows0) {
      const float factor = norm_factor(gates, i / ROWS, k, eps);
      const float gate = gates[at] * factor;
      out[out_at + (size_t)m * rows0 + row] = gate / (1.0f + exp(-gate)) * (ups[at] * factor);
    }
  }
}
