// Operations on single elements. Offsets and counts are in elements.

__kernel void add(output a, int a_at, input b, int b_at, int n, int row) {
  const int i = get_global_id(0);
  if (i < n)
    a[a_at + i] += b[b_at + i % row];
}

__kernel void multiply(output a, int a_at, input b, int b_at, int n, int row) {
  const int i = get_global_id(0);
  if (i < n)
    a[a_at + i] *= b[b_at + i % row];
}

__kernel void scale(output x, int x_at, int n, float v) {
  const int i = get_global_id(0);
  if (i < n)
    x[x_at + i] *= v;
}

// mask writes -Inf, as bits, to the elements of rows of n whose bit is 0; a row has so many words of bits. The grid's second dimension
// is the rows.
__kernel void mask(__global uint *x, int x_at, __global const uint *allowed, int n, int words) {
  const int i = get_global_id(0), row = get_global_id(1);
  if (i < n && !(allowed[(size_t)row * words + i / 32] >> i % 32 & 1))
    x[x_at + (size_t)row * n + i] = 0xff800000;
}

__kernel void silu_mul(output a, int a_at, input b, int b_at, int n) {
  const int i = get_global_id(0);
  if (i < n) {
    a[a_at + i] = exact_silu(a[a_at + i]) * b[b_at + i];
  }
}

__kernel void silu(output a, int a_at, int n) {
  const int i = get_global_id(0);
  if (i < n)
    a[a_at + i] = exact_silu(a[a_at + i]);
}

__kernel void sigmoid_mul(output a, int a_at, input b, int b_at, int n) {
  const int i = get_global_id(0);
  if (i < n)
    a[a_at + i] = exact_sigmoid(a[a_at + i]) * b[b_at + i];
}

__kernel void sigmoid(output a, int a_at, int n) {
  const int i = get_global_id(0);
  if (i < n)
    a[a_at + i] = exact_sigmoid(a[a_at + i]);
}

// softplus has biases for rows of a length; of a length of 0 there are no biases.
__kernel void softplus(output a, int a_at, input b, int b_at, int n, int row) {
  const int i = get_global_id(0);
  if (i < n)
    a[a_at + i] = exact_softplus(row > 0 ? a[a_at + i] + b[b_at + i % row] : a[a_at + i]);
}

__kernel void gelu_mul(output a, int a_at, input b, int b_at, int n) {
  const int i = get_global_id(0);
  if (i < n) {
    a[a_at + i] = exact_gelu(a[a_at + i]) * b[b_at + i];
  }
}

__kernel void gelu(output a, int a_at, int n) {
  const int i = get_global_id(0);
  if (i < n)
    a[a_at + i] = exact_gelu(a[a_at + i]);
}

__kernel void gelu_erf_mul(output a, int a_at, input b, int b_at, int n) {
  const int i = get_global_id(0);
  if (i < n)
    a[a_at + i] = exact_gelu_erf(a[a_at + i]) * b[b_at + i];
}

__kernel void relu_squared(output a, int a_at, int n) {
  const int i = get_global_id(0);
  if (i < n) {
    const float x = a[a_at + i] < 0 ? 0.0f : a[a_at + i];
    a[a_at + i] = x * x;
  }
}

__kernel void xielu(output a, int a_at, int n, float positive, float negative, float linear, float least) {
  const int i = get_global_id(0);
  if (i < n)
    a[a_at + i] = exact_xielu(a[a_at + i], positive, negative, linear, least);
}

__kernel void gelu_erf(output a, int a_at, int n) {
  const int i = get_global_id(0);
  if (i < n)
    a[a_at + i] = exact_gelu_erf(a[a_at + i]);
}

__kernel void swiglu_clamped(output a, int a_at, input b, int b_at, int n, float limit) {
  const int i = get_global_id(0);
  if (i < n)
    a[a_at + i] = exact_swiglu_clamped(a[a_at + i], b[b_at + i], limit);
}

// add_expert_bias adds to rows of n elements the row of bias that is chosen for each; NaN, if there is no such row. The grid's second
// dimension is the rows.
__kernel void add_expert_bias(output x, int x_at, input bias, int bias_at, __global const int *chosen, int chosen_at, int n, int experts) {
  const int i = get_global_id(0), pair = get_global_id(1), e = chosen[chosen_at + pair];
  if (i < n)
    x[x_at + (size_t)pair * n + i] += e >= 0 && e < experts ? bias[bias_at + (size_t)e * n + i] : NAN;
}

// sum_experts adds to rows of n elements k rows of y each, weighted. The grid's second dimension is the rows.
__kernel void sum_experts(input y, int y_at, input weights, int weights_at, output out, int out_at, int n, int k) {
  const int i = get_global_id(0), row = get_global_id(1);
  if (i >= n)
    return;
  float sum = out[out_at + (size_t)row * n + i];
  for (int j = row * k; j < (row + 1) * k; j++)
    sum = fma(weights[weights_at + j], y[y_at + (size_t)j * n + i], sum);
  out[out_at + (size_t)row * n + i] = sum;
}

__kernel void softcap(output x, int x_at, int n, float factor, float limit) {
  const int i = get_global_id(0);
  if (i < n)
    x[x_at + i] = exact_softcap(x[x_at + i], factor, limit);
}

// turned returns the pair (a, b) turned by the angle whose cosine and sine lie half_dim apart.
static inline float2 turned(float a, float b, input angle, int half_dim) {
  const float cosine = angle[0], sine = angle[half_dim];
  return (float2)(fma(a, cosine, -(b * sine)), fma(a, sine, b * cosine));
}

// rope turns pairs (i, i + half_dim) of each head by the angles of their token.
__kernel void rope(output x, int x_at, input table, int table_at, int heads, int half_dim, int pairs) {
  const int pair = get_global_id(0);
  if (pair >= pairs)
    return;
  const int i = pair % half_dim, head = pair / half_dim, token = head / heads;
  output first = x + x_at + head * 2 * half_dim + i;
  const float2 t = turned(first[0], first[half_dim], table + table_at + token * 2 * half_dim + i, half_dim);
  first[0] = t.x;
  first[half_dim] = t.y;
}

// matmul computes out [m, n] = a [m, k] · b [k, n], a work-item an element.
__kernel void matmul(input a, int a_at, input b, int b_at, output out, int out_at, int n, int k) {
  const int column = get_global_id(0), row = get_global_id(1);
  if (column >= n)
    return;
  float sum = 0;
  for (int i = 0; i < k; i++)
    sum = fma(a[a_at + (size_t)row * k + i], b[b_at + (size_t)i * n + column], sum);
  out[out_at + (size_t)row * n + column] = sum;
}
