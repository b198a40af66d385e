package kvcache

import "github.com/antigravity-go/antigravity/tensor"

// Anchor is the part of Append that records keys before RoPE, so that tests can hold Append against its parts.
func (c *Cache) Anchor(k *tensor.Tensor) error { return c.anchor(k) }
