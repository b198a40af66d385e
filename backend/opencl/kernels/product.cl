// Products of few rows of activations with weights: what decoding does most. It is bound by the memory that holds the
// weights, so every byte of them is loaded once, neighbouring lanes loading neighbouring pieces.
//
// A group is divided into TEAMS of LANES work-items. A team multiplies ROWS rows of each of SETS weights with the same
// activations, for the sake of these, which each row needs anew. team_blocks.cl or team_floats.cl has the loop, team_sums.
//
// A norm costs no kernel of its own: each group norms the activations for itself.

#ifndef SETS
#define SETS 1
#endif

#define TEAMS (GROUP / LANES)
#define ROWS_OF_GROUP (TEAMS * ROWS)

// A weight is one buffer: its quants and, from piece number scales##i##_at on, its scales.
#define WEIGHT_ARGUMENTS(i) __global const uint4 *quants##i, int scales##i##_at, int first##i, int rows##i

// ROW returns row i, of the team's rows of all sets: the last one in place of those beyond. With HALF_DIM a group has pairs of rows, of which
// `first` is the number of the first one: the former rows of all, and then the latter, HALF_DIM rows further.
#ifdef HALF_DIM
#define ROW(i) ((size_t)min(row_of_pair(first[(i) / ROWS], (int)get_local_id(0) / LANES * ROWS + (i) % ROWS), end[(i) / ROWS] - 1))
static inline int row_of_pair(int first, int row) {
  const int pair = first + row % (ROWS_OF_GROUP / 2);
  return pair / HALF_DIM * HEAD_DIM + pair % HALF_DIM + (row < ROWS_OF_GROUP / 2 ? 0 : HALF_DIM);
}
#else
#define ROW(i) ((size_t)min(first[(i) / ROWS] + (int)get_local_id(0) / LANES * ROWS + (i) % ROWS, end[(i) / ROWS] - 1))
#endif

// TOTAL is where team_sums leaves the product of a row of the group and of a set.
#define TOTAL(part, set, row) part[(set) * ROWS_OF_GROUP + (row)]

// PART is how many floats a group has in common for sums, and for the row that it norms.
#define PART (SETS * ROWS_OF_GROUP > NORM_STAGE ? SETS * ROWS_OF_GROUP : NORM_STAGE)

// CHAINS is how many rows a work-item may have to add up, so many as a group has work-items apart.
#define CHAINS ((SETS * ROWS_OF_GROUP + GROUP - 1) / GROUP)

// leave_totals puts the sums of a work-item's rows where TOTAL finds them. There is a barrier before it returns.
INLINED void leave_totals(const float sums[CHAINS], __local float *part) {
#pragma unroll
  for (int c = 0; c < CHAINS; c++)
    if (get_local_id(0) + c * GROUP < SETS * ROWS_OF_GROUP)
      part[get_local_id(0) + c * GROUP] = sums[c];
  barrier(CLK_LOCAL_MEM_FENCE);
}

#define KERNEL __kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
