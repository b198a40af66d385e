package kvcache

import "github.com/antigravity-go/antigravity/tensor"

// Update appends the keys and values of new tokens, F32 [tokens, kvHeads, headDim] with RoPE applied to keys, as a Batch of this cache alone
// does. When they do not fit, the error wraps ErrFull; whatever the error, the cache is unchanged.
func (c *Cache) Update(k, v *tensor.Tensor) error {
	b := NewBatch(c.backend)
	b.Add(c, k.Shape().Dim(0))
	return b.Append(nil, k, v, nil)
}
