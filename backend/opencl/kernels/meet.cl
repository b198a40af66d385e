// How all groups of a launch meet, and how a buffer's address is found.
//
// OpenCL promises neither that all groups of a launch run at the same time, nor that one sees what another has written before the launch
// ends. Both hold on NVIDIA's devices for as many groups as run at once: they have a count that releases what was written before it, and a load
// that acquires it. The host tries it before it relies on it, and a group that waits too long gives up, so that a launch ends in any case.

#ifdef LAST_GROUP
static inline void count_one(volatile __global uint *count) {
  asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(count) : "memory");
}
static inline uint counted(volatile __global uint *count) {
  uint n;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(n) : "l"(count) : "memory");
  return n;
}
#else
static inline void count_one(volatile __global uint *count) { atomic_inc(count); }
static inline uint counted(volatile __global uint *count) { return *count; }
#endif

// Words of the memory in which groups meet: how many have come, since the device was opened, and whether one has given up.
#define CAME 0
#define GAVE_UP 1

// arrive counts the group. All of its work-items come here, and what they wrote before can be seen by all groups that have met.
INLINED void arrive(volatile __global uint *meeting) {
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  if (get_local_id(0) == 0)
    count_one(meeting + CAME);
}

// met waits until `goal` groups have come, and returns 0 if they have not after `patience` looks. `left` is a word of local memory of its own.
INLINED int met(volatile __global uint *meeting, uint goal, int patience, __local int *left) {
  if (get_local_id(0) == 0) {
    int looks = patience;
    while ((int)(counted(meeting + CAME) - goal) < 0 && looks > 0)
      looks--;
    if (looks == 0)
      meeting[GAVE_UP] = 1;
    *left = looks;
  }
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  return *left;
}

// try_meeting lets all groups meet a number of times.
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
try_meeting(volatile __global uint *meeting, uint before, int times, int patience) {
  __local int left;
  for (int i = 1; i <= times; i++) {
    arrive(meeting);
    if (!met(meeting, before + i * get_num_groups(0), patience, &left))
      return;
  }
}

// address_of stores where a buffer lies.
__kernel void address_of(bytes buffer, __global ulong *address) { *address = (ulong)buffer; }
