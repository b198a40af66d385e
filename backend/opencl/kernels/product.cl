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

#define WEIGHT_ARGUMENTS(i) __global const uint4 *quants##i, __global const ushort *scales##i, int first##i, int rows##i

// ROW returns row i, of the team's rows of all sets: the last one in place of those beyond.
#define ROW(i) ((size_t)min(first[(i) / ROWS] + (int)get_local_id(0) / LANES * ROWS + (i) % ROWS, end[(i) / ROWS] - 1))

// TOTAL is where team_sums leaves the product of a row of the group and of a set.
#define TOTAL(part, set, row) part[(set) * ROWS_OF_GROUP + (row)]

// PART is how many floats a group has in common for sums, and for the row that it norms.
#define PART (SETS * ROWS_OF_GROUP > NORM_STAGE ? SETS * ROWS_OF_GROUP : NORM_STAGE)

#define KERNEL __kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
