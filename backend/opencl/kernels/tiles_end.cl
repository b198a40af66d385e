#undef get_local_id
#undef GROUP
#define GROUP CHAIN_GROUP
