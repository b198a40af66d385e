// Between this file and tiles_end.cl the groups are teams of TILE work-items: a group has TEAMS_OF_TILES of them, each with local memory of
// its own. All teams meet at the same barriers.

#undef GROUP
#define GROUP TILE
#define get_local_id(dimension) ((int)(get_local_id(dimension) % TILE)) // in which the name is the function
