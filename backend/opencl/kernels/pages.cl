// Where the keys and values of several conversations lie. They are in pages of TILE slots of one KV head: the keys and then the
// values, HEAD_DIM elements each. A page is a piece of a slab, which is a buffer; a kernel takes the first SLABS of them, 4 or 16, of
// which those that it does not need are some other buffer. A driver looks at each argument of each launch, so that a single
// conversation's step should not pay for the arguments of many: RUNS is 1, 16 or 64.
//
// The lists of pages are in one buffer, tables. The list of a conversation's layer begins with two numbers for each KV head:
// where in the list the head's pages begin, and how many slots fewer than the longest head it has in use. A page is its number in
// the slab, times MAX_SLABS, and the number of the slab.

#define TILE 128 // slots: asm.TileKeys
#define MAX_SLABS 16

#if defined(KV_f32)
#define HEAD_BYTES ((size_t)HEAD_DIM * 4)
#elif defined(KV_f16)
#define HEAD_BYTES ((size_t)HEAD_DIM * 2)
#elif defined(KV_q8_0)
#define HEAD_BYTES ((size_t)HEAD_DIM / 32 * 34)
#else
#define HEAD_BYTES ((size_t)HEAD_DIM / 32 * 18)
#endif

// run is some rows of one conversation: its latest tokens, whose slots are the last ones in use.
typedef struct {
  int table;  // where its list begins in tables
  int row;    // its first row in queries and results
  int tokens; // its rows
  int slots;  // in use of the longest head
  int first;  // where its share of the grid begins: that of the first run is 0
} run;

typedef struct {
  int count;
  run of[RUNS];
} run_list;

// run_at returns the run whose share of the grid has number `at`. The indices are constants, so that no compiler copies the list.
static inline run run_at(const run_list runs, int at) {
  run r = runs.of[0];
#pragma unroll
  for (int i = 1; i < RUNS; i++)
    if (i < runs.count && at >= runs.of[i].first)
      r = runs.of[i];
  return r;
}

// place is where the keys and values of a head's tile begin.
typedef struct {
  bytes keys, values;
} place;

#ifdef WRITES
typedef __global uchar *slab;
#else
typedef bytes slab;
#endif
#if SLABS == 4
#define CACHE_ARGUMENTS __global const int *tables, slab slab0, slab slab1, slab slab2, slab slab3
#define CACHE_NAMES tables, slab0, slab1, slab2, slab3
#else
#define CACHE_ARGUMENTS                                                                                              \
  __global const int *tables, slab slab0, slab slab1, slab slab2, slab slab3, slab slab4, slab slab5, slab slab6,   \
      slab slab7, slab slab8, slab slab9, slab slab10, slab slab11, slab slab12, slab slab13, slab slab14, slab slab15
#define CACHE_NAMES                                                                                                  \
  tables, slab0, slab1, slab2, slab3, slab4, slab5, slab6, slab7, slab8, slab9, slab10, slab11, slab12, slab13, slab14, slab15
#endif

// slots_of returns how many slots a head has in use.
static inline int slots_of(const run r, int head, CACHE_ARGUMENTS) { return r.slots - tables[r.table + 2 * head + 1]; }

// page_of returns page number `page` of a head.
static inline slab page_of(const run r, int head, int page, CACHE_ARGUMENTS) {
  const uint entry = tables[r.table + tables[r.table + 2 * head] + page];
  slab s = slab0;
#define SLAB(i) s = entry % MAX_SLABS == i ? slab##i : s;
  SLAB(1) SLAB(2) SLAB(3)
#if SLABS > 4
  SLAB(4) SLAB(5) SLAB(6) SLAB(7) SLAB(8) SLAB(9) SLAB(10) SLAB(11) SLAB(12) SLAB(13) SLAB(14) SLAB(15)
#endif
#undef SLAB
  return s + entry / MAX_SLABS * (2 * TILE * HEAD_BYTES);
}

// tile_of returns where a head's tile lies.
static inline place tile_of(const run r, int head, int tile, CACHE_ARGUMENTS) {
  const bytes page = page_of(r, head, tile, CACHE_NAMES);
  return (place){page, page + TILE * HEAD_BYTES};
}
