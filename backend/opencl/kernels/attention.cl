// Attention of single tokens to cached keys and values, with the softmax computed tile by tile (arXiv 2205.14135) and the
// tiles shared out among groups.

// A part of an attention, over some of the slots: its largest score, its sum of weights, and the values' weighted sum.
#define PART (HEAD_DIM + 2)

#define KEYS GROUP                             // of a tile: a work-item has one
#define OWN ((HEAD_DIM + GROUP - 1) / GROUP) // elements of each result that a work-item sums

// attend lets the queries of one KV head of one token attend to the slots [split·per, split·per + per) of those that the token
// sees, n - tokens + token + 1. The grid is splits × kv_heads × tokens. With one split the result goes to out, else a part
// for each split and query head goes to parts.
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
attend(input q, int q_at, bytes k, ulong k_at, bytes v, ulong v_at, output out, int out_at, output parts, int n, int per, float scale) {
  __local float4 query[SHARE * HEAD_DIM / 4];
  __local float4 scores[SHARE * KEYS / 4];
  __local float weights[SHARE * KEYS];
  __local float largest[2 * SHARE], shrink[SHARE]; // before this tile and after it; by how much old sums shrink
  const int id = get_local_id(0), split = get_group_id(0), splits = get_num_groups(0);
  const int head = get_group_id(1), kv_heads = get_num_groups(1), token = get_group_id(2), tokens = get_num_groups(2);
  const int end = min(split * per + per, n - tokens + token + 1);
  const size_t at = ((size_t)token * kv_heads + head) * SHARE * HEAD_DIM; // of the queries, and of the results
  k += k_at;
  v += v_at;
  for (int i = id; i < SHARE * HEAD_DIM / 4; i += GROUP)
    query[i] = LOAD4(q + q_at + at, i) * scale;
  for (int i = id; i < SHARE; i += GROUP)
    largest[i] = LOWEST;
  float sum[OWN * SHARE], total[SHARE];
  for (int i = 0; i < OWN * SHARE; i++)
    sum[i] = 0;
  for (int g = 0; g < SHARE; g++)
    total[g] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);

  int now = 0; // which half of largest was before
  for (int tile = split * per; tile < end; tile += KEYS) {
    const int keys = min(KEYS, end - tile);
    float dots[SHARE];
    for (int g = 0; g < SHARE; g++)
      dots[g] = 0;
    if (id < keys)
      for (int i = 0; i < HEAD_DIM / 4; i++) {
        const float4 element = kv4(k, (size_t)(tile + id) * kv_heads + head, i);
#pragma unroll
        for (int g = 0; g < SHARE; g++)
          dots[g] += dot(query[g * (HEAD_DIM / 4) + i], element);
      }
    for (int g = 0; g < SHARE; g++)
      ((__local float *)scores)[g * KEYS + id] = id < keys ? dots[g] : LOWEST;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int g = 0; g < SHARE; g++) {
      float4 most = (float4)(largest[now * SHARE + g]);
      for (int i = 0; i < KEYS / 4; i++)
        most = fmax(most, scores[g * (KEYS / 4) + i]);
      const float m = fmax(fmax(most.x, most.y), fmax(most.z, most.w));
      weights[g * KEYS + id] = exp(((__local float *)scores)[g * KEYS + id] - m);
      if (id == 0) {
        shrink[g] = exp(largest[now * SHARE + g] - m);
        largest[(now ^ 1) * SHARE + g] = m;
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    now ^= 1;
#pragma unroll
    for (int g = 0; g < SHARE; g++) {
      total[g] *= shrink[g];
      for (int i = 0; i < OWN; i++)
        sum[g * OWN + i] *= shrink[g];
    }
    for (int key = 0; key < keys; key++) {
#pragma unroll
      for (int i = 0; i < OWN; i++) {
        const int element = id + i * GROUP;
        const float value = element < HEAD_DIM ? kv1(v, (size_t)(tile + key) * kv_heads + head, element) : 0.0f;
#pragma unroll
        for (int g = 0; g < SHARE; g++)
          sum[g * OWN + i] += weights[g * KEYS + key] * value;
      }
#pragma unroll
      for (int g = 0; g < SHARE; g++)
        total[g] += weights[g * KEYS + key];
    }
  }
  for (int g = 0; g < SHARE; g++) {
    output part = parts + ((((size_t)token * kv_heads + head) * SHARE + g) * splits + split) * PART;
    for (int i = 0; i < OWN; i++) {
      const int element = id + i * GROUP;
      if (element >= HEAD_DIM)
        break;
      if (splits == 1)
        out[out_at + at + g * HEAD_DIM + element] = sum[g * OWN + i] / total[g];
      else
        part[2 + element] = sum[g * OWN + i];
    }
    if (splits > 1 && id == 0) {
      part[0] = largest[now * SHARE + g];
      part[1] = total[g];
    }
  }
}

// merge joins the parts of each query head; the grid is the heads of all tokens.
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void merge(input parts, int splits, output out, int out_at) {
  const size_t head = get_group_id(0);
  parts += head * splits * PART;
  float largest = LOWEST;
  for (int split = 0; split < splits; split++)
    largest = fmax(largest, parts[split * PART]);
  for (int element = get_local_id(0); element < HEAD_DIM; element += GROUP) {
    float sum = 0, total = 0;
    for (int split = 0; split < splits; split++) {
      const float weight = exp(parts[split * PART] - largest);
      sum += weight * parts[split * PART + 2 + element];
      total += weight * parts[split * PART + 1];
    }
    out[out_at + head * HEAD_DIM + element] = sum / total;
  }
}
