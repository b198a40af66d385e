//go:build (amd64 || arm64) && !purego

package recurrent

// Unit is the assembly for one set of instructions.
type Unit struct {
	recur func(state, q, k, v, out, decay, beta *float32, keyDim, keyStride, valueStride, rows, delta int)
	width int // columns that recur takes
}

// mostTerms is how many terms one call of assembly adds to each sum at most: some ten microseconds of work.
const mostTerms = 1 << 13

// Recur is Portable.
func (u *Unit) Recur(p *Pass) {
	if p.KeyDim%Sums != 0 || p.KeyDim == 0 {
		Portable(p)
		return
	}
	delta := 0
	if p.Delta {
		delta = 1
	}
	state := (*[Columns]float32)(p.State[:p.KeyDim*Columns])
	most := max(mostTerms/p.KeyDim, 1)
	for first := 0; first < len(p.Decay); first += most {
		n := min(most, len(p.Decay)-first)
		last := first + n - 1
		q, k := p.Q[first*p.KeyStride:last*p.KeyStride+p.KeyDim], p.K[first*p.KeyStride:last*p.KeyStride+p.KeyDim]
		v, out := p.V[first*p.ValueStride:last*p.ValueStride+Columns], p.Out[first*p.ValueStride:last*p.ValueStride+Columns]
		decay, beta := p.Decay[first:first+n], p.Beta[first:first+n]
		for column := 0; column < Columns; column += u.width {
			u.recur(&state[column], &q[0], &k[0], &v[column], &out[column], &decay[0], &beta[0], p.KeyDim, 4*p.KeyStride, 4*p.ValueStride, n, delta)
		}
	}
}
