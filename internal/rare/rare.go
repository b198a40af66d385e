package rare

import (
	"fmt"
	"slices"

	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/tensor"
)

// Type is an element type that is rewritten while loading. Its methods may be called at the same time.
type Type struct {
	name   string
	target tensor.DType
	loss   float64
	unpack func(u *block, b []byte)
	pack   func(dst []byte, u *block) error

	blockLen, blockBytes int // package gguf's

	rows, chunk int // if rows is not 0: rows of target are interleaved, chunk bytes of each in turn

	ternary *ternary // not nil: the type is of one matrix alone, of rows rows
}

// types are the types by GGML's number.
var types = func() map[gguf.GGMLType]*Type {
	for number, t := range rewritten {
		t.blockLen, t.blockBytes = number.Block()
	}
	return rewritten
}()

// rewritten says how the types are rewritten, by GGML's number. Types that keep their numbers exactly have a loss of 0; the others round
// one scale or minimum of a block to a half-precision number, but for IQ2, see packThirds.
var rewritten = map[gguf.GGMLType]*Type{
	16: {name: "IQ2_XXS", target: tensor.Q6_K, loss: 0.01, unpack: unpackIQ2XXS, pack: packThirds},
	17: {name: "IQ2_XS", target: tensor.Q6_K, loss: 0.01, unpack: unpackIQ2XS, pack: packThirds},
	22: {name: "IQ2_S", target: tensor.Q6_K, loss: 0.01, unpack: unpackIQ2S, pack: packThirds},
	18: {name: "IQ3_XXS", target: tensor.Q6_K, unpack: unpackIQ3XXS, pack: packQ6K},
	21: {name: "IQ3_S", target: tensor.Q4_K, loss: 1e-3, unpack: unpackIQ3S, pack: packQ4K(15)},
	19: {name: "IQ1_S", target: tensor.Q4_K, loss: 1e-3, unpack: unpackIQ1S, pack: packQ4K(9)},
	29: {name: "IQ1_M", target: tensor.Q6_K, unpack: unpackIQ1M, pack: packQ6K},
	34: {name: "TQ1_0", target: tensor.Q2_K, unpack: unpackTQ1, pack: packQ2K},
	35: {name: "TQ2_0", target: tensor.Q2_K, unpack: unpackTQ2, pack: packQ2K},
	41: {name: "Q1_0", target: tensor.Q4_0, unpack: unpackQ1, pack: packQ4_0},
	42: {name: "Q2_0", target: tensor.Q4_0, unpack: unpackQ2, pack: packQ4_0},
	31: {name: "Q4_0_4_4", target: tensor.Q4_0, rows: 4, chunk: 4},
	32: {name: "Q4_0_4_8", target: tensor.Q4_0, rows: 4, chunk: 8},
	33: {name: "Q4_0_8_8", target: tensor.Q4_0, rows: 8, chunk: 8},
}

// Of returns how a type is rewritten; nil: it is not, because it is computed with, or because nothing here reads it.
func Of(t gguf.GGMLType) *Type { return types[t] }

// Names lists the names of the types, in order.
func Names() []string {
	var names []string
	for _, t := range types {
		names = append(names, t.name)
	}
	slices.Sort(names)
	return names
}

// String returns GGML's name of the type, such as "IQ3_S".
func (t *Type) String() string { return t.name }

// Target returns the type that Rewrite writes.
func (t *Type) Target() tensor.DType { return t.target }

// Loss returns a bound of the loss by rewriting: the root of the mean square of the differences, relative to that of the numbers; 0: no
// loss. The bound is for tensors with scales that are normal numbers in half precision, as those of any trained model are.
func (t *Type) Loss() float64 { return t.loss }

// RowsAtOnce returns how many rows share their bytes: Rewrite wants a multiple of them.
func (t *Type) RowsAtOnce() int { return max(t.rows, 1) }

// Bytes returns the bytes of n elements, which must be whole blocks.
func (t *Type) Bytes(n int) int { return n / t.blockLen * t.blockBytes }

// Rewrite writes the rows in src, of cols elements each, to dst, in the type Target. Both slices must be as long as the same number of
// rows.
//
// A scale that the target cannot hold is an error; no bytes make it panic.
func (t *Type) Rewrite(dst, src []byte, cols int) error {
	if err := t.check(dst, src, cols); err != nil {
		return err
	}
	if t.ternary != nil {
		return t.ternary.rewrite(t, dst, src, cols)
	}
	if t.rows != 0 {
		t.separate(dst, src, cols)
		return nil
	}
	var u block
	to := t.blockLen / t.target.BlockLen() * t.target.BlockBytes()
	for i := range len(src) / t.blockBytes {
		t.unpack(&u, src[i*t.blockBytes:][:t.blockBytes])
		if err := t.pack(dst[i*to:][:to], &u); err != nil {
			return fmt.Errorf("rewrite block %d of %s as %v: %w", i, t, t.target, err)
		}
	}
	return nil
}

// check returns an error unless there are whole rows.
func (t *Type) check(dst, src []byte, cols int) error {
	if cols <= 0 || cols%t.blockLen != 0 {
		return fmt.Errorf("rewrite %s: rows of %d elements are no whole number of blocks of %d", t, cols, t.blockLen)
	}
	group := t.Bytes(cols) * t.RowsAtOnce()
	if len(src)%group != 0 {
		return fmt.Errorf("rewrite %s: %d bytes are no whole number of %d rows of %d elements, of %d bytes", t, len(src), t.RowsAtOnce(), cols, group)
	}
	if want := len(src) / t.blockBytes * t.blockLen / t.target.BlockLen() * t.target.BlockBytes(); len(dst) != want {
		return fmt.Errorf("rewrite %s: %d bytes become %d of %v, not %d", t, len(src), want, t.target, len(dst))
	}
	return nil
}

// Dequantize writes the numbers that src holds, as ggml computes them, to dst, which must have as many elements as src has. Of
// interleaved rows it returns an error: their numbers are those of the type that they are rewritten as.
func (t *Type) Dequantize(dst []float32, src []byte) error {
	if t.rows != 0 {
		return fmt.Errorf("dequantize %s: rewrite it first, as %v", t, t.target)
	}
	if len(dst)%t.blockLen != 0 || len(src) != t.Bytes(len(dst)) {
		return fmt.Errorf("dequantize %d elements of %s in %d bytes: there must be whole blocks of %d elements in %d bytes each",
			len(dst), t, len(src), t.blockLen, t.blockBytes)
	}
	var u block
	for ; len(src) > 0; dst, src = dst[t.blockLen:], src[t.blockBytes:] {
		t.unpack(&u, src[:t.blockBytes])
		for i := range t.blockLen {
			dst[i] = float32(u.d*float32(u.scale[i/16])) * float32(u.q[i])
		}
	}
	return nil
}
