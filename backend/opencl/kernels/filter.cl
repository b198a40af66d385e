// The causal convolution of each channel, TAPS taps wide.

// convolve computes one channel of all rows of a stretch: a work-item a channel. It keeps the last inputs, which the state has before the first
// row and gets after the last one. out may be x. The grid's second dimension is the stretches.
__kernel void convolve(input x, int x_at, input w, int w_at, input b, int b_at, output out, int out_at, int channels, int biased,
                       STATE_ARGUMENTS) {
  const int channel = get_global_id(0), which = get_group_id(1);
  if (channel >= channels)
    return;
  output state = STATE(which) + AT(which) + channel;
  float last[TAPS], weight[TAPS];
  for (int i = 0; i < TAPS; i++) {
    weight[i] = w[w_at + i * channels + channel];
    last[i] = i + 1 < TAPS ? state[(size_t)i * channels] : 0.0f;
  }
  const float begin = biased ? b[b_at + channel] : 0.0f;
  for (int t = 0; t < ROWS(which); t++) {
    const size_t at = (size_t)(ROW(which) + t) * channels + channel;
    last[TAPS - 1] = x[x_at + at];
    float sum = begin;
    for (int i = 0; i < TAPS; i++)
      sum = fma(last[i], weight[i], sum);
    out[out_at + at] = sum;
    for (int i = 0; i + 1 < TAPS; i++)
      last[i] = last[i + 1];
  }
  for (int i = 0; i + 1 < TAPS; i++)
    state[(size_t)i * channels] = last[i];
}
