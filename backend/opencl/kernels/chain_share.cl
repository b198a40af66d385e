// What a group needs to know of a record before it meets the others: see chain_record.cl.

// share is a group's part of a product, of which it computes `rows` rows at once, of 1 << log blocks each.
typedef struct {
  int unit, units, rows, log;
  __global const uint4 *quants[EACH];
  __global const ushort *scales[EACH];
  lane_weights w[EACH];
  place first; // of TILES: the team's first tile, and how many of its slots are in use
  int seen;
} share;

INLINED int sides_of(const __local record *r) { return r->kind == PLAIN ? 1 : 2; }

// begin_of and end_of return the units with which a group's share begins and ends.
INLINED int begin_of(const __local record *r, int group) { return min(r->units, group * r->each); }
INLINED int end_of(const __local record *r, int group) { return min(r->units, (group + 1) * r->each); }

// term_of returns the term of a unit of STORE, 0 to 2, and makes the unit one of the term's.
INLINED int term_of(const __local record *r, int *pair) {
  int term = 0;
  if (*pair >= r->counts[0] / 2) {
    *pair -= r->counts[0] / 2;
    term = 1;
    if (*pair >= r->counts[1] / 2) {
      *pair -= r->counts[1] / 2;
      term = 2;
    }
  }
  return term;
}

// run_of_row returns a row of activations as the only one of a run, which sees the slots that the row sees.
INLINED run run_of_row(const __local record *r, int row) { return (run){r->table_at[row], 0, 1, r->slots[row], 0}; }

// tile_items returns how many pieces of work attention has, of which each is QUERIES heads of a row and a tile. row_of_item returns the row of
// a piece, and makes it one of the row's.
INLINED int tile_items(const __local record *r) { return r->rows * r->tiles * (r->heads / QUERIES); }
INLINED int row_of_item(const __local record *r, int *item) {
#ifdef SEVERAL
  const int each = r->tiles * (r->heads / QUERIES), row = *item / each;
  *item -= row * each;
  return row;
#else
  return 0;
#endif
}

// find_tile returns where tile `item` of the record's heads is, and how many of its slots are in use: a team that has none computes its
// group's first one once more, since all teams meet.
INLINED void find_tile(const __local record *r, int item, place *tile, int *seen) {
  if (item >= tile_items(r))
    item = min((int)get_group_id(0), tile_items(r) - 1);
  const int row = row_of_item(r, &item), head = item / r->tiles * QUERIES / SHARE, number = item % r->tiles;
  const run conversation = run_of_row(r, row);
  *seen = min(slots_of(conversation, head, RECORD_CACHE) - number * TILE, TILE);
  *tile = tile_of(conversation, head, *seen > 0 ? number : 0, RECORD_CACHE);
}

// begin_share finds the rows that the group computes first from a unit on, or a team's first tile.
INLINED void begin_share(share *s, const __local record *r, int unit, int end) {
  if (r->kind == TILES)
    find_tile(r, get_group_id(0) + team_of_item() * (int)get_num_groups(0), &s->first, &s->seen);
  if (r->kind == TILES || r->kind == MERGE)
    return;
  const int sides = sides_of(r), blocks = r->k / 32;
  s->unit = unit;
  s->units = max(min(end - unit, MOST_ROWS / sides), 0);
  s->rows = s->units * sides;
  if (s->rows == 0)
    return;
  s->log = 31 - clz(CHUNK / s->rows);
  s->log = min(s->log, 32 - clz(max(blocks - 1, 7)));
#ifdef SEVERAL
  s->log = min(s->log, 31 - clz(GROUP)); // so that all blocks of a work-item are multiplied with the same activations
#endif
#pragma unroll
  for (int j = 0; j < EACH; j++) {
    const int i = (get_local_id(0) + j * GROUP) >> s->log, own = min(i, s->rows - 1), side = own >= s->units;
    int row = unit + own - side * s->units, term = 0;
    if (r->kind == STORE) {
      term = term_of(r, &row);
      row = row / HALF_DIM * HEAD_DIM + row % HALF_DIM + side * HALF_DIM;
    } else if (r->kind == SWIGLU)
      term = side;
    s->quants[j] = (__global const uint4 *)r->quants[term] + (size_t)row * r->pieces;
    s->scales[j] = (__global const ushort *)r->scales[term] + (size_t)row * r->row_scales;
  }
}

