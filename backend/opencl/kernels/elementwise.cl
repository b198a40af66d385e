// Operations on single elements. Offsets and counts are in elements.

__kernel void add(output a, int a_at, input b, int b_at, int n, int row) {
  const int i = get_global_id(0);
  if (i < n)
    a[a_at + i] += b[b_at + i % row];
}

__kernel void scale(output x, int x_at, int n, float v) {
  const int i = get_global_id(0);
  if (i < n)
    x[x_at + i] *= v;
}

__kernel void silu_mul(output a, int a_at, input b, int b_at, int n) {
  const int i = get_global_id(0);
  if (i < n) {
    a[a_at + i] = exact_silu(a[a_at + i]) * b[b_at + i];
  }
}

// rope turns pairs (i, i + half_dim) of each head by the angles of their token.
__kernel void rope(output x, int x_at, input table, int table_at, int heads, int half_dim, int pairs) {
  const int pair = get_global_id(0);
  if (pair >= pairs)
    return;
  const int i = pair % half_dim, head = pair / half_dim, token = head / heads;
  output first = x + x_at + head * 2 * half_dim + i;
  input angle = table + table_at + token * 2 * half_dim + i;
  const float a = first[0], b = first[half_dim], cosine = angle[0], sine = angle[half_dim];
  first[0] = fma(a, cosine, -(b * sine));
  first[half_dim] = fma(a, sine, b * cosine);
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
