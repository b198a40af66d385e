package timing

import "sync/atomic"

// phases numbers phases. A model has some twenty of them.
//
// Invariant: an entry is set once, and a phase lies in the first entry that was free when it was looked for, from that of its hash on.
type phases [1 << phaseBits]atomic.Pointer[Phase]

const phaseBits = 8

// Untold is the number of phases without a number: their shares are not kept.
const Untold = -1

// number returns a phase's number, or Untold if all numbers are taken.
func (p *phases) number(phase Phase) int32 {
	hash := uint(phase.Rows)*31 + uint(phase.Cols)*7 + uint(len(phase.Operation))*3 + uint(len(phase.Part)) + uint(phase.DType)<<5
	for i := range uint(len(p)) {
		i = (hash + hash>>phaseBits + i) % uint(len(p))
		known := p[i].Load()
		if known == nil {
			own := phase // a copy, so that looking for a phase that is known allocates nothing
			if p[i].CompareAndSwap(nil, &own) {
				return int32(i)
			}
			known = p[i].Load()
		}
		if *known == phase {
			return int32(i)
		}
	}
	return Untold
}

// phase returns the phase with a number.
func (p *phases) phase(number int32) Phase { return *p[number].Load() }
