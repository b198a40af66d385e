// Floating-point arithmetic with the CPU's bits: what the CPU's kernels define, step by step, each rounded once. Fused
// multiply-adds are written as fma; common.cl forbids compilers to fuse anything else.

#define LANES_OF_SUM 16 // in which sums over a row are accumulated, element i in lane i % LANES_OF_SUM

// exact_exp_parts takes eˣ apart: *r is what is left of x besides the power of two that it returns, and *p the polynomial P(r) of internal/exact, without its
// last two steps.
static inline float exact_exp_parts(float x, float *r, float *p) {
  const float t = fma(x > 88.37f ? 88.37f : x, 0x1.715476p+0f, 12582912.0f + 127.0f), n = t - (12582912.0f + 127.0f);
  *r = fma(n, 0x1.05c61p-29f, fma(n, -0x1.62e43p-1f, x > 88.37f ? 88.37f : x));
  *p = fma(0x1.6a24a4p-10f, *r, 0x1.1239a2p-7f);
  *p = fma(*p, *r, 0x1.5558fp-5f);
  *p = fma(*p, *r, 0x1.555492p-3f);
  *p = fma(*p, *r, 0x1.fffffcp-2f);
  return as_float(as_uint(t) << 23);
}

// exact_exp returns eˣ; internal/exact has the reasons.
static inline float exact_exp(float x) {
  float r, p;
  const float power = exact_exp_parts(x, &r, &p);
  p = fma(p, r, 1.0f);
  p = fma(p, r, 1.0f);
  return x < -87.33f ? 0.0f : p * power;
}

// reciprocal returns 1/d, and 0 for a d that has none.
static inline float reciprocal(float d) {
  const float r = 1.0f / d;
  return isfinite(r) ? r : 0.0f;
}

// not_nan returns d, or infinity for NaN: the scale of a block of which an element is NaN.
static inline float not_nan(float d) { return isnan(d) ? as_float(0x7f800000) : d; }

static inline float exact_silu(float x) { return x / (1.0f + exact_exp(-x)); }

static inline float exact_sigmoid(float x) { return 1.0f / (1.0f + exact_exp(-x)); }

// exact_softplus is exact.Softplus: ln(1 + eˣ).
static inline float exact_softplus(float x) {
  const float e = exact_exp(-fabs(x)), s = e / (2.0f + e), z = s * s;
  float p = fma(0x1.dba26p-4f, z, 0x1.bc8cf8p-4f);
  p = fma(p, z, 0x1.24c926p-3f);
  p = fma(p, z, 0x1.9998d4p-3f);
  p = fma(p, z, 0x1.555556p-2f);
  const float tail = fma(s + s, z * p, s + s);
  return x > 0.0f ? x + tail : tail;
}

// exact_expm1 is exact.Expm1: eˣ − 1.
static inline float exact_expm1(float x) {
  float r, p;
  const float power = exact_exp_parts(x, &r, &p);
  return x < -87.33f ? -1.0f : fma(fma(p, r * r, r), power, power - 1.0f);
}

// exact_xielu is exact.XIELU.
static inline float exact_xielu(float x, float positive, float negative, float linear, float least) {
  const float straight = linear * x;
  if (x > 0.0f)
    return positive * x * x + straight;
  return (exact_expm1(x > least ? least : x) - x) * negative + straight;
}

// exact_gelu is exact.GELU: the form with a hyperbolic tangent.
static inline float exact_gelu(float x) {
  const float t = x * x;
  const float v = x * fma(t, 0x1.2444f2p-4f, 0x1.988454p+0f);
  return x / (1.0f + exact_exp(-v));
}

// exact_gelu_erf is exact.GELUErf: the form with the error function.
static inline float exact_gelu_erf(float x) {
  const float square = x * x, t = square > 36.0f ? 36.0f : square;
  float p = fma(0x1.e2bfeap-29f, t, -0x1.1c095ep-22f);
  p = fma(p, t, 0x1.0a11f4p-17f);
  p = fma(p, t, -0x1.cff124p-14f);
  p = fma(p, t, -0x1.116d84p-14f);
  p = fma(p, t, 0x1.29a4p-4f);
  p = fma(p, t, 0x1.98846p+0f);
  const float v = x * p;
  return x / (1.0f + exact_exp(-v));
}

// exact_swiglu_clamped is exact.SwiGLUClamped.
static inline float exact_swiglu_clamped(float gate, float up, float limit) {
  const float g = gate > limit ? limit : gate, below = up > limit ? limit : up, u = below < -limit ? -limit : below;
  return g / (1.0f + exact_exp(-0x1.b3b646p+0f * g)) * (u + 1.0f);
}

// exact_softcap is exact.Softcap: limit·tanh(x/limit), for factor = -2/limit.
static inline float exact_softcap(float x, float factor, float limit) {
  const float e = exact_exp(fabs(x) * factor);
  return copysign((1.0f - e) / (1.0f + e) * limit, x);
}

// LIMITED is a score of attention as it counts.
#ifdef SCORE_LIMIT
#define LIMITED(score) exact_softcap(score, LIMIT_FACTOR, SCORE_LIMIT)
#else
#define LIMITED(score) (score)
#endif

// add_four adds four products in order.
static inline float add_four(float sum, float4 a, float4 b) { return fma(a.w, b.w, fma(a.z, b.z, fma(a.y, b.y, fma(a.x, b.x, sum)))); }

// fold_lanes sums LANES_OF_SUM lanes in halves, as the CPU does.
INLINED float fold_lanes(const __local float *lanes) {
  float v[LANES_OF_SUM];
  for (int i = 0; i < LANES_OF_SUM; i++)
    v[i] = lanes[i];
  for (int n = LANES_OF_SUM / 2; n > 0; n /= 2)
    for (int i = 0; i < n; i++)
      v[i] += v[i + n];
  return v[0];
}
