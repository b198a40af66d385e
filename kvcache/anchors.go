package kvcache

import (
	"fmt"

	"github.com/antigravity-go/antigravity/backend"

	"github.com/antigravity-go/antigravity/tensor"
)

// anchors are the keys of a conversation's first tokens as they were before RoPE, so that these tokens can be given other positions. If
// most is 0 no keys are kept.
//
// 0 ≤ kept ≤ most, and kept ≤ Cache.seen. The first kept of each head's most keys are those of the first tokens.
type anchors struct {
	pages      *pages
	rotation   Rotation
	most, kept int            // tokens
	keys       *tensor.Tensor // [kvHeads·most, 1, headDim]: those of each head, before RoPE
	rotated    *tensor.Tensor // keys with RoPE
	table      *tensor.Tensor // [kvHeads·most, headDim] on the host: the angles with which rotated was made
	angles     *tensor.Tensor // table on the device
}

// wants reports whether keys of the next token, after the first seen, are to be recorded before RoPE.
func (a *anchors) wants(seen int) bool { return seen < a.most && seen <= a.kept }

// add records keys before RoPE, F32 [tokens, kvHeads, headDim], of the tokens after the first seen, as far as they belong to the first most.
// It is called before the keys are rotated and cached, if wants says so.
func (a *anchors) add(k *tensor.Tensor, seen int) error {
	heads, d := a.pages.KVHeads(), a.pages.HeadDim()
	n := min(k.Shape().Dim(0), a.most-seen)
	for i := range n {
		for head := range heads {
			if err := a.pages.Backend().Run(&backend.CopySlice{Src: k, Dst: a.keys, From: (i*heads + head) * d, To: (head*a.most + seen + i) * d, N: d}); err != nil {
				return fmt.Errorf("kvcache: record the keys of the first %d tokens: %w", a.most, err)
			}
		}
	}
	a.kept = seen + n
	return nil
}

// forgetFrom forgets the keys of the tokens after the first seen.
func (a *anchors) forgetFrom(seen int) { a.kept = min(a.kept, seen) }

// reanchor is record.Reanchor without its checks.
func (a *anchors) reanchor(n, start int) error {
	keys, err := a.rotate(start)
	if err != nil {
		return err
	}
	b := a.pages.Backend()
	if h := a.pages.hadamard; h != nil {
		turned, err := tensor.New(b, tensor.F32, keys.Shape())
		if err != nil {
			return err
		}
		defer turned.Free()
		if err := b.Run(&backend.MatMulTransposed{X: keys, W: h.matrix, Out: turned}); err != nil {
			return fmt.Errorf("turn keys: %w", err)
		}
		keys = turned
	}
	for head := range a.pages.KVHeads() {
		if err := a.pages.own(head, 0, n); err != nil {
			return err
		}
		rows, err := keys.Slice(head*a.most, head*a.most+n)
		if err != nil {
			return err
		}
		if err := b.Run(&backend.WriteSlots{Slots: &a.pages.slots, Head: head, First: 0, Keys: rows}); err != nil {
			return err
		}
	}
	return nil
}

// rotate returns the keys [kvHeads·most, headDim] with RoPE for positions start, start+1, … of each head, in memory that
// is valid until the next call.
func (a *anchors) rotate(start int) (*tensor.Tensor, error) {
	rows, err := tensor.Mut[float32](a.table)
	if err != nil {
		return nil, err
	}
	b, d := a.pages.Backend(), a.table.Shape().Dim(1)
	for i := range a.table.Shape().Dim(0) {
		a.rotation(rows[i*d:][:d], start+i%a.most)
	}
	if err := b.Run(&backend.CopySlice{Src: a.table, Dst: a.angles, N: len(rows)}); err != nil {
		return nil, err
	}
	if err := b.Run(&backend.CopySlice{Src: a.keys, Dst: a.rotated, N: len(rows)}); err != nil {
		return nil, err
	}
	if err := b.Run(&backend.RoPE{X: a.rotated, Table: a.angles}); err != nil {
		return nil, err
	}
	return a.rotated.Reshape(a.table.Shape().Dim(0), d)
}
