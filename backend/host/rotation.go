package host

import (
	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// rotation is the task of RoPECast: a piece is some of the tokens, so that who rotated a key converts it.
type rotation struct {
	q, k, v, table, keys, values *tensor.Tensor

	kernels                 *asm.Kernels
	tokens, kvHeads, pieces int
}

// reset forgets the operation.
func (r *rotation) reset() { *r = rotation{} }

// Do rotates and converts the tokens of one piece.
func (r *rotation) Do(_, piece int) {
	lo, hi := piece*r.tokens/r.pieces, (piece+1)*r.tokens/r.pieces
	ropeRows(r.kernels, &rowOp{x: r.q, y: r.table}, lo, hi)
	ropeRows(r.kernels, &rowOp{x: r.k, y: r.table}, lo, hi)
	castRows(r.kernels, &rowOp{x: r.k, y: r.keys}, lo*r.kvHeads, hi*r.kvHeads)
	castRows(r.kernels, &rowOp{x: r.v, y: r.values}, lo*r.kvHeads, hi*r.kvHeads)
}

// RoPECast rotates queries and keys, and converts keys and values, in one pass over the tokens.
func (b Fused) RoPECast(q, k, v, table, keys, values *tensor.Tensor) error {
	d, err := backend.CheckRoPECast(q, k, v, table, keys, values)
	if err != nil {
		return err
	}
	var maps mapped
	defer maps.unmap()
	if err := maps.add("RoPECast", q, k, v, table, keys, values); err != nil {
		return err
	}
	task := b.rotations.get()
	defer b.rotations.put(task)
	elements := q.Shape().NumElements() + 2*k.Shape().NumElements()
	pieces := max(min(d.Tokens, b.runner.Size(), elements/elementsPerPiece), 1)
	*task = rotation{q, k, v, table, keys, values, b.kernels, d.Tokens, d.KVHeads, pieces}
	return b.runner.Run(task, pieces)
}
