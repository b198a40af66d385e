// What a block of 32 elements of a weight's row adds to the row's sum, and how these terms are added: in order of the blocks, a fused
// multiply-add each, as the CPU does. Lanes compute the terms, which are integers and factors, in any order; one work-item adds those of a row.

#define term_type OF_FORMAT(term_type_, FORMAT)
#define block_term OF_FORMAT(block_term_, FORMAT)
#define block_factors OF_FORMAT(block_factors_, FORMAT)
#define add_terms OF_FORMAT(add_terms_, FORMAT)

// A term is what a block adds to a row's sum: of a block of 32 a factor and an integer, or two of each; of one of 256 eight
// pairs of integers, and two factors for all.
#if BLOCK == 256
typedef int2 term_type;
#elif defined(MINIMUMS)
typedef float4 term_type;
#else
typedef float2 term_type;
#endif

static inline term_type block_term(const lane_weights w, const block_activations a) {
  const int sum = a.lower_sum + a.upper_sum;
#if defined(HALVES)
  const int lower = DOT_HALF(LOWER, w, a.lower, -ZERO * a.lower_sum), upper = DOT_HALF(UPPER, w, a.upper, -ZERO * a.upper_sum);
#if defined(MINIMUMS)
  const int minimum = MINIMUM_OF(w.scales, 0) * a.lower_sum + MINIMUM_OF(w.scales, 1) * a.upper_sum;
#else
  const int minimum = 0;
#endif
  return (int2)(SCALE_OF(w.scales, 0) * lower + SCALE_OF(w.scales, 1) * upper, minimum);
#else
  const int product = DOT_HALF(LOWER, w, a.lower, -ZERO * sum) + DOT_HALF(UPPER, w, a.upper, 0); // side by side
#if BLOCK == 256
  return (int2)((int)(w.scales & 255) * product, (int)(w.scales >> 8) * sum);
#elif defined(MINIMUMS)
  return (float4)(weight_scale(w) * a.step, product, weight_minimum(w) * a.step, sum);
#else
  return (float2)(weight_scale(w) * a.step, product);
#endif
#endif
}

#if BLOCK == 256
// block_factors returns what the sums of a block of 256 are multiplied by.
static inline float2 block_factors(const lane_weights w, float step) {
#if defined(MINIMUMS)
  return (float2)(weight_scale(w) * step, -weight_minimum(w) * step);
#else
  return (float2)(weight_scale(w) * step, 0);
#endif
}
#endif

// add_terms adds the terms of a number of blocks in order: a multiple of 8 if blocks of 256 share factors.
INLINED float add_terms(float sum, __local const term_type *terms, __local const float2 *factors, int count) {
#if BLOCK == 256
  for (int i = 0; i < count; i += 8) {
    int2 t = terms[i];
#pragma unroll
    for (int j = 1; j < 8; j++)
      t += terms[i + j];
    const float2 f = factors[i / 8];
    sum = fma(f.x, (float)t.x, sum);
#if defined(MINIMUMS)
    sum = fma(f.y, (float)t.y, sum);
#endif
  }
#else
#if defined(MINIMUMS)
#define ADD_TERM(t) sum = fma((t).z, (t).w, fma((t).x, (t).y, sum))
#else
#define ADD_TERM(t) sum = fma((t).x, (t).y, sum)
#endif
  int i = 0;
  if (count >= 8) { // eight at a time: the next ones are on their way while these are added
    term_type now[8], next[8];
#pragma unroll
    for (int j = 0; j < 8; j++)
      now[j] = terms[j];
    for (; i + 8 <= count; i += 8) {
#pragma unroll
      for (int j = 0; j < 8; j++)
        next[j] = terms[min(i + 8 + j, count - 1)];
#pragma unroll
      for (int j = 0; j < 8; j++) {
        ADD_TERM(now[j]);
        now[j] = next[j];
      }
    }
  }
  for (; i < count; i++)
    ADD_TERM(terms[i]);
#endif
  return sum;
}
