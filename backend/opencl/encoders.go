//go:build opencl && (amd64 || arm64)

package opencl

import (
	"fmt"

	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// encoders computes what encoders have and decoders have not.
type encoders struct {
	*vectors
	programs map[int]program // of AttendTexts, by the length of a head
}

// GELUErf computes a = gelu(a)·b.
func (e *encoders) GELUErf(a, b *tensor.Tensor) error {
	if err := backend.CheckGated("GELUErf", a, b); err != nil {
		return err
	}
	n := a.Shape().NumElements()
	if b != nil {
		return e.compute([]*tensor.Tensor{a, b}, func(o operandSet) error { return e.gateMul("GELUErf", "gelu_erf_mul", o[0], o[1], n) },
			func() error { return e.host.GELUErf(a, b) })
	}
	return e.compute([]*tensor.Tensor{a}, func(o operandSet) error {
		k, err := e.kernel(elementwise, "gelu_erf")
		if err != nil {
			return err
		}
		return e.runFlat("GELUErf", floats(k, o[0]).Int(n), n)
	}, func() error { return e.host.GELUErf(a, nil) })
}

// LayerNorm normalises the rows of x about their means.
func (e *encoders) LayerNorm(x, w, b *tensor.Tensor, eps float32) error {
	count, dim, err := backend.CheckLayerNorm(x, w, b)
	if err != nil {
		return err
	}
	bias := b
	if b == nil {
		bias = w // some buffer, which is not used
	}
	return e.compute([]*tensor.Tensor{x, w, bias}, func(o operandSet) error {
		k, err := e.kernel(rows, "layer_norm")
		if err != nil {
			return err
		}
		return e.run("LayerNorm", floats(k, o[0], o[1], o[2]).Int(dim).Float(eps).Int(flag(b != nil)), groupSize, count, 1, 1)
	}, func() error { return e.host.LayerNorm(x, w, b, eps) })
}

// The rows of a text that a group takes, and the longest head for which groups have the local memory that every device has.
const (
	textRows        = asm.TileKeys / asm.Lanes
	longestTextHead = 256
)

// AttendTexts lets the rows of each text attend to all of its rows.
func (e *encoders) AttendTexts(q, k, v, out *tensor.Tensor, texts []int, reach int) error {
	d, err := backend.CheckAttendTexts(q, k, v, out, texts, reach)
	if err != nil || d.Tokens*d.Heads == 0 {
		return err
	}
	e.mu.Lock()
	list, ok := [4]operand{}, d.HeadDim > 0 && d.HeadDim <= longestTextHead
	for i, t := range [4]*tensor.Tensor{q, k, v, out} {
		list[i] = e.operand(t)
		ok = ok && list[i].ok
	}
	if !ok {
		e.mu.Unlock()
		return e.onHost(func() error { return e.host.AttendTexts(q, k, v, out, texts, reach) })
	}
	defer e.mu.Unlock()
	var blocks []int32
	begin := 0
	for _, rows := range texts {
		for first := 0; first < rows; first += textRows {
			blocks = append(blocks, int32(begin), int32(rows), int32(first))
		}
		begin += rows
	}
	kernel, err := e.kernel(e.textsProgram(d.HeadDim), "attend_texts")
	if err != nil {
		return err
	}
	sent, err := e.upload(blocks)
	if err != nil {
		return err
	}
	floats(kernel, list[:]...).Mem(sent).Int(d.Heads / d.KVHeads).Int(reach).Float(asm.QueryScale(d.HeadDim))
	return e.run("AttendTexts", kernel, asm.TileKeys, len(blocks)/3, d.Heads, 1)
}

// textsProgram returns the program for heads of a length.
func (e *encoders) textsProgram(headDim int) program {
	p, ok := e.programs[headDim]
	if !ok {
		p = program{"common exact texts", fmt.Sprintf("-DGROUP=%d -DHEAD_DIM=%d", asm.TileKeys, headDim)}
		e.programs[headDim] = p
	}
	return p
}
