package backendtest

import (
	"errors"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// mistake is a call with operands that do not fit: it must return an error, neither panic nor write.
type mistake struct {
	operation, what string
	do              func(b backend.Backend, o odd) error
}

// odd are the operands of mistakes.
type odd struct {
	x     *tensor.Tensor // f32 [2 64]
	short *tensor.Tensor // f32 [2 32]
	half  *tensor.Tensor // f16 [2 64]
	w     *tensor.Tensor // q4_0 [32 64]
	q     *tensor.Tensor // f32 [1 4 32]
	cache *tensor.Tensor // f16 [5 2 32]
	wide  *tensor.Tensor // bf16 [5 2 32]
}

var mistakes = []mistake{
	{"MatMul", "shapes that do not fit", func(b backend.Backend, o odd) error { return b.MatMul(o.x, o.short, o.x) }},
	{"MatMulTransposed", "to another shape", func(b backend.Backend, o odd) error { return b.MatMulTransposed(o.x, o.w, o.x) }},
	{"MatMulTransposed", "other lengths", func(b backend.Backend, o odd) error { return b.MatMulTransposed(o.short, o.w, o.short) }},
	{"MatMulTransposed", "f16 activations", func(b backend.Backend, o odd) error { return b.MatMulTransposed(o.half, o.w, o.short) }},
	{"MatMulSlice", "beyond the rows", func(b backend.Backend, o odd) error { return b.MatMulSlice(o.x, o.w, 64, 64, o.x) }},
	{"MatMulSlice", "negative rows", func(b backend.Backend, o odd) error { return b.MatMulSlice(o.x, o.w, -1, 64, o.short) }},
	{"AddAssign", "two shapes", func(b backend.Backend, o odd) error { return b.AddAssign(o.x, o.short) }},
	{"AddAssign", "f16", func(b backend.Backend, o odd) error { return b.AddAssign(o.half, o.half) }},
	{"Scale", "f16", func(b backend.Backend, o odd) error { return b.Scale(o.half, 2) }},
	{"SiLUMul", "two shapes", func(b backend.Backend, o odd) error { return b.SiLUMul(o.x, o.short) }},
	{"RMSNorm", "weights of another length", func(b backend.Backend, o odd) error { return b.RMSNorm(o.x, o.q, epsilon) }},
	{"Softmax", "f16", func(b backend.Backend, o odd) error { return b.Softmax(o.half) }},
	{"RoPE", "two dimensions", func(b backend.Backend, o odd) error { return b.RoPE(o.x, o.x) }},
	{"RoPE", "a table of other tokens", func(b backend.Backend, o odd) error { return b.RoPE(o.q, o.short) }},
	{"AttentionGen", "beyond the slots", func(b backend.Backend, o odd) error { return b.AttentionGen(o.q, o.cache, o.cache, o.q, 6) }},
	{"AttentionGen", "to no slots", func(b backend.Backend, o odd) error { return b.AttentionGen(o.q, o.cache, o.cache, o.q, 0) }},
	{"AttentionGen", "a bf16 cache", func(b backend.Backend, o odd) error { return b.AttentionGen(o.q, o.wide, o.wide, o.q, 3) }},
	{"Attention", "beyond the slots", func(b backend.Backend, o odd) error {
		return backend.Attender(b).Attention(o.q, o.cache, o.cache, o.q, 6)
	}},
	{"AccumulateAttention", "too few sums", func(b backend.Backend, o odd) error { return b.AccumulateAttention(o.q, o.cache, o.q, 3) }},
	{"Compact", "slots out of order", func(b backend.Backend, o odd) error { return b.Compact(o.cache, []int32{1, 0, 0, 1}) }},
	{"Compact", "beyond the slots", func(b backend.Backend, o odd) error { return b.Compact(o.cache, []int32{0, 5}) }},
	{"Gather", "a negative row", func(b backend.Backend, o odd) error { return b.Gather(o.w, []int32{-1, 0}, o.x) }},
	{"Gather", "beyond the rows", func(b backend.Backend, o odd) error { return b.Gather(o.w, []int32{0, 32}, o.x) }},
	{"CopySlice", "beyond the end", func(b backend.Backend, o odd) error { return b.CopySlice(o.x, o.x, 0, 1, 128) }},
	{"CopySlice", "two types", func(b backend.Backend, o odd) error { return b.CopySlice(o.x, o.half, 0, 0, 1) }},
	{"CopySlice", "half a block", func(b backend.Backend, o odd) error { return b.CopySlice(o.w, o.w, 16, 0, 16) }},
	{"ReadBuffer", "of another size", func(b backend.Backend, o odd) error { return b.ReadBuffer(o.x, make([]byte, 3)) }},
	{"Cast", "to another shape", func(b backend.Backend, o odd) error { return b.Cast(o.x, o.short) }},
	{"Largest", "more than there are", func(b backend.Backend, o odd) error {
		row, err := o.x.Slice(0, 1)
		if err != nil {
			return nil // which the check takes for a failure
		}
		return backend.Selecting(b).Largest(row, make([]int32, 65), make([]float32, 65))
	}},
	{"Largest", "two rows", func(b backend.Backend, o odd) error {
		return backend.Selecting(b).Largest(o.x, make([]int32, 1), make([]float32, 1))
	}},
	{"NormMatMul", "too few outputs", func(b backend.Backend, o odd) error {
		return backend.Fused(b).NormMatMul(o.x, o.x, epsilon, o.x, []*tensor.Tensor{o.w}, nil)
	}},
	{"NormSwiGLU", "weights of two shapes", func(b backend.Backend, o odd) error {
		return backend.Fused(b).NormSwiGLU(o.short, o.short, epsilon, o.short, o.w, o.w, o.short, o.short)
	}},
	{"MatMulAdd", "to another shape", func(b backend.Backend, o odd) error { return backend.Fused(b).MatMulAdd(o.x, o.w, o.x, o.x) }},
	{"RoPECast", "a table of other tokens", func(b backend.Backend, o odd) error {
		return backend.Fused(b).RoPECast(o.q, o.q, o.q, o.short, o.q, o.q)
	}},
	{"RoPECast", "to slots of other tokens", func(b backend.Backend, o odd) error {
		table, err := o.short.Slice(0, 1)
		if err != nil {
			return nil // which the check takes for a failure
		}
		return backend.Fused(b).RoPECast(o.q, o.q, o.q, table, o.cache, o.cache)
	}},
}

// errAccepted is the error of a mistake that goes unnoticed.
var errAccepted = errors.New("was accepted, and must be an error")

func mistakeChecks() (checks []Check) {
	for _, m := range mistakes {
		checks = append(checks, Check{Operation: "Mistakes", Type: m.operation, Shape: m.what, Input: random.name,
			build: func(g generator) *trial { return m.trial(g) }})
	}
	return checks
}

func (m mistake) trial(g generator) *trial {
	operands := []operand{
		{name: "x", dtype: tensor.F32, dims: []int{2, 64}},
		{name: "short", dtype: tensor.F32, dims: []int{2, 32}},
		{name: "half", dtype: tensor.F16, dims: []int{2, 64}},
		{name: "w", dtype: tensor.Q4_0, dims: []int{32, 64}},
		{name: "q", dtype: tensor.F32, dims: []int{1, 4, 32}},
		{name: "cache", dtype: tensor.F16, dims: []int{5, 2, 32}},
		{name: "wide", dtype: tensor.BF16, dims: []int{5, 2, 32}},
	}
	for i := range operands {
		operands[i].data = g.weights(operands[i].dtype, random, elements(operands[i].dims))
	}
	return &trial{operands: operands, do: func(b backend.Backend, t []*tensor.Tensor) error {
		if m.do(b, odd{t[0], t[1], t[2], t[3], t[4], t[5], t[6]}) == nil {
			return errAccepted
		}
		return nil
	}}
}
