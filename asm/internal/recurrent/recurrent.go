// Package recurrent holds the kernels of layers that remember a state of fixed size: the gated delta rule and the state space of Mamba 2.
//
// The portable form is the specification; package asm says in which order it, and so all others, compute.
package recurrent

//go:generate go -C ../../asmgen run . recurrent headers

import "github.com/antigravity-go/antigravity/internal/exact"

// Columns is how many columns of a state a kernel works on: each is a lane.
const Columns = 16

// Sums is how many sums a column's sum over the rows of the state is made of: term i goes to sum i mod Sums, and sum i is then added to
// sum i+2, and 0 to 1.
const Sums = 4

// Pass is some tokens that pass, one after the other, through one block of columns of one head's state S [KeyDim, Columns]. Token t has
//
//	k = K[t·KeyStride:][:KeyDim]; q likewise of Q; v = V[t·ValueStride:][:Columns]; Decay[t]; Beta[t]
//
// and for each column j, sums as Sums says, each term by FMA from 0:
//
//	m = Σᵢ S[i][j]·k[i];  u = Beta·fma(−Decay, m, v[j]), or Beta·v[j] without Delta
//	S[i][j] = fma(k[i], u, Decay·S[i][j])
//	Out[t·ValueStride+j] = Σᵢ S[i][j]·q[i]
//
// Out may be V. Nothing else overlaps.
type Pass struct {
	State       []float32 // [KeyDim, Columns]
	Q, K        []float32 // KeyDim elements a token, KeyStride apart
	V, Out      []float32 // Columns elements a token, ValueStride apart
	Decay, Beta []float32 // one a token
	KeyDim      int
	KeyStride   int
	ValueStride int
	Delta       bool
}

// Portable computes a pass.
func Portable(p *Pass) {
	state := p.State[:p.KeyDim*Columns]
	for t, decay := range p.Decay {
		k, q, beta := p.K[t*p.KeyStride:][:p.KeyDim], p.Q[t*p.KeyStride:][:p.KeyDim], p.Beta[t]
		u := *(*[Columns]float32)(p.V[t*p.ValueStride:])
		if p.Delta {
			for j, m := range product(state, k) {
				u[j] = exact.FMA(-decay, m, u[j])
			}
		}
		for j := range u {
			u[j] *= beta
		}
		for i, k := range k {
			row := (*[Columns]float32)(state[i*Columns:])
			for j, s := range row {
				row[j] = exact.FMA(k, u[j], float32(decay*s))
			}
		}
		*(*[Columns]float32)(p.Out[t*p.ValueStride:]) = product(state, q)
	}
}

// product returns Σᵢ S[i][j]·x[i] for each column j.
func product(state, x []float32) [Columns]float32 {
	var sums [Sums][Columns]float32
	for i, x := range x {
		sum, row := &sums[i%Sums], (*[Columns]float32)(state[i*Columns:])
		for j, s := range row {
			sum[j] = exact.FMA(s, x, sum[j])
		}
	}
	for j := range Columns {
		sums[0][j] = (sums[0][j] + sums[2][j]) + (sums[1][j] + sums[3][j])
	}
	return sums[0]
}
