// Attention of one row of activations, or several, as a record of chain.cl: a team takes QUERIES heads and a tile of keys at a time.

// attend_tiles leaves the parts of the record's heads and tiles.
INLINED void attend_tiles(const share *s, const __local record *r, __local uint4 *memory) {
  const int team = team_of_item(), id = get_local_id(0), tiles = r->tiles, items = tile_items(r), groups = get_num_groups(0);
  __local float4 *buffer = (__local float4 *)((__local uchar *)memory + team * TEAM_BYTES), *query = buffer + BUFFER;
  __local float *weights = (__local float *)(query + QUERIES * QUADS), *lanes = weights + QUERIES * TILE, *total = lanes + QUERIES * LANES_OF_SUM;
  place cached = s->first;
  int seen = s->seen;
  for (int first = get_group_id(0); first < items; first += groups * TEAMS_OF_TILES) {
    int item = first + team * groups;
    if (first != (int)get_group_id(0))
      find_tile(r, item, &cached, &seen);
    if (item >= items)
      item = get_group_id(0);
    const int row = row_of_item(r, &item), first_head = item / tiles * QUERIES, tile = item % tiles, loaded = max(seen, 1); // a shorter head has fewer tiles
    fetched_values next;
    float scores[QUERIES], largest[QUERIES];
    fetch_values(&next, cached, 0, loaded - 1);
    score_tile(scores, (input)r->x + (row * r->heads + first_head) * HEAD_DIM, r->scale, cached, loaded - 1, buffer, query);
    weigh_tile(scores, 0, seen, weights, largest, lanes);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (id < QUERIES)
      total[id] = fold_lanes(lanes + id * LANES_OF_SUM);
    __global float4 *parts = (__global float4 *)r->parts + ((size_t)(row * r->heads + first_head) * tiles + tile) * PART;
    const sums_at sums = {parts, (size_t)tiles * PART, 0};
    add_values(&next, cached, loaded, weights, total, buffer, sums, VALUE_NAMES);
    if (id == 0)
      for (int g = 0; g < QUERIES; g++)
        parts[(size_t)g * tiles * PART + QUADS] = (float4)(largest[g], total[g], 0, 0);
    barrier(CLK_LOCAL_MEM_FENCE); // the memory is used again
  }
}
