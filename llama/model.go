package llama

import (
	"crypto/sha256"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/kvcache"
	"github.com/antigravity-go/antigravity/tensor"
)

// Token is the id of a vocabulary entry.
type Token int32

// Model is a loaded model: weights on a device, and a tokenizer. It is immutable and safe for concurrent use; what changes
// during a conversation belongs to its sessions.
type Model struct {
	config    Config
	ends      []Token // config.EOS in ascending order
	tokenizer *Tokenizer
	device    *device
	store     *kvcache.Store      // the memory of the sessions' caches
	batch     *batch              // computes what the sessions have to compute
	owned     bool                // the backend was made by Load and is closed with the model
	release   func() error        // closes the model's files, after the backend
	trace     Trace               // LoadOptions.Trace
	opened    atomic.Uint64       // sessions so far
	adapted   atomic.Uint64       // adapters so far
	described *checkpoint.Config  // config in the files' terms
	pipeline  checkpoint.Pipeline // how a text becomes a vector

	embedding, norm, head *tensor.Tensor // [vocab, hidden], [hidden], [vocab, hidden]; head is embedding where they are tied
	layers                []layer
	weights               []*tensor.Tensor // all tensors above and in layers, each once; nil ones where loading failed
	names                 []string         // of weights, in GGUF terms
	rotaries              []rotary
	weightBytes           atomic.Int64

	mu       sync.Mutex
	print    *[sha256.Size]byte                 // the fingerprint, once asked for
	sessions map[weak.Pointer[Session]]struct{} // weak: a forgotten session must give its memory back
	adapters map[*Adapter]struct{}              // those that have memory on the device
	closed   bool
}

// Config returns the model's description.
func (m *Model) Config() Config { return m.config.clone() }

// Tokenizer returns the model's tokenizer.
func (m *Model) Tokenizer() *Tokenizer { return m.tokenizer }

// WeightType returns the type of the linear layers' weights: the first layer's query projection.
func (m *Model) WeightType() tensor.DType { return m.layers[0].q.weight.DType() }

// Memory tells how many bytes a model and its sessions take, and for what.
type Memory struct {
	Weights    int64 // tensors, mapped files included, and those of adapters
	Caches     int64 // keys and values of the sessions, what several share counted once, and the records that policies need
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
		Weights: m.weightBytes.Load(), Caches: m.store.Bytes(), Workspaces: m.batch.memory.Load() + m.store.ScratchBytes(), Scratch: backend.Scratch(m.device.Backend),
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
	var first error
	note := func(err error) {
		if first == nil {
			first = err
		}
	}
	for w := range open {
		if s := w.Value(); s != nil {
			note(s.closeOn(m))
		}
	}
	// The device may still be computing the last step of a session that nobody can reach any more; nobody wants its error.
	_ = m.device.Synchronize()
	if m.store != nil { // loading may have failed
		note(m.batch.free())
		note(m.store.Free())
	}
	note(m.leaveAdapters())
	for _, w := range m.weights { // the backend may outlive the model
		if w != nil { // loading may have failed
			m.weightBytes.Add(-int64(w.Size()))
			note(w.Free())
		}
	}
	if m.owned {
		note(m.device.Close())
	}
	note(m.release())
	return first
}

// register adds a session to those that Close closes. A closed model refuses it with ErrClosed.
func (m *Model) register(s weak.Pointer[Session]) error {
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
func (m *Model) unregister(s weak.Pointer[Session]) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.sessions, s)
}
