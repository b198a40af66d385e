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
// A group computes its rows together, some blocks of each at a time: CHUNK products of blocks. Each work-item has EACH of them; a work-item for
// each row then adds the row's terms in order, while the others go on with the next chunk. For example, 24 rows of 64 blocks with a CHUNK of
// 2048 are computed at once, as 24 rows of up to 64 blocks; 126 rows in four steps of 16 blocks each.

enum { STORE, TILES, MERGE, PLAIN, SWIGLU, ROUND };

// record is record of chain.go.
// each is the units of a group, and ahead_each the lines that a group asks for, so that no group divides.
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
  int each, rows, width, unused; // rows of activations, and how many elements of `out` each of them has
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

// team_of_item returns the number of the work-item's team: see tiles_begin.cl.
static inline int team_of_item() { return get_local_id(0) / TILE; }
