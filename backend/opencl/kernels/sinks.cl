// Sinks: scores of query heads that join the softmax and have no value, if SINKS is defined. A row's results, from all tiles, join with its
// head's sink as with a tile that has the score as its maximum, 1 as the sum of its weights, and no values; see asm.Partial.

#ifdef SINKS
#define SINK_ARGUMENTS input all_sinks, int sinks_at,
#define SINK_PARAMETER , input sinks
#define SINKS_FROM(head) , all_sinks + sinks_at + (head)
#define DIRECTLY(tiles) 0 // whether a tile's results are the row's, and go to where these go
#define SHRUNK(x, factor) ((x) * (factor))

// join_sink returns by how much a row's values shrink that have the largest score `largest`, and adds the sink to the sum of weights.
INLINED float join_sink(float sink, float largest, __local float *total) {
  const float m = fmax(largest, sink), shrink = exact_exp(largest - m);
  *total = fma(1.0f, exact_exp(sink - m), *total * shrink);
  return shrink;
}
#else
#define SINK_ARGUMENTS
#define SINK_PARAMETER
#define SINKS_FROM(head)
#define DIRECTLY(tiles) ((tiles) == 1)
#define SHRUNK(x, factor) (x)
#endif
