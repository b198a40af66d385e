package llama

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"reflect"
	"slices"
	"sync"

	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/parallel"
	"github.com/antigravity-go/antigravity/tensor"
)

// Scales of adapters.
const (
	// MaxAdapterScale is the largest magnitude of a scale. Scales that are used lie around 1, and far larger ones only make a model's
	// numbers overflow.
	MaxAdapterScale = 100
	// AdapterOff is the scale with which an adapter changes nothing. It is needed where a scale of 0 means 1.
	AdapterOff = math.SmallestNonzeroFloat32
)

// isAdapterScale reports whether adapters can have a scale. They cannot have NaN.
func isAdapterScale(v float32) bool { return v >= -MaxAdapterScale && v <= MaxAdapterScale }

const wantAdapterScale = "a number from -100 to 100, or AdapterOff"

// Adapter is a LoRA adapter (arXiv 2106.09685): for some of a model's matrices W two small ones, whose product changes what a linear
// layer computes to x·Wᵀ + scale·(x·Aᵀ)·Bᵀ. The model's weights stay as they are: of the sessions of one model each has the adapter that
// its options name, or none, and all are computed together. A session's results are what they would be if it were alone.
//
// It is immutable and safe for concurrent use.
type Adapter struct {
	config Config // of the models that it fits
	file   *adapterFile

	// Invariant while mu is free: on has the models on whose devices the adapter's matrices are. A session's lock is taken before mu, and
	// mu before a model's.
	mu     sync.Mutex
	closed bool // no session begins to use it
	on     map[*Model]*adapterWeights
	print  *[sha256.Size]byte // the fingerprint, once asked for
}

// LoadAdapter opens a LoRA adapter for the model: a directory as Hugging Face's PEFT writes it (adapter_config.json and
// adapter_model.safetensors), or a GGUF file as llama.cpp's convert_lora_to_gguf does. It can be used with every model of the same
// configuration, on other devices too, where its matrices are copied when the first session needs them.
//
// What is wrong with a file is a *FormatError: a tensor whose shape does not fit the model's too. Adapters that are not plain LoRA of
// linear layers (DoRA, biases, embeddings, whole modules) wrap ErrUnsupported. A closed model gives ErrClosed.
func (m *Model) LoadAdapter(path string) (*Adapter, error) {
	return m.LoadAdapterContext(context.Background(), path)
}

// LoadAdapterContext is LoadAdapter until the context ends: the error then wraps the context's own, and what was allocated has been given
// back.
func (m *Model) LoadAdapterContext(ctx context.Context, path string) (*Adapter, error) {
	f, name, err := locate(path)
	if err != nil {
		return nil, adapterError(path, err)
	}
	a, err := m.loadAdapter(ctx, f, name)
	return a, adapterError(path, err)
}

// LoadAdapterFS is LoadAdapterContext from a file system; name is a directory, "." for the top, or a GGUF file.
func (m *Model) LoadAdapterFS(ctx context.Context, fsys fs.FS, name string) (*Adapter, error) {
	f, file, err := locateIn(fsys, name)
	if err != nil {
		return nil, adapterError(name, err)
	}
	a, err := m.loadAdapter(ctx, f, file)
	return a, adapterError(name, err)
}

// adapterError says what was being loaded, where the error itself does not name a file of it.
func adapterError(path string, err error) error {
	var format *FormatError
	if err == nil || errors.As(err, &format) {
		return brief(err)
	}
	return brief(fmt.Errorf("load the adapter %s: %w", path, err))
}

func (m *Model) loadAdapter(ctx context.Context, f files, name string) (a *Adapter, err error) {
	defer func() {
		if err != nil && a != nil {
			a.Close()
			a = nil
		}
	}()
	defer parallel.Catch(&err)() // a mapped file may be cut short while we read it; the clean-up above then sees the error
	file, err := openAdapter(ctx, f, name, m.described, new(tensor.Galloc))
	if err != nil {
		return nil, err
	}
	a = &Adapter{config: m.Config(), file: file, on: map[*Model]*adapterWeights{}}
	_, err = a.weightsOn(ctx, m)
	return a, err
}

// Fingerprint returns a short text that tells adapters apart, of 16 hexadecimal digits: the same for the same file, on every machine. It
// reads the whole adapter the first time. After Close the error is ErrClosed.
func (a *Adapter) Fingerprint() (string, error) {
	sum, err := a.fingerprint()
	if err != nil {
		return "", err
	}
	return hex.EncodeToString(sum[:8]), nil
}

// fingerprint returns a SHA-256 of all that the adapter adds to a model. It is computed once.
func (a *Adapter) fingerprint() (sum [sha256.Size]byte, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return sum, ErrClosed
	}
	if a.print != nil {
		return *a.print, nil
	}
	defer parallel.Catch(&err)()
	h := sha256.New()
	for i := range a.file.pairs {
		p := &a.file.pairs[i]
		fmt.Fprintf(h, "%s %v %d\n", p.of.HuggingFace, p.scale, p.b.pairs)
		for _, s := range []*storedTensor{&p.a, &p.b} {
			fmt.Fprintf(h, "%v %v\n", s.dtype, s.shape)
			h.Write(s.data)
		}
	}
	sum = [sha256.Size]byte(h.Sum(nil))
	a.print = &sum
	return sum, nil
}

// Close releases the adapter and its memory. Sessions that use it, pools' too, are closed as Model.Close closes them, and waited for. It
// is idempotent.
func (a *Adapter) Close() error {
	a.mu.Lock()
	if a.closed {
		a.mu.Unlock()
		return nil
	}
	a.closed = true
	models := slices.Collect(maps.Keys(a.on))
	a.mu.Unlock()
	var errs []error
	for _, m := range models {
		for _, s := range m.sessionsWith(a) {
			errs = append(errs, s.Close())
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for m, w := range a.on { // without those that were closed meanwhile
		m.disown(a)
		errs = append(errs, w.free())
	}
	a.on = nil
	return errors.Join(append(errs, a.file.Close())...)
}

// weightsOn returns the adapter's matrices on a model's device, and brings them there if they are not there yet. Whoever computes with
// them is a session that the model knows, so that it is closed before they are given back.
func (a *Adapter) weightsOn(ctx context.Context, m *Model) (*adapterWeights, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, fmt.Errorf("the adapter: %w", ErrClosed)
	}
	if w := a.on[m]; w != nil {
		return w, nil
	}
	if c := m.Config(); !reflect.DeepEqual(a.config, c) {
		return nil, &ParamError{"SessionOptions.Adapter", "of a model of another configuration", "one that LoadAdapter of this model, or of one of the same configuration, has returned"}
	}
	if err := m.adopt(a); err != nil { // from here on the model's Close waits for mu, and calls leave
		return nil, err
	}
	w, err := newAdapterWeights(ctx, a.file, m)
	if err != nil {
		m.disown(a)
		return nil, err
	}
	a.on[m] = w
	return w, nil
}

// leave gives back what the adapter has on the device of a model that is being closed, and whose sessions are closed already.
func (a *Adapter) leave(m *Model) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	w := a.on[m]
	if w == nil {
		return nil
	}
	delete(a.on, m)
	return w.free()
}

// adopt notes that an adapter has, or is about to have, memory on the model's device. A closed model refuses it with ErrClosed.
func (m *Model) adopt(a *Adapter) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return ErrClosed
	}
	if m.adapters == nil {
		m.adapters = map[*Adapter]struct{}{}
	}
	m.adapters[a] = struct{}{}
	return nil
}

// disown notes that an adapter has no memory on the model's device any more.
func (m *Model) disown(a *Adapter) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.adapters, a)
}

// leaveAdapters makes all adapters give back what they have on the device of the model, which is being closed.
func (m *Model) leaveAdapters() error {
	m.mu.Lock()
	adapters := slices.Collect(maps.Keys(m.adapters))
	m.adapters = nil
	m.mu.Unlock()
	var errs []error
	for _, a := range adapters {
		errs = append(errs, a.leave(m))
	}
	return errors.Join(errs...)
}

// sessionsWith returns the model's sessions that use an adapter.
func (m *Model) sessionsWith(a *Adapter) (list []*Session) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for w := range m.sessions {
		if s := w.Value(); s != nil && s.options.Adapter == a {
			list = append(list, s)
		}
	}
	return list
}

// adapterWeights are an adapter's matrices in the layout of one model's device.
type adapterWeights struct {
	model  *Model
	number uint64 // among those on the model's device
	layers []adapterLayer
	all    []*tensor.Tensor // each once
	inner  []int            // the different inner dimensions of the products
	outer  []int            // the different outer dimensions
}

// adapterLayer is what an adapter adds in one layer, by the places of the projections.
type adapterLayer [numPlaces]delta

// delta is what an adapter adds to a projection: scale·b·a; nothing where a is nil.
type delta struct {
	a, b  *tensor.Tensor // [inner, in], [out, inner]
	scale float64
}

// place is where in a layer an adapter can add something.
type place uint8

const (
	atQuery place = iota
	atKey
	atValue
	atOutput
	atGate
	atUp
	atDown
	numPlaces
)

// places are the places of a layer's matrices.
var places = map[checkpoint.Part]place{
	checkpoint.Query: atQuery, checkpoint.Key: atKey, checkpoint.Value: atValue, checkpoint.AttentionOutput: atOutput,
	checkpoint.Gate: atGate, checkpoint.Up: atUp, checkpoint.Down: atDown,
}

// newAdapterWeights brings an adapter's matrices to a model's device.
func newAdapterWeights(ctx context.Context, file *adapterFile, m *Model) (w *adapterWeights, err error) {
	w = &adapterWeights{model: m, number: m.adapted.Add(1), layers: make([]adapterLayer, len(m.layers))}
	defer func() {
		if err != nil {
			w.free()
			w = nil
		}
	}()
	defer parallel.Catch(&err)()
	host, done := hostOf(m.device.Backend, 0)
	defer done()
	for i := range file.pairs {
		p := &file.pairs[i]
		at, ok := places[p.of.Part]
		if !ok {
			return w, fmt.Errorf("an adapter of the tensor %s: %w beside the weights", p.of.HuggingFace, ErrUnsupported)
		}
		d := &w.layers[p.of.Layer][at]
		d.scale = p.scale
		inner := (p.rank() + rankUnit - 1) / rankUnit * rankUnit
		for _, half := range []struct {
			stored     *storedTensor
			rows, cols int
			to         **tensor.Tensor
		}{
			{&p.a, inner, p.a.shape.Dim(1), &d.a}, {&p.b, p.b.shape.Dim(0), inner, &d.b},
		} {
			padded, err := half.stored.padded(half.rows, half.cols)
			if err != nil {
				return w, fmt.Errorf("the adapter's tensors of %s: %w", p.of.HuggingFace, err)
			}
			ready, _, err := m.prepare(ctx, &padded, checkpoint.Linear, host, 0)
			if err != nil {
				return w, fmt.Errorf("the adapter's tensors of %s: %w", p.of.HuggingFace, err)
			}
			*half.to = ready
			w.all = append(w.all, ready)
			m.weightBytes.Add(int64(ready.Size()))
		}
		w.inner, w.outer = addOnce(w.inner, inner), addOnce(w.outer, p.b.shape.Dim(0))
	}
	return w, nil
}

// rankUnit is what ranks are padded to a multiple of, with zeros: kernels work on that many rows of weights at once, and slowly on less.
const rankUnit = 16

// addOnce appends n to a list that does not have it yet.
func addOnce(list []int, n int) []int {
	if slices.Contains(list, n) {
		return list
	}
	return append(list, n)
}

// padded returns the matrix with further rows and columns of zeros; itself where there are none.
func (s *storedTensor) padded(rows, cols int) (storedTensor, error) {
	if rows == s.shape.Dim(0) && cols == s.shape.Dim(1) {
		return *s, nil
	}
	from, err := s.dtype.Bytes(s.shape.Dim(1))
	if err != nil {
		return storedTensor{}, err
	}
	to, err := s.dtype.Bytes(cols)
	if err != nil {
		return storedTensor{}, err
	}
	result := storedTensor{dtype: s.dtype, shape: tensor.ShapeOf(rows, cols), data: make([]byte, rows*to), pairs: s.pairs}
	for row := range s.shape.Dim(0) {
		copy(result.data[row*to:], s.data[row*from:(row+1)*from])
	}
	return result, nil
}

// free gives the memory back, when no session uses it.
func (w *adapterWeights) free() error {
	_ = w.model.device.Synchronize() // the device may still be computing the last step of a session; nobody wants its error
	var errs []error
	for _, t := range w.all {
		w.model.weightBytes.Add(-int64(t.Size()))
		errs = append(errs, t.Free())
	}
	return errors.Join(errs...)
}

// adapterPrint joins the fingerprints of a model and of the adapter that a session has.
func adapterPrint(model [sha256.Size]byte, a *Adapter, scale float32) ([sha256.Size]byte, error) {
	if a == nil {
		return model, nil
	}
	sum, err := a.fingerprint()
	if err != nil {
		return sum, err
	}
	h := sha256.New()
	h.Write(model[:])
	h.Write(sum[:])
	binary.Write(h, binary.LittleEndian, scale)
	return [sha256.Size]byte(h.Sum(nil)), nil
}
