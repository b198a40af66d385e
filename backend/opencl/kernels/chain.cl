// The products of a chain of operations, and the chain: see chain_record.cl.

// ask_ahead asks for the weights of a later record in the second-level cache: each group for a share of the lines.
INLINED void ask_ahead(const __local record *r) {
#ifdef LAST_GROUP
  for (int t = 0; t < 6; t++) {
    const int first = r->ahead_each[t] * get_group_id(0), lines = min(r->ahead_each[t], r->ahead_lines[t] - first);
    for (int i = get_local_id(0); i < lines; i += GROUP)
      asm volatile("prefetch.global.L2 [%0];" ::"l"(r->ahead[t] + (ulong)(first + i) * 128));
  }
#endif
}

// merged_eight returns elements 8·i to 8·i+7 of a row of the attention's result, of the parts of its tiles: see merge_parts. Parts are loaded
// MERGED at a time.
#define MERGED 8
INLINED float8 merged_eight(const __local record *r, int row, int i) {
  const int head = i / (QUADS / 2), at = i % (QUADS / 2) * 2;
  __global const int *tables = (__global const int *)r->tables;
  const int seen = groups_of(r->slots[row] - tables[r->table_at[row] + 2 * (head / SHARE) + 1]);
  __global const float4 *part = (__global const float4 *)r->parts + (size_t)(row * r->heads + head) * r->tiles * PART;
  float8 sum = (float8)(0);
  float most = 0, total = 0;
#pragma unroll 1
  for (int first = 0; first < seen; first += MERGED) {
    float8 next[MERGED];
    float2 numbers[MERGED];
#pragma unroll
    for (int t = 0; t < MERGED; t++)
      if (first + t < r->tiles) { // not of `seen`, which is being loaded
        __global const float4 *p = part + (size_t)(first + t) * PART;
        next[t] = (float8)(p[at], p[at + 1]);
        numbers[t] = p[QUADS].xy;
      }
#pragma unroll
    for (int t = 0; t < MERGED; t++) {
      if (first + t >= seen)
        continue;
      if (first + t == 0) {
        sum = next[0];
        most = numbers[0].x;
        total = numbers[0].y;
        continue;
      }
      const float m = fmax(most, numbers[t].x), shrink = exact_exp(most - m), grow = exact_exp(numbers[t].x - m);
      sum = fma(next[t], (float8)(grow), sum * shrink);
      total = fma(numbers[t].y, grow, total * shrink);
      most = m;
    }
  }
  return sum / total;
}

// norm_of_stage returns norm_scale of k floats in local memory. A work-item for each lane adds sixteen squares while the next ones are loaded.
INLINED float norm_of_stage(const __local float *stage, int k, float eps, __local float *lanes) {
  const int id = get_local_id(0);
  if (id < LANES_OF_SUM) {
    float sum = 0, now[16], next[16];
#define LOAD_SIXTEEN(to, at)                                                                                         \
  _Pragma("unroll") for (int i = 0; i < 16; i++) to[i] = (at) + i * LANES_OF_SUM < k ? stage[(at) + i * LANES_OF_SUM] : 0.0f;
    LOAD_SIXTEEN(now, id)
#pragma unroll 1
    for (int at = id; at < k; at += 16 * LANES_OF_SUM) {
      LOAD_SIXTEEN(next, at + 16 * LANES_OF_SUM)
#pragma unroll
      for (int i = 0; i < 16; i++) {
        sum = fma(now[i], now[i], sum);
        now[i] = next[i];
      }
    }
    lanes[id] = sum;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  return scale_of_squares(fold_lanes(lanes), k, eps);
}

// STAGED is how many floats the terms' memory holds besides what rounding needs, and STAGED_AT_ONCE how many pieces of eight a work-item has on their
// way.
#define STAGED (TERMS_BYTES / 4 - GROUP)
#define STAGED_AT_ONCE 4

// stage_x puts the activations of a product into local memory.
INLINED void stage_x(const __local record *r, __local float8 *stage) {
  const int id = get_local_id(0), k = r->k;
  __global const float4 *x = (__global const float4 *)r->x;
  if (r->merged) {
#pragma unroll 1
    for (int i = id; i * ROUNDED_AT_ONCE < k; i += GROUP) {
      const float8 v = merged_eight(r, 0, i);
      stage[i] = v;
      if (get_group_id(0) == 0)
        ((__global float8 *)x)[i] = v;
    }
    return;
  }
#pragma unroll 1
  for (int first = id; first * ROUNDED_AT_ONCE < k; first += STAGED_AT_ONCE * GROUP) {
    float8 v[STAGED_AT_ONCE];
#pragma unroll
    for (int j = 0; j < STAGED_AT_ONCE; j++)
      if ((first + j * GROUP) * ROUNDED_AT_ONCE < k)
        v[j] = EIGHT_AT(x, first + j * GROUP);
#pragma unroll
    for (int j = 0; j < STAGED_AT_ONCE; j++)
      if ((first + j * GROUP) * ROUNDED_AT_ONCE < k)
        stage[first + j * GROUP] = v[j];
  }
}

// load_blocks and add_rows do as those of the record's format.
INLINED void load_blocks(share *s, const __local record *r, int first) {
#if defined(SECOND)
  if (r->format == 1) {
    OF_FORMAT(load_blocks_, SECOND)(s, r->k / 32, first);
    return;
  }
#endif
  OF_FORMAT(load_blocks_, FIRST)(s, r->k / 32, first);
}
INLINED void add_rows(share *s, const __local record *r, CHAIN_ARGUMENTS) {
#if defined(SECOND)
  if (r->format == 1) {
    OF_FORMAT(add_rows_, SECOND)(s, r->k / 32, CHAIN_NAMES);
    return;
  }
#endif
  OF_FORMAT(add_rows_, FIRST)(s, r->k / 32, CHAIN_NAMES);
}

// round_x rounds the activations of a product to eight bits, as round_panel does, and loads the first blocks of the group's rows on the way:
// after the activations, since loads end in their order. The terms' memory is free. Code is kept short: each part of it runs once in a record,
// and is fetched anew.
INLINED void round_x(share *s, const __local record *r, CHAIN_ARGUMENTS) {
  const int id = get_local_id(0), k = r->k, staged = k <= STAGED;
  __global const float4 *x = (__global const float4 *)r->x, *gain = (__global const float4 *)r->gain;
  __local float *part = (__local float *)terms;
  __local float8 *stage = (__local float8 *)(part + GROUP);
  if (staged)
    stage_x(r, stage);
  load_blocks(s, r, 0);
  barrier(CLK_LOCAL_MEM_FENCE);
  float factor = 1;
  if (gain && staged)
    factor = norm_of_stage((const __local float *)stage, k, r->eps, lanes);
  else if (gain)
    factor = norm_scale((input)x, k, r->eps, part, lanes);
  barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll 1
  for (int base = 0; base * ROUNDED_AT_ONCE < k; base += GROUP) {
    const int i = base + id, inside = i * ROUNDED_AT_ONCE < k, block = i / 4, quarter = i % 4;
    float8 v = (float8)(0);
    if (inside)
      v = staged ? stage[i] : EIGHT_AT(x, i);
    if (gain && inside)
      v = v * factor * EIGHT_AT(gain, i);
    float step;
    const char8 q = round_eight(v, SHARED_STEP, &step, part);
    if (!inside)
      continue;
    ((__local uint2 *)rounded)[(quarter / 2 * (MOST_K / 32) + block) * 2 + quarter % 2] = as_uint2(q);
    const short8 e = convert_short8(q);
    const short4 t = e.lo + e.hi;
    ((__local short *)eights)[i] = t.x + t.y + t.z + t.w;
    steps[i / SHARED_STEP] = step;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
}

// target is where the work-item's unit of a product goes, found before the product is computed.
typedef struct {
  int term, i;         // of STORE
  float cosine, sine;  // of STORE
  output to;           // 0: nowhere
  slab cached;         // of STORE: the slot's elements; 0: nowhere
  float before;        // what the product is added to
} target;

// target_of returns the target of unit `own` of the group's, for a row of activations.
INLINED target target_of(const share *s, const __local record *r, int row, int own) {
  target t = {0, 0, 0, 0, 0, 0, 0};
  if (own >= s->units)
    return t;
  int unit = s->unit + own;
  t.to = (output)r->out + (size_t)row * r->width + unit;
  if (r->kind == STORE) {
    t.term = term_of(r, &unit);
    const int head = unit / HALF_DIM, at = head * HEAD_DIM + unit % HALF_DIM;
    t.i = unit % HALF_DIM;
    t.cosine = ((input)r->angles)[row * HEAD_DIM + t.i];
    t.sine = ((input)r->angles)[row * HEAD_DIM + t.i + HALF_DIM];
    t.to = t.term == 0 ? (output)r->out + row * r->counts[0] + at : t.term == 2 ? (output)r->values + row * r->counts[2] + at : 0;
    if (t.term > 0) {
      const run conversation = run_of_row(r, row);
      const int slot = slots_of(conversation, head, RECORD_CACHE) - 1;
      t.cached = page_of(conversation, head, slot / TILE, RECORD_CACHE) + ((t.term == 2 ? TILE : 0) + slot % TILE) * HEAD_BYTES;
    }
  } else if (r->accumulate)
    t.before = *t.to;
  return t;
}

// store_pair rotates a unit of STORE and stores it, as norm_store does.
INLINED void store_pair(const target *t, float a, float b) {
  if (t->term < 2) {
    const float x = a;
    a = fma(x, t->cosine, -(b * t->sine));
    b = fma(x, t->sine, b * t->cosine);
  }
  if (t->to) {
    t->to[0] = a;
    t->to[HALF_DIM] = b;
  }
  if (t->cached) {
    store_element(a, t->i, t->cached, 0);
    store_element(b, t->i + HALF_DIM, t->cached, 0);
  }
}

// finish puts the sums of unit `own` of those that the group has computed where they belong.
INLINED void finish(const share *s, const __local record *r, target *t, int own, const __local float *totals) {
  if (own >= s->units)
    return;
  const float v = totals[own];
  if (r->kind == STORE)
    store_pair(t, v, totals[s->units + own]);
  else if (r->kind == SWIGLU)
    *t->to = exact_silu(v) * totals[s->units + own];
  else
    *t->to = r->accumulate ? t->before + v : v;
}

// give_up makes what the records compute NaN, so that whoever reads results can see that there are none.
INLINED void give_up(__global const record *records, int count) {
  if (get_local_id(0) != 0)
    return;
  for (int n = 0; n < count; n++) {
    __global const record *r = records + n;
    for (int row = 0; row < r->rows; row++)
      if (r->kind == PLAIN)
        ((output)r->out)[row * r->width] = NAN;
      else if (r->gain) // x is what the products are added to
        ((output)r->x)[row * r->k] = NAN;
  }
}

#ifndef SEVERAL
// chain computes `count` records in order. `before` is how many groups have met in `meeting` before the launch, each of them counted.
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
chain(__global const record *records, int count, volatile __global uint *meeting, uint before, int patience) {
  CHAIN_MEMORY;
  __local record three[3];
  __local int left;
  const int id = get_local_id(0), group = get_group_id(0), groups = get_num_groups(0);
  __local record *r = three, *next = three + 1, *later = three + 2;
  for (int i = id; i < 2 * RECORD_WORDS; i += GROUP)
    ((__local int *)three)[i] = ((__global const int *)records)[i]; // of the list there are always two
  barrier(CLK_LOCAL_MEM_FENCE);
  share s;
  int n = 0, unit = begin_of(r, group), again = 0; // the record, the unit, and whether the record has been begun
  int rounded_x = 0;                               // whether the group has rounded x
  int word = 0;                                    // of the record after the next one
  if (meeting[GAVE_UP]) {
    give_up(records, count);
    return;
  }
#pragma unroll 1
  for (;;) {
    begin_share(&s, r, unit, end_of(r, group));
    if (!again) {
      ask_ahead(r);
      if (n > 0 && !r->kept && !met(meeting, before, patience, &left)) {
        give_up(records, count);
        return;
      }
      if (id < RECORD_WORDS && n + 2 < count)
        word = ((__global const int *)(records + n + 2))[id];
    }
    if (r->kind == TILES)
      attend_tiles(&s, r, memory);
    else if (r->kind == MERGE)
#pragma unroll 1
      for (int i = group + id * groups; i < r->heads * QUADS / 2; i += GROUP * groups)
        ((__global float8 *)r->x)[i] = merged_eight(r, 0, i);
    else if (s.units > 0) {
      target t = target_of(&s, r, 0, id);
      if (rounded_x)
        load_blocks(&s, r, 0);
      else
        round_x(&s, r, CHAIN_NAMES);
      rounded_x = 1;
      add_rows(&s, r, CHAIN_NAMES);
      finish(&s, r, &t, id, totals);
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
    if (next->kept)
      barrier(CLK_LOCAL_MEM_FENCE);
    else {
      arrive(meeting);
      before += groups;
      rounded_x = 0;
    }
    unit = begin_of(next, group);
    again = 0;
    __local record *done = r;
    r = next;
    next = later;
    later = done;
  }
}
#endif
