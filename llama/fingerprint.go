package llama

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"runtime"

	"github.com/antigravity-go/antigravity/internal/mmap"
)

// Fingerprint returns a short text that identifies the model, of 16 hexadecimal digits: the same for the same weights in the same types, on
// every machine. It reads some rows of every matrix the first time. After Close the error is ErrClosed.
func (m *Model) Fingerprint() (string, error) {
	sum, err := fingerprintOf(m)
	if err != nil {
		return "", err
	}
	return hex.EncodeToString(sum[:8]), nil
}

// fingerprintOf returns a SHA-256 of the configuration and of some rows of every matrix of weights, as floats that the device gives for them.
// It is computed once.
func fingerprintOf(m *Model) (sum [sha256.Size]byte, err error) {
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
	fmt.Fprintf(h, "%+v\n", m.Config())
	if err := m.weights.Hash(h); err != nil {
		return sum, fmt.Errorf("fingerprint: %w", err)
	}
	sum = [sha256.Size]byte(h.Sum(nil))
	m.print = &sum
	return sum, nil
}
