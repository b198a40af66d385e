// Package limits has chains of multiply-adds: loops of the instructions that a tier multiplies with and of nothing else. How fast
// they run is what the processor can do at most, with nothing to load, to convert or to store. Nobody uses what they compute.
package limits

//go:generate go -C ../../asmgen run . limits headers

import (
	"sync/atomic"

	"github.com/antigravity-go/antigravity/internal/exact"
)

// Chain is a loop of multiply-adds. The zero value cannot be run.
type Chain struct {
	run   func(turns int)
	turns int // of a call: some ten microseconds, as assembly cannot be preempted
	macs  int // multiply-adds of a turn
}

// Run runs the chain for some ten microseconds, and returns the number of multiply-adds that it did: always the same.
func (c Chain) Run() (macs int) {
	c.run(c.turns)
	return c.turns * c.macs
}

// The chains in portable Go, on numbers one by one. Each step has factors that change, so that the compiler can do no step in advance.
var (
	IntegersPortable = Chain{run: integers, turns: 1024, macs: 8}
	FloatsPortable   = Chain{run: floats, turns: 1024, macs: 4}
)

// sink keeps the compiler from leaving the loops out.
var sink atomic.Int32

// integers does eight multiply-adds for each turn.
func integers(turns int) {
	var a, b, c, d, e, f, g, h int32 = 1, 2, 3, 4, 5, 6, 7, 8
	for factor := int32(turns | 1); turns > 0; turns-- {
		a, b, c, d = a*factor+1, b*factor+1, c*factor+1, d*factor+1
		e, f, g, h = e*factor+1, f*factor+1, g*factor+1, h*factor+1
	}
	sink.Store(a ^ b ^ c ^ d ^ e ^ f ^ g ^ h)
}

// floats does four multiply-adds for each turn, written as the portable products write exact.FMA.
func floats(turns int) {
	const w0, w1, w2, w3 float32 = 0.1, 0.2, 0.3, 0.4
	var s0, s1, s2, s3 float32
	for ; turns > 0; turns-- {
		v := float32(turns)
		y := float64(v)
		t0 := float64(w0)*y + float64(s0)
		t1 := float64(w1)*y + float64(s1)
		t2 := float64(w2)*y + float64(s2)
		t3 := float64(w3)*y + float64(s3)
		if exact.Suspect(t0) || exact.Suspect(t1) || exact.Suspect(t2) || exact.Suspect(t3) {
			s0, s1, s2, s3 = exact.FMA(w0, v, s0), exact.FMA(w1, v, s1), exact.FMA(w2, v, s2), exact.FMA(w3, v, s3)
			continue
		}
		s0, s1, s2, s3 = float32(t0), float32(t1), float32(t2), float32(t3)
	}
	sink.Store(int32(s0 + s1 + s2 + s3))
}
