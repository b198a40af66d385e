// Products of neighbouring rows, by gemm_blocks and gemm_matrix: a tile of TILE_ROWS has those from ROW0 on. grouped.cl defines the same for rows of
// experts.

#define GROUPED_ARGUMENTS
#define FIND_TILE
#define WEIGHTS_BEFORE(n) 0
#define ROW0 ((int)get_group_id(1) * TILE_ROWS)
#define BLOCKS_OF(k) ((k) / 32)
#define A_ROW(i) (i)
#define OUT_ROW(i) (i)
#define RESULT(v) (v)
