// The last group of a kept count goes on with what all of them have left in memory. Nobody waits for another: whoever is not the last
// has ended.
//
// It takes that what a group has written can be seen by one that counts after it, which OpenCL C 1.2 promises nobody: LAST_GROUP is
// defined for NVIDIA's devices, which have an instruction for it.

#ifdef LAST_GROUP
#define FENCE asm volatile("membar.gl;" ::: "memory")

// last_group counts the group and tells all of it whether it is the last of a number. The count is 0 again for the next launch;
// `before` is memory that is free.
INLINED bool last_group(__global int *count, int number, __local int *before) {
  FENCE;
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  if (get_local_id(0) == 0) {
    *before = atomic_inc(count);
    if (*before == number - 1)
      *count = 0;
    FENCE;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  return *before == number - 1;
}
#endif
