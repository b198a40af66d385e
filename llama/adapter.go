package llama

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"reflect"
	"slices"
	"sync"

	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/parallel"
	"github.com/antigravity-go/antigravity/llama/internal/engine"
	"github.com/antigravity-go/antigravity/llama/internal/source"
	"github.com/antigravity-go/antigravity/tensor"
)

// An Adapter keeps its file open, and has its matrices on the device of each model that it is used with. The first session of a model
// brings them there. Either side may be closed first: a model gives back what adapters have on its device, and an adapter what it has on
// all devices. LoadOptions.Adapters take another way: openMerged opens their files, and loading adds them to the weights.
//
//	a, err := m1.LoadAdapter("lora")   weightsOn(m1): a.on has m1, m1.adapters has a
//	a session of m2 with a             weightsOn(m2): a.on has m1 and m2
//	m2.Close()                         closes the session; leaveAdapters calls a.leave(m2): a.on has m1
//	a.Close()                          closes m1's sessions with a, frees what m1's device has, closes the file

// Scales of adapters.
const (
	// MaxAdapterScale is the largest magnitude of a scale. Scales that are used lie around 1, and far larger ones only make a model's
	// numbers overflow.
	MaxAdapterScale = 100
	// AdapterOff is the scale with which an adapter changes nothing. It is needed because a scale of 0 means 1.
	AdapterOff = engine.AdapterOff
)

// isAdapterScale reports whether adapters can have a scale. They cannot have NaN.
func isAdapterScale(v float32) bool { return v >= -MaxAdapterScale && v <= MaxAdapterScale }

const wantAdapterScale = "a number from -100 to 100, or AdapterOff"

// AdapterFile names a LoRA adapter that LoadOptions.Adapters adds to a model's weights.
type AdapterFile struct {
	// Path is the adapter's directory or GGUF file, as for Model.LoadAdapter; for LoadFS it is in the same file system as the model.
	Path string
	// Scale is what the adapter's changes are multiplied by, as SessionOptions.AdapterScale; 0: 1.
	Scale float32
}

// Adapter is a LoRA adapter (arXiv 2106.09685). For some of a model's matrices W it has two small matrices A and B, and the linear layer
// computes x·Wᵀ + scale·(x·Aᵀ)·Bᵀ. The model's weights stay as they are. Each session of a model may have an adapter of its own, and all
// sessions are computed together. A session's results are the same as if it were alone.
//
// It is immutable and safe for concurrent use.
type Adapter struct {
	config Config // of the models that it fits
	file   *source.Adapter

	// Invariant while mu is free: the adapter's matrices are on the devices of the models in on. A session's lock is taken before mu, and
	// mu before a model's.
	mu     sync.Mutex
	closed bool // no session begins to use it
	on     map[*Model]*engine.Adapter
	print  *[sha256.Size]byte // the fingerprint, once asked for
	texts  sync.WaitGroup     // that are computed with it, outside of sessions
}

// LoadAdapter opens a LoRA adapter for the model: a directory as Hugging Face's PEFT writes it (adapter_config.json and
// adapter_model.safetensors), or a GGUF file as llama.cpp's convert_lora_to_gguf does. It can be used with every model of the same
// configuration, on other devices too: its matrices are copied there when the first session needs them.
//
// A malformed file is a *FormatError, and so is a tensor with a shape that does not fit the model. For adapters that are not plain LoRA of
// linear layers (DoRA, biases, embeddings, whole modules) the error wraps ErrUnsupported. A closed model gives ErrClosed.
func (m *Model) LoadAdapter(path string) (*Adapter, error) {
	return m.LoadAdapterContext(context.Background(), path)
}

// LoadAdapterContext is LoadAdapter until the context ends: the error then wraps the context's own, and all memory has been given back.
func (m *Model) LoadAdapterContext(ctx context.Context, path string) (*Adapter, error) {
	return loadAdapter(ctx, m, source.Locate, path)
}

// LoadAdapterFS is LoadAdapterContext from a file system; name is a directory, "." for the top, or a GGUF file.
func (m *Model) LoadAdapterFS(ctx context.Context, fsys fs.FS, name string) (*Adapter, error) {
	return loadAdapter(ctx, m, in(fsys), name)
}

// adapterError adds the path to an error that does not name a file.
func adapterError(path string, err error) error { return fileError("load the adapter "+path, err) }

func loadAdapter(ctx context.Context, m *Model, at locator, path string) (a *Adapter, err error) {
	defer func() {
		if err != nil && a != nil {
			a.Close()
			a = nil
		}
		err = adapterError(path, err)
	}()
	defer parallel.Catch(&err)() // a mapped file may be cut short while we read it; the clean-up above then sees the error
	location, err := locate(at, path)
	if err != nil {
		return nil, err
	}
	file, err := source.OpenAdapter(ctx, location, m.config, new(tensor.Galloc))
	if err != nil {
		return nil, err
	}
	a = &Adapter{config: m.Config(), file: file, on: map[*Model]*engine.Adapter{}}
	_, err = a.weightsOn(ctx, m)
	return a, err
}

// Fingerprint returns 16 hexadecimal digits that identify the adapter: the same for the same file, on every machine. It reads the whole
// adapter the first time. After Close the error is ErrClosed.
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
	a.file.Hash(h)
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
	a.texts.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	for m, w := range a.on { // without those that were closed meanwhile
		m.disown(a)
		errs = append(errs, w.Free())
	}
	a.on = nil
	return errors.Join(append(errs, a.file.Close())...)
}

// weightsOn returns the adapter's matrices on a model's device, and brings them there if they are not there yet. Only sessions that the
// model knows compute with them, so that the sessions are closed before the matrices are given back.
func (a *Adapter) weightsOn(ctx context.Context, m *Model) (*engine.Adapter, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, fmt.Errorf("the adapter: %w", ErrClosed)
	}
	if w := a.on[m]; w != nil {
		return w, nil
	}
	if c := m.Config(); !reflect.DeepEqual(a.config, c) {
		return nil, &ParamError{"Adapter", "of a model of another configuration", "one that LoadAdapter of this model, or of one of the same configuration, has returned"}
	}
	if err := m.adopt(a); err != nil { // from here on the model's Close waits for mu, and calls leave
		return nil, err
	}
	w, err := newAdapterOn(ctx, a.file, m)
	if err != nil {
		m.disown(a)
		return nil, err
	}
	a.on[m] = w
	return w, nil
}

// leave gives back the adapter's memory on the device of a model that is being closed. The model's sessions are closed already.
func (a *Adapter) leave(m *Model) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	w := a.on[m]
	if w == nil {
		return nil
	}
	delete(a.on, m)
	return w.Free()
}

// adopt notes that an adapter has, or is about to have, memory on the model's device. A closed model refuses it with ErrClosed.
func (m *users) adopt(a *Adapter) error {
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
func (m *users) disown(a *Adapter) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.adapters, a)
}

// leaveAdapters makes all adapters give back what they have on the device of the model, which is being closed.
func leaveAdapters(m *Model) error {
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
func (m *users) sessionsWith(a *Adapter) (list []*Session) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for w := range m.sessions {
		if s := w.Value(); s != nil && s.options.Adapter == a {
			list = append(list, s)
		}
	}
	return list
}

// newAdapterOn brings an adapter's matrices to a model's device.
func newAdapterOn(ctx context.Context, file *source.Adapter, m *Model) (*engine.Adapter, error) {
	on := m.weights.NewAdapter()
	stages := m.weights.Stages()
	loaders := make([]*source.Loader, len(stages))
	for i := range stages {
		loaders[i] = source.NewLoader(stages[i].Device, 0, 0, nil)
		defer loaders[i].Close()
	}
	for i := range file.Pairs {
		p := &file.Pairs[i]
		to, err := m.weights.Projection(&p.Of.Tensor)
		if err == nil {
			var a, b *tensor.Tensor
			if a, b, err = loaders[to.Stage()].Pair(ctx, p, engine.RankUnit); err == nil {
				on.Set(to, a, b, p.Scale)
			}
		}
		if err != nil {
			on.Free()
			return nil, err
		}
	}
	return on, nil
}

// openMerged opens the adapters that are to be added to the weights of a model with such a configuration, and adds them to adds.
func openMerged(ctx context.Context, adds *source.Merge, list []AdapterFile, c *model.Config, at locator) error {
	for i, from := range list {
		if !isAdapterScale(from.Scale) {
			return &ParamError{fmt.Sprintf("LoadOptions.Adapters[%d].Scale", i), from.Scale, wantAdapterScale}
		}
		if from.Scale == AdapterOff {
			continue
		}
		location, err := locate(at, from.Path)
		if err != nil {
			return adapterError(from.Path, err)
		}
		file, err := source.OpenAdapter(ctx, location, c, new(tensor.Galloc))
		if err != nil {
			return adapterError(from.Path, err)
		}
		adds.Add(file, cmp.Or(float64(from.Scale), 1))
	}
	return nil
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
