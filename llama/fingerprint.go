package llama

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/internal/mmap"
	"github.com/antigravity-go/antigravity/llama/internal/engine"
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

// digest is the digest of a model's weights, once somebody has asked for it.
type digest struct {
	mu  sync.Mutex
	sum *[sha256.Size]byte
}

// Digest returns a SHA-256 of a model that answers: of its configuration and of every element of all weights that answers to texts are computed with. It
// is the same for the same weights in the same types, on every machine and device. Fingerprint reads a few rows only, and is for programs that keep models
// apart; Digest is for programs that prove something, such as package receipt.
//
// Towers that see, tokenizers and templates are not in it. It reads all weights the first time: some seconds for a model of a billion parameters. The
// context is looked at meanwhile. After Close the error is ErrClosed.
func Digest(ctx context.Context, m *Model) (sum [sha256.Size]byte, err error) {
	ctx, end, err := m.working.begin(ctx)
	if err != nil {
		return sum, err
	}
	defer end()
	m.whole.mu.Lock()
	defer m.whole.mu.Unlock()
	if m.whole.sum != nil {
		return *m.whole.sum, nil
	}
	weights, err := engine.Digest(ctx, m.weights)
	switch {
	case err != nil && errors.Is(context.Cause(ctx), ErrClosed):
		return sum, ErrClosed
	case err != nil:
		return sum, fmt.Errorf("digest of the model: %w", err)
	}
	h := sha256.New()
	fmt.Fprintf(h, "%+v\n%x\n", m.Config(), weights)
	sum = [sha256.Size]byte(h.Sum(nil))
	m.whole.sum = &sum
	return sum, nil
}

// Kernels returns the name of the set of instructions that this program computes with on processors, such as "avx512vnni" or "i8mm": the best that package
// asm has for this one, or the one that the environment variable ANTIGRAVITY_CPU names. No result depends on it. LoadOptions.Logger gets it with each model.
func Kernels() string { return asm.Tier() }
