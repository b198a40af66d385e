// A chain of operations of several rows of activations: up to MOST_TOKENS, which a record counts. They are tokens of as many conversations, or
// tokens of one: later ones see more slots.
//
// Local memory has no room for all rows of rounded activations. So a record before each product rounds them for all groups:
//
//   ROUND   out = x of all rows, normed if there is a gain, or merged of the parts of the TILES before, in eight bits: rounded_of's layout.
//           A row has `units` pieces of `each` times eight elements
//
// A group loads its blocks of weights before it meets the others, and multiplies them with TOGETHER rows of activations at a time, so that
// quants are unpacked once for these. All blocks of a work-item are multiplied with the same blocks of activations, since the group computes no
// more blocks of a row at once than it has work-items.

#define MOST_TOKENS 8
#define TOGETHER 2

// rounded_of is where rounded activations lie: halves [rows, 2, blocks] of 16 quants, the sums of eights [rows, blocks, 4], and steps
// [rows, k / BLOCK].
typedef struct {
  __global uint4 *halves;
  __global short4 *eights;
  __global float *steps;
} rounded_of;

INLINED rounded_of rounded_at(ulong memory, int rows, int k) {
  __global uchar *at = (__global uchar *)memory;
  return (rounded_of){(__global uint4 *)at, (__global short4 *)(at + rows * k), (__global float *)(at + rows * k + rows * (k / 4))};
}

// The local memory of a group. Rounding takes that of the terms.
#define TOTALS_BYTES (MOST_TOKENS * MOST_ROWS * 4)
#define ROWS_PRODUCT_BYTES (TERMS_BYTES + FACTORS_BYTES + TOTALS_BYTES)
#define ROWS_BYTES (ROWS_PRODUCT_BYTES > TEAMS_OF_TILES * TEAM_BYTES ? ROWS_PRODUCT_BYTES : TEAMS_OF_TILES * TEAM_BYTES)
#define ROWS_MEMORY                                                                                                  \
  __local uint4 memory[ROWS_BYTES / 16 + 1] __attribute__((aligned(32)));                                            \
  __local term_type *terms = (__local term_type *)memory;                                                            \
  __local float2 *factors = (__local float2 *)((__local uchar *)terms + TERMS_BYTES);                                \
  __local float *totals = (__local float *)((__local uchar *)factors + FACTORS_BYTES);                               \
  __local float lanes[LANES_OF_SUM]
#define ROWS_ARGUMENTS __local term_type *terms, __local float2 *factors, __local float *totals, __local float *lanes
#define ROWS_NAMES terms, factors, totals, lanes

// round_rows computes the group's share of a ROUND.
INLINED void round_rows(const __local record *r, ROWS_ARGUMENTS) {
  const int id = get_local_id(0), k = r->k;
  __local float *part = (__local float *)terms, *stage = part + GROUP;
  __global const float4 *gain = (__global const float4 *)r->gain;
  const rounded_of to = rounded_at(r->out, r->rows, k);
#pragma unroll 1
  for (int item = get_group_id(0); item < r->rows * r->units; item += get_num_groups(0)) {
    const int row = item / r->units, begin = (item - row * r->units) * r->each, end = min(begin + r->each, k / ROUNDED_AT_ONCE);
    __global const float4 *x = (__global const float4 *)r->x + (size_t)row * (k / 4);
    float factor = 1;
    if (gain)
      factor = norm_scale((input)x, k, r->eps, stage, lanes);
#pragma unroll 1
    for (int base = begin; base < end; base += GROUP) {
      const int i = base + id, inside = i < end;
      float8 v = (float8)(0);
      if (inside && r->merged) {
        v = merged_eight(r, row, i);
        ((__global float8 *)x)[i] = v;
      } else if (inside)
        v = EIGHT_AT(x, i);
      if (gain && inside)
        v = v * factor * EIGHT_AT(gain, i);
      float step;
      const char8 q = round_eight(v, SHARED_STEP, &step, part);
      if (!inside)
        continue;
      const int quarter = i % 4;
      ((__global uint2 *)to.halves)[((row * 2 + quarter / 2) * (k / 32) + i / 4) * 2 + quarter % 2] = as_uint2(q);
      const short8 e = convert_short8(q);
      const short4 t = e.lo + e.hi;
      ((__global short *)to.eights)[row * (k / 8) + i] = t.x + t.y + t.z + t.w;
      if (i % SHARED_STEP == 0)
        to.steps[(row * (k / 8) + i) / SHARED_STEP] = step;
    }
  }
}

// activations_at returns a block of a row of rounded activations.
INLINED block_activations activations_at(const rounded_of from, int row, int blocks, int block) {
  const short4 e = from.eights[row * blocks + block];
  return (block_activations){from.halves[2 * row * blocks + block], from.halves[(2 * row + 1) * blocks + block], e.x + e.y, e.z + e.w,
                             from.steps[(row * blocks + block) / (BLOCK / 32)]};
}

// add_rows_of_all computes the sums of the rows of weights that the group computes at once for all rows of activations; the first blocks are
// loaded. They go into totals [MOST_TOKENS, MOST_ROWS].
INLINED void add_rows_of_all(share *s, const __local record *r, ROWS_ARGUMENTS) {
  const int id = get_local_id(0), blocks = r->k / 32, width = 1 << s->log, column = id & (width - 1), used = s->rows << s->log, rows = r->rows;
  const rounded_of from = rounded_at(r->x, rows, r->k);
#pragma unroll 1
  for (int first = 0; first < blocks; first += width) {
    const int inside = first + column < blocks, block = inside ? first + column : 0;
    block_activations a[TOGETHER];
#pragma unroll
    for (int t = 0; t < TOGETHER; t++)
      a[t] = activations_at(from, t, blocks, block);
#pragma unroll 1
    for (int m = 0; m < rows; m += TOGETHER) {
#pragma unroll
      for (int two = 0; two < EACH; two += 2)
        if (two * GROUP < used) // two blocks side by side; what is beyond the rows is not stored
#pragma unroll
          for (int j = two; j < two + 2; j++) {
            const int row = (id + j * GROUP) >> s->log;
#pragma unroll
            for (int t = 0; t < TOGETHER; t++) {
              const term_type term = block_term(s->w[j], a[t]);
              if (row < s->rows)
                terms[t * CHUNK_TERMS + row * (width + 1) + column] = inside ? term : (term_type)(0); // which adds nothing
#if BLOCK == 256
              if (row < s->rows && column % 8 == 0)
                factors[t * CHUNK_FACTORS + row * (width / 8 + 1) + column / 8] = inside ? block_factors(s->w[j], a[t].step) : (float2)(0);
#endif
            }
          }
      if (m + TOGETHER < rows) {
#pragma unroll
        for (int t = 0; t < TOGETHER; t++)
          a[t] = activations_at(from, min(m + TOGETHER + t, rows - 1), blocks, block);
      } else if (first + width < blocks)
        load_blocks(s, blocks, first + width);
      barrier(CLK_LOCAL_MEM_FENCE);
      for (int own = id; own < TOGETHER * MOST_ROWS; own += GROUP) {
        const int t = own / 32 % TOGETHER, row = own / (32 * TOGETHER) * 32 + own % 32; // neighbouring teams of 32 have different rows of activations
        if (row < s->rows && m + t < rows) {
          __local float *total = totals + (m + t) * MOST_ROWS + row;
          *total = add_terms(first > 0 ? *total : 0, terms + t * CHUNK_TERMS + row * (width + 1), factors + t * CHUNK_FACTORS + row * (width / 8 + 1), width);
        }
      }
      barrier(CLK_LOCAL_MEM_FENCE);
    }
  }
}

// multiply_rows computes the units of a product that the group computes at once. Their first blocks are loaded.
INLINED void multiply_rows(share *s, const __local record *r, ROWS_ARGUMENTS) {
  const int count = s->units * r->rows;
  int i = get_local_id(0), row = i / s->units;
  target t;
  if (i < count) // on its way while the product is computed
    t = target_of(s, r, row, i - row * s->units);
  add_rows_of_all(s, r, ROWS_NAMES);
#pragma unroll 1
  while (i < count) {
    finish(s, r, &t, i - row * s->units, totals + row * MOST_ROWS);
    i += GROUP;
    row = i / s->units;
    if (i < count)
      t = target_of(s, r, row, i - row * s->units);
  }
}

// chain_rows is chain for several rows.
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
chain_rows(__global const record *records, int count, volatile __global uint *meeting, uint before, int patience) {
  ROWS_MEMORY;
  __local record three[3];
  __local int left;
  const int id = get_local_id(0), group = get_group_id(0), groups = get_num_groups(0);
  __local record *r = three, *next = three + 1, *later = three + 2;
  for (int i = id; i < 2 * RECORD_WORDS; i += GROUP)
    ((__local int *)three)[i] = ((__global const int *)records)[i]; // of the list there are always two
  barrier(CLK_LOCAL_MEM_FENCE);
  share s;
  int n = 0, unit = begin_of(r, group), again = 0; // the record, the unit, and whether the record has been begun
  int word = 0;                                    // of the record after the next one
  if (meeting[GAVE_UP]) {
    give_up(records, count);
    return;
  }
#pragma unroll 1
  for (;;) {
    const int multiplies = r->kind == STORE || r->kind == PLAIN || r->kind == SWIGLU;
    if (multiplies || r->kind == TILES)
      begin_share(&s, r, unit, end_of(r, group));
    if (multiplies && s.units > 0)
      load_blocks(&s, r->k / 32, 0);
    if (!again) {
      if (n > 0 && !met(meeting, before, patience, &left)) {
        give_up(records, count);
        return;
      }
      if (id < RECORD_WORDS && n + 2 < count)
        word = ((__global const int *)(records + n + 2))[id];
    }
    if (r->kind == TILES)
      attend_tiles(&s, r, memory);
    else if (r->kind == ROUND)
      round_rows(r, ROWS_NAMES);
    else if (r->kind == MERGE) {
      const int each = r->heads * QUADS / 2;
#pragma unroll 1
      for (int i = group + id * groups; i < r->rows * each; i += GROUP * groups)
        ((__global float8 *)r->x)[i] = merged_eight(r, i / each, i % each);
    } else if (s.units > 0) {
      multiply_rows(&s, r, ROWS_NAMES);
      if (unit + s.units < end_of(r, group)) {
        unit += s.units;
        again = 1;
        continue;
      }
    }
    if (++n == count) {
      if (meeting[GAVE_UP])
        give_up(records, count);
      return;
    }
    if (id < RECORD_WORDS)
      ((__local int *)later)[id] = word;
    arrive(meeting);
    before += groups;
    unit = begin_of(next, group);
    again = 0;
    __local record *done = r;
    r = next;
    next = later;
    later = done;
  }
}
