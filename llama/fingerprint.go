package llama

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"runtime"

	"github.com/antigravity-go/antigravity/internal/mmap"
	"github.com/antigravity-go/antigravity/tensor"
)

// Fingerprint returns a short text that tells models apart, of 16 hexadecimal digits: the same for the same weights in the same types, on
// every machine. It reads some rows of every matrix the first time. After Close the error is ErrClosed.
func (m *Model) Fingerprint() (string, error) {
	sum, err := m.fingerprint()
	if err != nil {
		return "", err
	}
	return hex.EncodeToString(sum[:8]), nil
}

// fingerprint returns a SHA-256 that tells models apart: of the configuration, and of some rows of every matrix of weights, as
// floats that the device gives for them. It is computed once.
func (m *Model) fingerprint() (sum [sha256.Size]byte, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return sum, ErrClosed
	}
	if m.print != nil {
		return *m.print, nil
	}
	defer runtime.KeepAlive(m)
	defer mmap.Catch(&err)()
	h := sha256.New()
	fmt.Fprintf(h, "%+v\n", m.config)
	weights := []*tensor.Tensor{m.embedding, m.head}
	for i := range m.layers {
		l := &m.layers[i]
		weights = append(weights, l.q.weight, l.k.weight, l.v.weight, l.o.weight, l.gate.weight, l.up.weight, l.down.weight)
	}
	for _, w := range weights {
		if err := m.hashRows(h, w); err != nil {
			return sum, fmt.Errorf("fingerprint: %w", err)
		}
	}
	sum = [sha256.Size]byte(h.Sum(nil))
	m.print = &sum
	return sum, nil
}

// hashRows adds to h a weight's type and shape, and three of its rows: the first, the last, and one at a third of them.
func (m *Model) hashRows(h hash.Hash, w *tensor.Tensor) error {
	rows, cols := w.Shape().Dim(0), w.Shape().Dim(1)
	indices := []int32{0, int32(rows / 3), int32(rows - 1)}
	out, err := tensor.New(m.device, tensor.F32, tensor.ShapeOf(len(indices), cols))
	if err != nil {
		return err
	}
	defer out.Free()
	if err := m.device.Gather(w, indices, out); err != nil {
		return err
	}
	bytes := make([]byte, out.Size())
	if err := m.device.ReadBuffer(out, bytes); err != nil {
		return err
	}
	fmt.Fprintf(h, "%v %v\n", w.DType(), w.Shape())
	h.Write(bytes)
	return nil
}
