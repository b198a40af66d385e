package llama

import (
	"crypto/sha256"
	"errors"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/llama/internal/engine"
	"github.com/antigravity-go/antigravity/llama/internal/source"
	"github.com/antigravity-go/antigravity/tensor"
)

// Model is a loaded model: weights on a device or on several, and a tokenizer. It is immutable and safe for concurrent use; what changes
// during a conversation belongs to its sessions.
type Model struct {
	config    *model.Config
	ends      []Token // config's EOS in ascending order
	tokenizer *Tokenizer
	devices
	files   *source.Model // closed after the backend, which may read weights from them
	batch   *engine.Batch // computes what the sessions have to compute
	trace   Trace         // LoadOptions.Trace
	opened  atomic.Uint64 // sessions so far
	working working
	judging judging

	*eyes // the tokenizer's

	whole digest             // of all weights
	print *[sha256.Size]byte // the fingerprint, once asked for; users.mu guards it
	users
	vision
	foresight
}

// users are the sessions and the adapters that have memory on a model's device.
type users struct {
	mu       sync.Mutex
	sessions map[weak.Pointer[Session]]struct{} // weak: a forgotten session must give its memory back
	adapters map[*Adapter]struct{}
	closed   bool
}

// Config returns the model's description.
func (m *Model) Config() Config { return configOf(m.config) }

// Tokenizer returns the model's tokenizer.
func (m *Model) Tokenizer() *Tokenizer { return m.tokenizer }

// IsEnd reports whether a token ends a turn: whether it is one of Config.EOS, which has those of config.json and generation_config.json (or
// of the GGUF file), and the one that the tokenizer names.
func (m *Model) IsEnd(t Token) bool {
	_, is := slices.BinarySearch(m.ends, t)
	return is
}

// Weights yields the model's tensors with their names in GGUF files, such as "blk.0.attn_q.weight", as the backend has prepared them:
// these are the very tensors that its operations are given, so that a backend which watches them can find out what they belong to. They must
// not be changed, and not be used after Close.
func (m *Model) Weights() iter.Seq2[string, *tensor.Tensor] {
	return func(yield func(string, *tensor.Tensor) bool) {
		for of, t := range m.weights.All() {
			if !yield(checkpoint.TensorOf(m.config, of).GGUF.Name, t) {
				return
			}
		}
	}
}

// WeightType returns the type of the linear layers' weights: the first layer's query projection.
func (m *Model) WeightType() tensor.DType { return m.weights.LinearType() }

// Close releases the model and the memory of its weights, on the caller's backend too. Sessions that are still computing stop at
// the next token or chunk with ErrClosed and are waited for. It is idempotent.
func (m *Model) Close() error {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return nil
	}
	m.closed = true
	open := m.sessions
	m.sessions = nil
	m.mu.Unlock()
	var errs []error
	m.working.close()
	for w := range open {
		if s := w.Value(); s != nil {
			errs = append(errs, s.closeOn(m))
		}
	}
	// A device may still be computing the last step of a session that nobody can reach any more.
	m.devices.synchronize()
	if m.weights != nil { // loading may have failed
		if m.head != nil {
			errs = append(errs, m.head.Free())
		}
		errs = append(errs, m.batch.Free(), leaveAdapters(m), m.weights.Free())
	}
	if m.tower != nil {
		errs = append(errs, m.tower.Free())
	}
	errs = append(errs, m.devices.close())
	if m.files != nil {
		errs = append(errs, m.files.Close())
	}
	return errors.Join(errs...)
}

// register adds a session to those that Close closes. A closed model refuses it with ErrClosed.
func (m *users) register(s weak.Pointer[Session]) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return ErrClosed
	}
	for w := range m.sessions { // sessions that the garbage collector has taken need not be closed
		if w.Value() == nil {
			delete(m.sessions, w)
		}
	}
	m.sessions[s] = struct{}{}
	return nil
}

// unregister removes a session that was closed or has moved to another model.
func (m *users) unregister(s weak.Pointer[Session]) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.sessions, s)
}
