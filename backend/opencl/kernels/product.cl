// Products of few rows of activations with weights: what decoding does most. It is bound by the memory that holds the
// weights, so every byte of them is loaded once, neighbouring lanes loading neighbouring pieces.
//
// A group is divided into teams of `lanes` work-items, a power of two. A team computes ROWS rows of each of SETS weights with
// the same activations, for the sake of these, which each row needs anew; then its lanes' sums meet in local memory.
// FORMAT_… names the format of the weights, and floats.cl or blocks.cl has the loop, team_sums.
//
// A norm costs no pass of its own: Σ w·(x/r·g) = (Σ w·x·g)/r, and the sum of the squares that r is made of comes by the way.

#ifndef SETS
#define SETS 1
#endif

#define TEAM_ARGUMENTS int k, int lanes, int stride
#define WEIGHT_ARGUMENTS(i) __global const uint4 *quants##i, __global const ushort *scales##i, int first##i, int rows##i

// SUMS is how many sums a lane has: one for each row, and that of the squares of x.
#define SUMS (SETS * ROWS + 1)

// ROW returns a row of its set, the last one in place of those beyond.
#define ROW(i) ((size_t)min(row[(i) / ROWS] + (i) % ROWS, rows[(i) / ROWS] - 1))

// TOTAL is where the sum of a team's lanes stands afterwards.
#define TOTAL(part, team, i) part[(i) * GROUP + (team) * lanes]

// add_lanes adds up the sums of each team's lanes. The lanes are taken from a different one on for each sum, as local memory
// likes it.
static inline void add_lanes(const float sums[SUMS], __local float *part, int lanes) {
  const int id = get_local_id(0);
#pragma unroll
  for (int i = 0; i < SUMS; i++)
    part[i * GROUP + id] = sums[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = id; i < GROUP / lanes * SUMS; i += GROUP) {
    __local float *of_team = &TOTAL(part, i / SUMS, i % SUMS);
    float sum = 0;
    for (int l = 0; l < lanes; l += 8) {
#pragma unroll
      for (int j = 0; j < 8; j++)
        sum += l + j < lanes ? of_team[(l + j + i) & (lanes - 1)] : 0;
    }
    of_team[0] = sum;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
}

#define KERNEL __kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
#define ROWS_OF_GROUP (GROUP / lanes * ROWS)
