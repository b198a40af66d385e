// The largest of many floats, by bitonic top-k (Shanbhag, Pirk and Madden, SIGMOD 2018): a group sorts runs of as many elements
// as are wanted, every other one ascending; of two runs side by side the larger at each place are the largest of both, and
// ordering those again is a merge of few steps. It ends with one run of each group; further passes go on with these.
//
// SLICE, a power of two, is how many elements a group takes. A run is a power of two, at most half of that.

// order_pair puts the larger of two keys first, or last.
INLINED void order_pair(__local ulong *a, __local ulong *b, bool descending) {
  const ulong x = *a, y = *b;
  if ((x < y) == descending) {
    *a = y;
    *b = x;
  }
}

// sort_runs sorts each run of the slice, those of even number descending, the others ascending.
INLINED void sort_runs(__local ulong *keys, int run) {
  for (int size = 2; size <= run; size *= 2)
    for (int apart = size / 2; apart > 0; apart /= 2) {
      barrier(CLK_LOCAL_MEM_FENCE);
      for (int c = get_local_id(0); c < SLICE / 2; c += GROUP) {
        const int i = 2 * c - (c & (apart - 1));
        order_pair(keys + i, keys + i + apart, (i & size) == 0);
      }
    }
}

// merge_runs leaves the largest of all runs, descending, in the first. After each halving the runs that are left stand twice
// as far apart, so that nobody writes where another still reads.
INLINED void merge_runs(__local ulong *keys, int run) {
  for (int stride = 1; run * stride < SLICE; stride *= 2) { // in runs
    barrier(CLK_LOCAL_MEM_FENCE);
    const int left = SLICE / stride / 2;
    for (int c = get_local_id(0); c < left; c += GROUP) {
      const int in_run = c & (run - 1), i = (c - in_run) * 2 * stride + in_run;
      keys[i] = max(keys[i], keys[i + run * stride]);
    }
    for (int apart = run / 2; apart > 0; apart /= 2) {
      barrier(CLK_LOCAL_MEM_FENCE);
      for (int c = get_local_id(0); c < left / 2; c += GROUP) {
        const int e = 2 * c - (c & (apart - 1)), in_run = e & (run - 1), i = (e - in_run) * 2 * stride + in_run;
        order_pair(keys + i, keys + i + apart, (e & run) == 0);
      }
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
}

// largest_of_floats begins: of n floats of a row, as bits, each group writes a run of keys. The grid's second dimension is the
// rows, here and in largest_of_runs.
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
largest_of_floats(__global const uint *x, int x_at, int n, int run, __global ulong *out) {
  __local ulong keys[SLICE];
  const int first = get_group_id(0) * SLICE;
  x += (size_t)get_group_id(1) * n;
  for (int i = get_local_id(0); i < SLICE; i += GROUP)
    keys[i] = first + i < n ? key_of(x[x_at + first + i], first + i) : 0;
  sort_runs(keys, run);
  merge_runs(keys, run);
  for (int i = get_local_id(0); i < run; i += GROUP)
    out[(get_group_id(1) * get_num_groups(0) + get_group_id(0)) * run + i] = keys[i];
}

// largest_of_runs goes on: of n keys of a row, whole runs, descending, each group writes one run. The rows' keys lie one after
// the other from `from` on, and those that are left from `to` on.
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void largest_of_runs(__global ulong *all, int from, int n, int run, int to) {
  __local ulong keys[SLICE];
  from += get_group_id(1) * n;
  const int first = get_group_id(0) * SLICE;
  for (int i = get_local_id(0); i < SLICE; i += GROUP) {
    const int turned = i & run ? i ^ (run - 1) : i; // every other run ascending
    keys[i] = first + turned < n ? all[from + first + turned] : 0;
  }
  merge_runs(keys, run);
  for (int i = get_local_id(0); i < run; i += GROUP)
    all[to + (get_group_id(1) * get_num_groups(0) + get_group_id(0)) * run + i] = keys[i];
}
