package model

import (
	"fmt"
	"slices"

	"github.com/antigravity-go/antigravity/internal/unsupported"
)

// Recurrent is the sizes of layers with a state. The zero value is of models without.
type Recurrent struct {
	Taps int // of the convolutions: how many inputs an output depends on
	// Heads of values, and of queries and keys, and their elements. Heads/KeyHeads value heads share a key head. Short convolutions have no heads.
	Heads, KeyHeads, KeyDim, ValueDim int
	FilterBias                        bool // convolutions have biases
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

// maxTaps is a limit that no model comes near.
const maxTaps = 16

// validate checks that the sizes fit together.
func (r *Recurrent) validate(c *Config) error {
	recurrent, attends := false, c.Mixers == nil
	for i, m := range c.Mixers {
		if int(m) >= len(mixerParts) {
			return fmt.Errorf("the mixer of layer %d is of kind %d", i, m)
		}
		recurrent, attends = recurrent || m.Recurrent(), attends || !m.Recurrent()
	}
	if !recurrent {
		return nil
	}
	if !attends {
		return unsupported.Errorf("no layer has attention, which is not implemented")
	}
	if r.Taps < 2 || r.Taps > maxTaps {
		return fmt.Errorf("the convolutions have %d taps, not between 2 and %d", r.Taps, maxTaps)
	}
	if !slices.ContainsFunc(c.Mixers, func(m Mixer) bool { return m == DeltaRule || m == SelectiveScan }) {
		return nil
	}
	for _, f := range []struct {
		name       string
		value, max int
	}{{"key heads", r.KeyHeads, MaxHeads}, {"value heads", r.Heads, MaxHeads}, {"elements of a key head", r.KeyDim, MaxHeadDim}, {"elements of a value head", r.ValueDim, MaxHeadDim}} {
		if f.value < 1 || f.value > f.max {
			return fmt.Errorf("layers with a state have %d %s, not between 1 and %d", f.value, f.name, f.max)
		}
	}
	widest := max(r.Heads*r.ValueDim, r.KeyHeads*r.KeyDim)
	switch {
	case r.Heads%r.KeyHeads != 0:
		return fmt.Errorf("%d value heads cannot share %d key heads evenly", r.Heads, r.KeyHeads)
	case widest > MaxWidth || widest > MaxSpread*c.HiddenSize:
		return fmt.Errorf("%d heads of %d and %d heads of %d elements are too wide for hidden_size, which is %d", r.Heads, r.ValueDim, r.KeyHeads, r.KeyDim, c.HiddenSize)
	}
	return nil
}

// StateElements returns how many elements the states of a conversation have in a layer's mixer.
func (c *Config) StateElements(m Mixer) int64 {
	r := &c.Recurrent
	past := int64(r.Taps - 1)
	switch m {
	case ShortConvolution:
		return past * int64(c.HiddenSize)
	case DeltaRule, SelectiveScan:
		const block = 16 // columns lie in blocks: see backend.StateShape
		wide := int64(r.Heads) * int64(r.ValueDim)
		return past*(wide+2*int64(r.KeyHeads)*int64(r.KeyDim)) + int64(r.Heads)*int64((r.ValueDim+block-1)/block*block)*int64(r.KeyDim)
	}
	return 0
}

// Owns reports whether a part is one of a mixer with a state, and of no other.
func (m Mixer) Owns(p Part) bool { return m.Recurrent() && slices.Contains(m.parts(), p) }
