// The weighted sums of a tile's values, for QUERIES query heads of one token, with the CPU's bits.
//
// Values of floats are added by an FMA for each slot that the token sees, in order. Those in blocks of 32 are added in integers, as
// asm/internal/attention defines it: a block's weights times the scales of the slots' blocks are rounded to eight bits, with a step
// for each GROUPED neighbouring slots, whose products are summed as integers, which is exact in any order; an FMA adds each such sum
// times its step.

// sums_at is where results go: quad i of query g to to[g * apart + i], divided by the query's sum of weights where they are final.
typedef struct {
  __global float4 *to;
  size_t apart;
  int final;
} sums_at;

INLINED void put_sum(const sums_at at, int g, int quad, float4 sum, const __local float *total) {
  at.to[g * at.apart + quad] = at.final ? sum / total[g] : sum;
}

#ifdef PACKED

#define GROUPED 32                                              // slots that share a step
#define GROUPS (TILE / GROUPED)                                 // of a tile
#define BLOCKS (HEAD_DIM / 32)                                  // of a value
#define AT_ONCE (BLOCKS < 4 ? BLOCKS : 4)                       // blocks of the tile's values that are in local memory at a time
#define COLUMNS (AT_ONCE * 8)                                   // quads of these
#define SQUARES (TILE / 4 * COLUMNS / GROUP)                    // of four slots by four elements, that a work-item loads
#define TASKS (QUERIES * COLUMNS)                               // quads of results of these
#define OWN ((TASKS + GROUP - 1) / GROUP)                       // that a work-item computes
#define ROUNDED (QUERIES * AT_ONCE * TILE / ROUNDED_AT_ONCE)    // pieces of weights that are rounded

// The rounded weights [QUERIES, AT_ONCE, TILE], and their steps.
#define VALUE_MEMORY                                                                     \
  __local uint rounded[QUERIES * AT_ONCE * TILE / 4] __attribute__((aligned(16)));       \
  __local float steps[QUERIES * AT_ONCE * GROUPS]
#define VALUE_ARGUMENTS __local uint *rounded, __local float *steps, __local float *part
#define VALUE_NAMES rounded, steps, query_part

// fetched_values are values on their way: the work-item's squares, and the scales of one slot.
typedef struct {
  uint words[SQUARES][4];
  uint scales[AT_ONCE];
} fetched_values;

// fetch_values begins to load blocks of the tile's values, from the given one on. Slots after `last` are not read.
static inline void fetch_values(fetched_values *next, const place tile, int block, int last) {
  const int id = get_local_id(0);
#pragma unroll
  for (int j = 0; j < SQUARES; j++) {
    const int i = id + j * GROUP, quad = min(block * 8 + i % COLUMNS, QUADS - 1);
#pragma unroll
    for (int k = 0; k < 4; k++)
      next->words[j][k] = raw_at(tile.values, min(i / COLUMNS * 4 + k, last), quad).x;
  }
#pragma unroll
  for (int j = 0; j < AT_ONCE; j++)
    next->scales[j] = raw_at(tile.values, min(id, last), min(block + j, BLOCKS - 1) * 8).y;
}

// add_values sums the values, of which the token sees `seen` slots and the first blocks have been fetched. Weights are those of TILE
// slots for each query, 0 for slots that the token does not see: 0 times whatever scale is rounded to 0.
INLINED void add_values(fetched_values *next, const place tile, int seen, const __local float *weights,
                        const __local float *total, __local float4 *buffer, const sums_at at, VALUE_ARGUMENTS) {
  const int id = get_local_id(0), groups = (seen + GROUPED - 1) / GROUPED;
  __local uint4 *squares = (__local uint4 *)buffer; // [TILE / 4, COLUMNS]: four elements' bytes of four slots each
  __local float *scales = (__local float *)(buffer + TILE / 4 * COLUMNS); // [AT_ONCE, TILE]
  for (int block = 0; block < BLOCKS; block += AT_ONCE) {
#pragma unroll
    for (int j = 0; j < SQUARES; j++)
      squares[id + j * GROUP] = transposed(next->words[j], id + j * GROUP); // COLUMNS is whole blocks
#pragma unroll
    for (int j = 0; j < AT_ONCE; j++)
      scales[j * TILE + id] = scale_of((RAW)(0, next->scales[j]));
    barrier(CLK_LOCAL_MEM_FENCE);
    if (block + AT_ONCE < BLOCKS)
      fetch_values(next, tile, block + AT_ONCE, seen - 1);
    for (int begin = 0; begin < ROUNDED; begin += GROUP) {
      const int i = begin + id, inside = i < ROUNDED;
      const int row = inside ? i / (TILE / ROUNDED_AT_ONCE) : 0, eight = i % (TILE / ROUNDED_AT_ONCE);
      const float8 x = EIGHT_AT((const __local float4 *)(weights + row / AT_ONCE * TILE), eight) *
                       EIGHT_AT((const __local float4 *)(scales + row % AT_ONCE * TILE), eight);
      float step;
      const char8 q = round_eight(x, GROUPED / ROUNDED_AT_ONCE, &step, part);
      if (inside) {
        rounded[2 * i] = as_uint(q.lo);
        rounded[2 * i + 1] = as_uint(q.hi);
        if (eight % (GROUPED / ROUNDED_AT_ONCE) == 0)
          steps[i / (GROUPED / ROUNDED_AT_ONCE)] = step;
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (int j = 0; j < OWN; j++) {
      const int own = id + j * GROUP, g = own / COLUMNS, column = own % COLUMNS, row = g * AT_ONCE + column / 8;
      if (own < TASKS && block * 8 + column < QUADS) {
        float4 sum = (float4)(0);
        for (int i = 0; i < groups; i++) {
          const int4 product = grouped_product(rounded + row * (TILE / 4) + i * 8, squares + i * 8 * COLUMNS + column, COLUMNS);
          sum = fma((float4)(steps[row * GROUPS + i]), convert_float4(product), sum);
        }
        put_sum(at, g, block * 8 + column, sum, total);
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}

#else

#define VALUES (QUADS < 8 ? TILE : 256 / QUADS * 4)    // of a tile, that are in local memory at a time: TILE or less, fours
#define FETCHED ((VALUES * QUADS + GROUP - 1) / GROUP) // quads of them that a work-item loads
#define SUMS (QUERIES * QUADS)                         // quads of results
#define OWN ((SUMS + GROUP - 1) / GROUP)               // that a work-item computes

#define VALUE_MEMORY
#define VALUE_ARGUMENTS int unused
#define VALUE_NAMES 0

// fetched_values are values on their way.
typedef struct {
  RAW quads[FETCHED];
} fetched_values;

// fetch_values begins to load the tile's values from slot first on. Slots after `last` are not read.
static inline void fetch_values(fetched_values *next, const place tile, int first, int last) {
#pragma unroll
  for (int j = 0; j < FETCHED; j++) {
    const int i = get_local_id(0) + j * GROUP;
    next->quads[j] = raw_at(tile.values, min(first + i / QUADS, last), i % QUADS);
  }
}

// keep_values puts what was fetched into local memory.
INLINED void keep_values(const fetched_values *next, __local float4 *buffer) {
#pragma unroll
  for (int j = 0; j < FETCHED; j++) {
    const int i = get_local_id(0) + j * GROUP;
    if (i < VALUES * QUADS)
      buffer[i] = floats_of(next->quads[j], i % QUADS);
  }
}

// add_weighted continues a chain with `count` weighted values. Weights are aligned to four.
INLINED float4 add_weighted(float4 sum, const __local float *weights, const __local float4 *values, int count) {
  int j = 0;
  for (; j + 16 <= count; j += 16) {
#pragma unroll
    for (int i = j; i < j + 16; i += 4) {
      const float4 weight = *(const __local float4 *)(weights + i);
      sum = fma((float4)(weight.x), values[i * QUADS], sum);
      sum = fma((float4)(weight.y), values[(i + 1) * QUADS], sum);
      sum = fma((float4)(weight.z), values[(i + 2) * QUADS], sum);
      sum = fma((float4)(weight.w), values[(i + 3) * QUADS], sum);
    }
  }
  for (; j < count; j++)
    sum = fma((float4)(weights[j]), values[j * QUADS], sum);
  return sum;
}

// ROUNDS_END is the slot at which the rounds of values end. Teams of one group meet in each round, so that all take the whole tile.
#ifdef TEAMS_OF_TILES
#define ROUNDS_END(seen) TILE
#else
#define ROUNDS_END(seen) (seen)
#endif

// add_values sums the values, of which the token sees `seen` slots and the first have been fetched.
INLINED void add_values(fetched_values *next, const place tile, int seen, const __local float *weights,
                        const __local float *total, __local float4 *buffer, const sums_at at, VALUE_ARGUMENTS) {
  const int id = get_local_id(0);
  float4 sums[OWN];
  for (int i = 0; i < OWN; i++)
    sums[i] = (float4)(0);
  for (int first = 0; first < ROUNDS_END(seen); first += VALUES) {
    keep_values(next, buffer);
    barrier(CLK_LOCAL_MEM_FENCE);
    fetch_values(next, tile, first + VALUES, seen - 1);
#pragma unroll
    for (int i = 0; i < OWN; i++) {
      const int own = id + i * GROUP;
      if (own < SUMS)
        sums[i] = add_weighted(sums[i], weights + own / QUADS * TILE + first, buffer + own % QUADS, min(VALUES, seen - first));
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  for (int i = 0; i < OWN; i++) {
    const int own = id + i * GROUP;
    if (own < SUMS)
      put_sum(at, own / QUADS, own % QUADS, sums[i], total);
  }
}

#endif
