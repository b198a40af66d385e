package model

import (
	"slices"
)

// Recurrent is the sizes of layers with a state. The zero value is of models without.
type Recurrent struct {
	Taps int // of the convolutions: how many inputs an output depends on
	// Heads of values, and of queries and keys, and their elements. Heads/KeyHeads value heads share a key head. Short convolutions have no heads.
	Heads, KeyHeads, KeyDim, ValueDim int
	FilterBias                        bool // convolutions have biases
	Unnormed                          bool // the results of SelectiveScan have no norm
	// Tiled says that the columns of RecurrentOutput are in GGUF's order of heads: see Tiling.
	Tiled bool
}

// Tiling is the order of value heads in files of models in which Repeats value heads share a head of queries and keys. Hugging Face
// has the heads that share one after the other, GGUF has the first of each KeyHeads, then the second of each. The zero value stands for the
// same order in both.
type Tiling struct {
	KeyHeads, Repeats int
	Length            int // of a head
}

// Grouped returns where Hugging Face has a row (or column) that GGUF has at i. For 2 key heads, 2 repeats and a length of 1 the order is
// 0 2 1 3.
func (t Tiling) Grouped(i int) int {
	head, in := i/t.Length, i%t.Length
	return (head%t.KeyHeads*t.Repeats+head/t.KeyHeads)*t.Length + in
}

// Tiled is the inverse of Grouped.
func (t Tiling) Tiled(i int) int {
	head, in := i/t.Length, i%t.Length
	return (head%t.Repeats*t.KeyHeads+head/t.Repeats)*t.Length + in
}

// Owns reports whether a part is one of a mixer with a state, and of no other.
func (m Mixer) Owns(p Part) bool { return m.Recurrent() && slices.Contains(m.parts(), p) }
