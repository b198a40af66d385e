//go:build opencl && (amd64 || arm64)

package opencl

import (
	"fmt"

	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/opencl/internal/compiler"
	"github.com/antigravity-go/antigravity/tensor"
)

// encoders computes what encoders have and decoders have not.
type encoders struct {
	*vectors
	programs map[int]program // of AttendTexts, by the length of a head
}

// layerNorm normalises the rows of x about their means. The kernel does so in place.
func (e *encoders) layerNorm(op *backend.LayerNorm) error {
	bias := op.B
	if bias == nil {
		bias = op.W // some buffer, which is not used
	}
	return e.compute(op, []*tensor.Tensor{op.X, op.W, bias, op.To()}, func(o operandSet) error {
		to := o[3]
		if to != o[0] {
			if err := e.enqueued("LayerNorm", e.context.Copy(o[0].mem, to.mem, o[0].at, to.at, op.X.Size())); err != nil {
				return err
			}
		}
		k, err := e.kernel(rows, "layer_norm")
		if err != nil {
			return err
		}
		floats(k, to, o[1], o[2]).Int(op.X.Shape().Dim(-1)).Float(op.Eps).Int(flag(op.B != nil))
		return e.run("LayerNorm", k, groupSize, op.X.Shape().Rows(), 1, 1)
	})
}

// The rows of a text that a group takes, and the longest head for which groups have the local memory that every device has.
const (
	textRows        = asm.TileKeys / asm.Lanes
	longestTextHead = 256
)

// attendTexts lets the rows of each text attend to all of its rows.
func (e *encoders) attendTexts(op *backend.AttendTexts) error {
	d := op.Dims()
	if d.Tokens*d.Heads == 0 {
		return nil
	}
	if op.Relative != nil || op.Sinks != nil {
		return e.opOnHost(op)
	}
	e.mu.Lock()
	list, ok := [4]operand{}, d.HeadDim > 0 && d.HeadDim <= longestTextHead
	for i, t := range [4]*tensor.Tensor{op.Q, op.K, op.V, op.Out} {
		list[i] = e.operand(t)
		ok = ok && list[i].ok
	}
	if !ok {
		e.mu.Unlock()
		return e.opOnHost(op)
	}
	defer e.mu.Unlock()
	var blocks []int32
	begin := 0
	for i, rows := range op.Texts {
		for first := 0; first < rows; first += textRows {
			blocks = append(blocks, int32(begin), int32(rows), int32(first), int32(op.SeenOf(i)))
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
	floats(kernel, list[:]...).Mem(sent).Int(d.Heads / d.KVHeads).Int(op.Reach).Float(asm.QueryScale(d.HeadDim))
	return e.run("AttendTexts", kernel, asm.TileKeys, len(blocks)/4, d.Heads, 1)
}

// textsProgram returns the program for heads of a length.
func (e *encoders) textsProgram(headDim int) program {
	p, ok := e.programs[headDim]
	if !ok {
		p = compiler.Of("common exact texts", fmt.Sprintf("-DGROUP=%d -DHEAD_DIM=%d", asm.TileKeys, headDim))
		e.programs[headDim] = p
	}
	return p
}
