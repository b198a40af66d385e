package llama

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/mmap"
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
	owned     bool         // the backend was made by Load and is closed with the model
	release   func() error // closes the model's files, after the backend

	embedding, norm, head *tensor.Tensor // [vocab, hidden], [hidden], [vocab, hidden]; head is embedding where they are tied
	layers                []layer
	weights               []*tensor.Tensor // all tensors above and in layers, each once; nil ones where loading failed
	frequencies           []float64        // [headDim/2]: RoPE's, in radians a position
	weightBytes           atomic.Int64

	mu       sync.Mutex
	print    *[sha256.Size]byte                 // the fingerprint, once asked for
	sessions map[weak.Pointer[Session]]struct{} // weak: a forgotten session must give its memory back
	closed   bool
}

// Config returns the model's description.
func (m *Model) Config() Config {
	c := m.config
	c.EOS = append([]Token(nil), c.EOS...)
	return c
}

// Tokenizer returns the model's tokenizer.
func (m *Model) Tokenizer() *Tokenizer { return m.tokenizer }

// WeightType returns the type of the linear layers' weights: the first layer's query projection.
func (m *Model) WeightType() tensor.DType { return m.layers[0].q.weight.DType() }

// Memory tells how many bytes a model and its sessions take, and for what.
type Memory struct {
	Weights    int64 // tensors, mapped files included
	Caches     int64 // slots in use in the sessions' caches
	Workspaces int64 // capacity of the sessions' activations; the system counts only what has been touched
	Scratch    int64 // what the backend's operations keep to work in; models on one backend share it
}

// MemoryUsage returns the memory of the model and of its open sessions, in bytes.
func (m *Model) MemoryUsage() Memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	usage := Memory{Weights: m.weightBytes.Load(), Scratch: backend.Scratch(m.device.Backend)}
	for w := range m.sessions {
		if s := w.Value(); s != nil {
			usage.Caches += s.cacheBytes.Load()
			usage.Workspaces += s.workspaceBytes.Load()
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
	for _, w := range m.weights { // the backend may outlive the model
		if w != nil { // loading may have failed
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
func (m *Model) register(s *Session) error {
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
	m.sessions[weak.Make(s)] = struct{}{}
	return nil
}

// unregister removes a session that was closed or has moved to another model.
func (m *Model) unregister(s *Session) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.sessions, weak.Make(s))
}

// forward computes a chunk of tokens at positions start, start+1, …, leaving the residual stream after the last layer in
// ws.x and the chunk's keys and values in the caches. Before each layer of more than one token it looks at the context. When it
// fails or is cancelled, the caches and their records are as they were.
func (m *Model) forward(ctx context.Context, ws *workspace, tokens []Token, start int, caches []*kvcache.Cache) (err error) {
	defer runtime.KeepAlive(m)
	defer func() {
		if err != nil {
			for _, c := range caches {
				c.TakeBack(start)
			}
			err = fmt.Errorf("%d tokens at position %d: %w", len(tokens), start, err)
		}
	}()
	defer mmap.Catch(&err)() // weights may be a mapped file; the clean-up above then sees the error
	if err := m.embed(ws, tokens, start); err != nil {
		return err
	}
	for i := range m.layers {
		if len(tokens) > 1 {
			if err := ws.pace.wait(m.device, len(tokens)); err != nil {
				return fmt.Errorf("layer %d: %w", i, err)
			}
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		if err := m.layers[i].forward(m.device, ws, caches[i], m.config.RMSNormEps); err != nil {
			return fmt.Errorf("layer %d: %w", i, err)
		}
	}
	return nil
}

// embed cuts the workspace to the tokens, looks up their embeddings into ws.x, and computes RoPE's cosines and sines for positions
// start, start+1, … into ws.rope.
func (m *Model) embed(ws *workspace, tokens []Token, start int) error {
	if err := ws.resize(len(tokens)); err != nil {
		return err
	}
	angles, err := tensor.Mut[float32](ws.ropeHost)
	if err != nil {
		return err
	}
	n := len(tokens) * m.config.HeadDim
	ropeTable(angles[:n], m.frequencies, start)
	if err := m.device.CopySlice(ws.ropeHost, &ws.rope, 0, 0, n); err != nil {
		return err
	}
	ws.indices = ws.indices[:0]
	for _, t := range tokens {
		ws.indices = append(ws.indices, int32(t))
	}
	return m.device.Gather(m.embedding, ws.indices, &ws.x)
}

// hidden computes the final states of rows [lo, hi) of ws.x, after the norm, into ws.last [hi-lo, hidden]; at most headRows rows.
func (m *Model) hidden(ws *workspace, lo, hi int) error {
	if err := ws.lastFull.SliceInto(&ws.last, 0, hi-lo); err != nil {
		return err
	}
	width := m.config.HiddenSize
	if err := m.device.CopySlice(&ws.x, &ws.last, lo*width, 0, (hi-lo)*width); err != nil {
		return err
	}
	return m.device.RMSNorm(&ws.last, m.norm, m.config.RMSNormEps)
}

// logits computes the logits of rows [lo, hi) of ws.x, at most headRows rows, into ws.logits [hi-lo, vocab]. The device may still
// be computing them when it returns.
func (m *Model) logits(ws *workspace, lo, hi int) (err error) {
	defer runtime.KeepAlive(m)
	defer mmap.Catch(&err)()
	if err := m.hidden(ws, lo, hi); err != nil {
		return fmt.Errorf("final norm: %w", err)
	}
	ws.tempered = 0
	if err := ws.logitsFull.SliceInto(&ws.logits, 0, hi-lo); err != nil {
		return err
	}
	if err := m.device.MatMulTransposed(&ws.last, m.head, &ws.logits); err != nil {
		return fmt.Errorf("output head: %w", err)
	}
	return nil
}

// Embed returns the mean of the text's last hidden states, after the final norm, scaled to unit length. The begin-of-text token
// comes first where the model wants one; special tokens in the text are inert, as in Tokenizer.Encode. What does not fit the
// model's context is a *ContextFullError.
func (m *Model) Embed(ctx context.Context, text string) ([]float32, error) {
	tokens := append(m.tokenizer.EncodeSpecial("", true), m.tokenizer.Encode(text)...)
	if len(tokens) == 0 {
		return nil, &ParamError{"the text to embed", `""`, "one that has tokens"}
	}
	if context := m.config.ContextLength; len(tokens) > context {
		return nil, &ContextFullError{Have: 0, Want: len(tokens), Room: context}
	}
	s, err := m.NewSession(&SessionOptions{Capacity: len(tokens)})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	width := m.config.HiddenSize
	sum, rows := make([]float64, width), make([]float32, headRows*width)
	err = s.prefill(ctx, tokens, func(lo, hi int) error {
		if err := m.hidden(s.ws, lo, hi); err != nil {
			return err
		}
		if err := backend.ReadFloats(m.device, &s.ws.last, rows[:(hi-lo)*width]); err != nil {
			return err
		}
		for i, v := range rows[:(hi-lo)*width] {
			sum[i%width] += float64(v)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("embed: %w", err)
	}
	return unit(sum), nil
}

// unit returns x scaled to length one; zeros stay zeros.
func unit(x []float64) []float32 {
	squares := 0.0
	for _, v := range x {
		squares += float64(v * v)
	}
	length := math.Sqrt(squares)
	if length == 0 {
		length = 1
	}
	result := make([]float32, len(x))
	for i, v := range x {
		result[i] = float32(v / length)
	}
	return result
}
