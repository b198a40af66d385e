// Activations as blocks multiply them: rounded to eight bits, as on the CPU. A block of 32 or 256, by the format of the
// weights, has a step, its largest magnitude divided by 127.

// ROUNDED_AT_ONCE is how many elements a work-item rounds.
#define ROUNDED_AT_ONCE 8

// largest_of_eight returns the largest magnitude.
static inline float largest_of_eight(float8 x) {
  const float4 m = LARGER4(fabs(x.lo), fabs(x.hi));
  return LARGER(LARGER(m.x, m.y), LARGER(m.z, m.w));
}

// rounded_eight rounds eight elements of a block with a largest magnitude, by the step that it returns. A block of zeros, or too small for a
// step, becomes zeros. A NaN makes the step NaN.
static inline char8 rounded_eight(float8 x, float largest, float *step) {
  *step = largest / 127;
  return convert_char8_sat_rte(x * reciprocal(*step));
}

// round_eight rounds the work-item's eight elements with a step for each `items` neighbouring work-items, a power of two. All
// work-items of the group must come here together, and there is a barrier when it returns.
INLINED char8 round_eight(float8 x, int items, float *step, __local float *part) {
  const int id = get_local_id(0);
  part[id] = largest_of_eight(x);
  barrier(CLK_LOCAL_MEM_FENCE);
  float largest = 0;
  for (int i = 0; i < items; i++)
    largest = LARGER(largest, part[(id & ~(items - 1)) + i]);
  barrier(CLK_LOCAL_MEM_FENCE);
  return rounded_eight(x, largest, step);
}

// EIGHT_AT loads elements 8·i to 8·i+7 of a row.
#define EIGHT_AT(x, i) ((float8)((x)[2 * (i)], (x)[2 * (i) + 1]))
