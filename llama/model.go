package llama

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/llama/internal/engine"
	"github.com/antigravity-go/antigravity/llama/internal/source"
	"github.com/antigravity-go/antigravity/tensor"
)

// Model is a loaded model: weights on a device, and a tokenizer. It is immutable and safe for concurrent use; what changes
// during a conversation belongs to its sessions.
type Model struct {
	config    *checkpoint.Config
	ends      []Token // config's EOS in ascending order
	tokenizer *Tokenizer
	backend   backend.Backend
	owned     bool          // the backend was made by Load and is closed with the model
	files     *source.Model // closed after the backend, which may read weights from them
	weights   *engine.Weights
	batch     *engine.Batch // computes what the sessions have to compute
	trace     Trace         // LoadOptions.Trace
	opened    atomic.Uint64 // sessions so far
	working   working
	judging   judging

	print *[sha256.Size]byte // the fingerprint, once asked for; users.mu guards it
	users
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
func (m *Model) Weights() iter.Seq2[string, *tensor.Tensor] { return m.weights.All() }

// WeightType returns the type of the linear layers' weights: the first layer's query projection.
func (m *Model) WeightType() tensor.DType { return m.weights.LinearType() }

// Memory is how many bytes a model and its sessions take, and for what.
type Memory struct {
	Weights    int64 // tensors, mapped files included, and those of adapters
	Caches     int64 // keys and values of the sessions, states of recurrent layers and snapshots, what several share counted once, and the records that policies need
	States     int64 // those of Caches that are of recurrent layers: states and snapshots, whatever the conversations' lengths
	Workspaces int64 // capacity of the model's activations and of the sessions' logits; the system counts only what has been touched
	Scratch    int64 // what the backend's operations keep to work in; models on one backend share it
}

// String returns the sizes in words, such as "weights 1.2 GB, caches 35 MB, workspaces 8.1 MB, scratch 0 B".
func (m Memory) String() string {
	return fmt.Sprintf("weights %s, caches %s, workspaces %s, scratch %s", inUnits(m.Weights), inUnits(m.Caches), inUnits(m.Workspaces), inUnits(m.Scratch))
}

// inUnits writes a number of bytes with two digits at least, in units of 1000.
func inUnits(n int64) string {
	units, v := []string{"B", "kB", "MB", "GB", "TB"}, float64(n)
	for len(units) > 1 && v >= 999.5 {
		v, units = v/1000, units[1:]
	}
	if v < 9.95 && v != math.Trunc(v) {
		return fmt.Sprintf("%.1f %s", v, units[0])
	}
	return fmt.Sprintf("%.0f %s", v, units[0])
}

// MemoryUsage returns the memory of the model and of its open sessions, in bytes. Of a closed model only Scratch may be left: it is its
// backend's.
func (m *Model) MemoryUsage() Memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	usage := Memory{
		Weights: m.weights.Bytes(), Caches: m.weights.CacheBytes(), States: m.weights.StateBytes(), Workspaces: m.batch.Bytes() + m.weights.ScratchBytes(),
		Scratch: backend.Scratch(m.backend),
	}
	for w := range m.sessions {
		if s := w.Value(); s != nil {
			usage.Caches += s.sequence.records.Load()
			usage.Workspaces += s.sequence.logitBytes.Load()
		}
	}
	return usage
}

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
	// The device may still be computing the last step of a session that nobody can reach any more; nobody wants its error.
	_ = m.backend.Synchronize()
	if m.weights != nil { // loading may have failed
		errs = append(errs, m.batch.Free(), m.leaveAdapters(), m.weights.Free())
	}
	if m.owned {
		errs = append(errs, m.backend.Close())
	}
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
