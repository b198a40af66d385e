// Many operations of one token in one launch. An operation is a record, of which all groups compute a share; then they meet (meet.cl), and go
// on with the next record. A token of a model with 16 layers has 80 such operations, and as many launches would take the device longer to
// begin and to end than the work itself.
//
// A group asks for the weights of the record after the next one in the second-level cache before it waits for the others, and finds its own rows,
// since no other operation writes these.
//
// A product has `units` of one or two rows of weights each, which are shared out evenly:
//
//   STORE   queries, keys and values of the normed x: a unit is a pair of rows that RoPE rotates together; what becomes of them is norm_store's
//   TILES   attention to each tile of keys: parts [heads, tiles, PART]; as attend's
//   MERGE   x of the parts of the TILES before, of which groups merge a share each
//   PLAIN   out = x·wᵀ, or out += x·wᵀ: a unit is a row
//   SWIGLU  out = silu(x·gateᵀ)·(x·upᵀ) of the normed x: a unit is a row of both
//
// The x of a PLAIN record that comes after TILES is made of the parts, as merge_parts makes it: each group does so for itself, and the first
// one also leaves it in memory.
//
// Weights of a record have one format, and those of a program two at most. Where values have another format than queries and keys, they are the
// STORE record after theirs, which is `kept`: it has the same x, which groups have rounded by then, and no group waits for the others before it.
//
// A group computes its rows together, some blocks of each at a time: CHUNK products of blocks. Each work-item has EACH of them; a work-item for
// each row then adds the row's terms in order, while the others go on with the next chunk. For example, 24 rows of 64 blocks with a CHUNK of
// 2048 are computed at once, as 24 rows of up to 64 blocks; 126 rows in four steps of 16 blocks each.

enum { STORE, TILES, MERGE, PLAIN, SWIGLU, ROUND };

// record is record of chain.go.
// each is the units of a group, and ahead_each the lines that a group asks for, so that no group divides. format is 0 for FORMAT, and 1 for
// SECOND; pieces and row_scales are what a row of weights has of quants, of 16 bytes, and of scales, of 2.
typedef struct {
  int kind, units, k, accumulate;
  int counts[3];
  float eps;
  ulong quants[3], scales[3];
  ulong x, gain, out, values, angles;
  ulong parts, tables, slabs[4];
  int table_at[8], slots[8]; // of each row of activations
  int heads, tiles;
  float scale;
  int merged;
  ulong ahead[6];
  int ahead_lines[6], ahead_each[6];
  int each, format, pieces, row_scales, kept;
  int rows, width, unused; // rows of activations, and how many elements of `out` each of them has
} record;

// What names the cache of a record to the functions of pages.cl.
#define RECORD_CACHE (__global const int *)r->tables, (slab)r->slabs[0], (slab)r->slabs[1], (slab)r->slabs[2], (slab)r->slabs[3]

#define RECORD_WORDS ((int)sizeof(record) / 4)

#define EACH (CHUNK / GROUP)                       // products of blocks of a work-item
#define CHUNK_TERMS (CHUNK + MOST_ROWS)            // with one more for each row, so that neighbouring rows lie in different banks
#define CHUNK_FACTORS (BLOCK == 256 ? CHUNK / 8 + MOST_ROWS : 1)
#define EIGHTS ((MOST_K / ROUNDED_AT_ONCE + GROUP - 1) / GROUP) // of activations that a work-item rounds
#define SHARED_STEP (BLOCK / ROUNDED_AT_ONCE)                   // work-items whose activations share a step

// The local memory of a group, of which attention to tiles takes all.
#define ALIGNED(bytes) (((bytes) + 31) / 32 * 32) // as vectors of eight floats lie
#define ROUNDED_BYTES ALIGNED(MOST_K)
#define EIGHTS_BYTES ALIGNED(MOST_K / 4)
#define STEPS_BYTES ALIGNED(MOST_K / BLOCK * 4)
#define TERMS_BYTES (2 * CHUNK_TERMS * (int)sizeof(term_type))
#define FACTORS_BYTES (2 * CHUNK_FACTORS * 8)
#define PRODUCT_BYTES (ROUNDED_BYTES + EIGHTS_BYTES + STEPS_BYTES + TERMS_BYTES + FACTORS_BYTES)
#define TEAM_BYTES ALIGNED(BUFFER * 16 + QUERIES * QUADS * 16 + QUERIES * TILE * 4 + QUERIES * LANES_OF_SUM * 4 + 64)
#define CHAIN_BYTES (PRODUCT_BYTES > TEAMS_OF_TILES * TEAM_BYTES ? PRODUCT_BYTES : TEAMS_OF_TILES * TEAM_BYTES)

#define CHAIN_MEMORY                                                                                                 \
  __local uint4 memory[CHAIN_BYTES / 16 + 1] __attribute__((aligned(32)));                                           \
  __local uint4 *rounded = memory;                                                                                   \
  __local short4 *eights = (__local short4 *)((__local uchar *)rounded + ROUNDED_BYTES);                             \
  __local float *steps = (__local float *)((__local uchar *)eights + EIGHTS_BYTES);                                  \
  __local term_type *terms = (__local term_type *)((__local uchar *)steps + STEPS_BYTES);                            \
  __local float2 *factors = (__local float2 *)((__local uchar *)terms + TERMS_BYTES);                                \
  __local float lanes[LANES_OF_SUM], totals[MOST_ROWS]
#define CHAIN_ARGUMENTS                                                                                              \
  __local uint4 *memory, __local uint4 *rounded, __local short4 *eights, __local float *steps, __local term_type *terms, \
      __local float2 *factors, __local float *lanes, __local float *totals
#define CHAIN_NAMES memory, rounded, eights, steps, terms, factors, lanes, totals

// team_of_item returns the number of the work-item's team: see tiles_begin.cl.
static inline int team_of_item() { return get_local_id(0) / TILE; }
