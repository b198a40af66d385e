package host

import (
	"fmt"
	"runtime"
	"slices"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// mapped is a set of tensors that the host may touch until unmap. It keeps them from being collected, which would give up
// their memory: an operation has only slices of that.
type mapped struct {
	few    [16]*tensor.Tensor
	n      int              // how many are in few
	more   []*tensor.Tensor // those that are too many for few
	device bool             // among them are some of a device's memory, which must be unmapped
}

// add maps tensors. After an error no tensor is mapped any more.
func (m *mapped) add(op string, tensors ...*tensor.Tensor) error {
	for _, t := range tensors {
		if _, host := t.Buffer().(*tensor.SharedBuffer); !host { // which is always mapped
			if err := t.Buffer().Map(); err != nil {
				m.unmap()
				return fmt.Errorf("host: %s: map %v: %w", op, t, err)
			}
			m.device = true
		}
		m.hold(t)
		if t.Data() == nil && t.Size() > 0 {
			m.unmap()
			return fmt.Errorf("host: %s: map %v: the buffer has been freed", op, t)
		}
	}
	return nil
}

// addWeights maps weights, which may be packed.
func (m *mapped) addWeights(op string, tensors ...*tensor.Tensor) error {
	for _, t := range tensors {
		if panelsOf(t) != nil && dataOf(t) != nil {
			m.hold(t) // Unmap does nothing to it
		} else if err := m.add(op, t); err != nil {
			return err
		}
	}
	return nil
}

func (m *mapped) hold(t *tensor.Tensor) {
	if m.n == len(m.few) {
		m.more = append(m.more, t)
		return
	}
	m.few[m.n] = t
	m.n++
}

// unmap gives the tensors back.
func (m *mapped) unmap() {
	if m.device {
		for _, tensors := range [2][]*tensor.Tensor{m.few[:m.n], m.more} {
			for _, t := range tensors {
				t.Buffer().Unmap()
			}
		}
	}
	m.n, m.more, m.device = 0, nil, false
	runtime.KeepAlive(m)
}

// floats returns the data of a mapped F32 tensor.
func floats(t *tensor.Tensor) []float32 {
	x, err := tensor.As[float32](t)
	if err != nil {
		return nil // the checks and mapped leave no way here
	}
	return x
}

// integers returns the data of a mapped I32 tensor.
func integers(t *tensor.Tensor) []int32 {
	x, err := tensor.As[int32](t)
	if err != nil {
		return nil // the checks and mapped leave no way here
	}
	return x
}

// optional maps an F32 tensor and returns its data; nil for a nil tensor.
func (m *mapped) optional(op string, t *tensor.Tensor) ([]float32, error) {
	if t == nil {
		return nil, nil
	}
	if err := m.add(op, t); err != nil {
		return nil, err
	}
	return floats(t), nil
}

// addStates maps the states of stretches.
func (m *mapped) addStates(op string, of []backend.Stretch) error {
	for i := range of {
		if err := m.add(op, of[i].State); err != nil {
			return err
		}
	}
	return nil
}

// addRun maps the pages of a run: of the slots of its tokens, or of all slots in use.
func (m *mapped) addRun(op string, r *backend.Run, latest bool) error {
	for head := range r.Slots.Heads {
		n, first := r.Slots.Heads[head].Len, 0
		if latest {
			first = n - r.Tokens
		}
		if err := m.addPages(op, r.Slots, head, first, n); err != nil {
			return err
		}
	}
	return nil
}

// addAttended maps what rows of a run attend to.
func (m *mapped) addAttended(op string, r *backend.Run) error {
	if r.Slots.Sinks != nil && !m.has(r.Slots.Sinks) {
		if err := m.add(op, r.Slots.Sinks); err != nil {
			return err
		}
	}
	return m.addRun(op, r, false)
}

// addPages maps the slabs of a head's slots [lo, hi). Slots keep their slabs from being collected, so that those of host memory, which
// is always mapped, need not be noted.
func (m *mapped) addPages(op string, s *backend.Slots, head, lo, hi int) error {
	if lo == hi {
		return nil
	}
	for i := lo / backend.PageSlots; i <= (hi-1)/backend.PageSlots; i++ {
		slab := s.Heads[head].Pages[i].Slab
		if b, host := slab.Buffer().(*tensor.SharedBuffer); host && b.Mapped() || m.has(slab) {
			continue
		}
		if err := m.add(op, slab); err != nil {
			return err
		}
	}
	return nil
}

// has reports whether a tensor has been added.
func (m *mapped) has(t *tensor.Tensor) bool {
	return slices.Contains(m.few[:m.n], t) || slices.Contains(m.more, t)
}
