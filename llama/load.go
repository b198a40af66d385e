package llama

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/internal/mmap"
	"github.com/antigravity-go/antigravity/tensor"
)

// LoadOptions say how to load. Nil and the zero value are the good defaults.
type LoadOptions struct {
	// Context ends the loading early, with an error that wraps its own; nil: nothing does. What was allocated is given back
	// before Load returns.
	Context context.Context
	// Backend computes the model; nil: the CPU. The caller closes a backend of its own, after the model.
	Backend backend.Backend
	// Threads is how many threads the CPU computes with; 0: GOMAXPROCS. A Backend of the caller's decides for itself.
	Threads int
	// Weights quantises the linear layers while loading, to Q4_0, Q4_1 or Q8_0 (the output head then becomes Q8_0), or
	// converts them to F32, F16 or BF16; zero: as stored.
	Weights tensor.DType
	// Progress is called now and then with the bytes of weights done and in total. Calls do not overlap.
	Progress func(done, total int64)
	// Logger is told what was loaded; nil: silent.
	Logger *slog.Logger
}

// Load opens a model: a Hugging Face directory (config.json, tokenizer.json, model.safetensors or its shards with their
// index) or a .gguf file. Weights are mapped, not read, where the backend can compute on the file's own layout.
//
// LoadOptions.Context is looked at between tensors, and within them every few megabytes that are converted, packed or sent
// to a device. Two things are not interrupted: reading a tokenizer, which takes some hundred milliseconds on a phone, and a
// device's compiler.
func Load(path string, o *LoadOptions) (*Model, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("llama: load: %w", err)
	}
	dir, name := path, ""
	if !info.IsDir() {
		dir, name = filepath.Split(path)
		if !info.Mode().IsRegular() || !strings.EqualFold(filepath.Ext(name), ".gguf") {
			return nil, fmt.Errorf("llama: load %s: neither a directory nor a .gguf file: %w", path, ErrUnsupported)
		}
	}
	return load(func(context.Context, tensor.Memory) files { return folder(dir) }, name, o)
}

// LoadFS is Load from a file system such as an embed.FS or a zip archive; name is a directory, "." for the top, or a .gguf
// file. Nothing can be mapped there, so the weights are copied.
func LoadFS(fsys fs.FS, name string, o *LoadOptions) (*Model, error) {
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return nil, fmt.Errorf("llama: load: %w", err)
	}
	dir, file := name, ""
	if !info.IsDir() {
		if !strings.EqualFold(path.Ext(name), ".gguf") {
			return nil, fmt.Errorf("llama: load %s: neither a directory nor a .gguf file: %w", name, ErrUnsupported)
		}
		dir, file = path.Split(name)
		dir = path.Clean(dir)
	}
	sub, err := fs.Sub(fsys, dir)
	if err != nil {
		return nil, fmt.Errorf("llama: load: %w", err)
	}
	return load(func(ctx context.Context, m tensor.Memory) files { return fileSystem{sub, m, ctx} }, file, o)
}

// load opens the GGUF file of a name, or the Hugging Face folder when the name is empty.
func load(open func(context.Context, tensor.Memory) files, name string, o *LoadOptions) (m *Model, err error) {
	options := LoadOptions{}
	if o != nil {
		options = *o
	}
	ctx := options.Context
	if ctx == nil {
		ctx = context.Background()
	}
	if w := options.Weights; w != 0 && (w.Format() == nil || !w.Format().CanQuantize()) {
		return nil, fmt.Errorf("llama: LoadOptions.Weights is %v: weights become f32, f16, bf16, q4_0, q4_1 or q8_0", w)
	}
	began := time.Now()
	m = &Model{sessions: map[weak.Pointer[Session]]struct{}{}, release: func() error { return nil }}
	b := options.Backend
	if b == nil {
		b, m.owned = cpu.New(options.Threads), true
	}
	m.device = newDevice(b)
	defer func() {
		if err != nil {
			m.Close()
			m = nil
		}
	}()
	defer mmap.Catch(&err)()     // a mapped file may be cut short while we read it; the clean-up above then sees the error
	host, ok := b.(*cpu.Backend) // converts and holds what is copied on its way to the device
	if !ok {
		host = cpu.New(options.Threads)
		defer host.Close()
	}
	source, err := m.open(open(ctx, host.Memory()), name, host.Memory())
	if err != nil {
		return m, err
	}
	m.release = source.Close
	m.frequencies = m.config.RoPE.frequencies(m.config.HeadDim)
	m.layers = make([]layer, m.config.Layers)
	if err := m.loadWeights(ctx, source, host, &options); err != nil {
		return m, err
	}
	if m.head == nil {
		m.head = m.embedding
	}
	if options.Logger != nil {
		options.Logger.Info("model loaded", "from", source.file(), "layers", m.config.Layers, "hidden", m.config.HiddenSize,
			"vocabulary", m.config.VocabSize, "weights_bytes", m.weightBytes, "linear", m.layers[0].q.weight.DType(),
			"device", b.Describe(), "took", time.Since(began))
	}
	return m, nil
}

// closingSource is a weightSource with files to close.
type closingSource interface {
	weightSource
	io.Closer
}

// open reads the configuration and the tokenizer, and opens the weights.
func (m *Model) open(f files, name string, host tensor.Memory) (source closingSource, err error) {
	var config *Config
	if name == "" {
		if config, err = huggingFaceConfig(f); err != nil {
			return nil, err
		}
		if m.tokenizer, err = huggingFaceTokenizer(f); err != nil {
			return nil, err
		}
		if source, err = openHuggingFace(f, host); err != nil {
			return nil, err
		}
	} else {
		g, err := openGGUF(f, name, host)
		if err != nil {
			return nil, err
		}
		if config, err = g.config(); err == nil {
			m.tokenizer, err = g.tokenizer()
		}
		if err != nil {
			g.Close()
			return nil, err
		}
		source = g
	}
	m.config = *config
	if m.tokenizer == nil {
		m.tokenizer = &Tokenizer{vocabulary: noVocabulary{m.config.VocabSize}}
	}
	if n := m.tokenizer.VocabSize(); n > m.config.VocabSize {
		source.Close()
		return nil, &FormatError{File: source.file(), Offset: -1,
			Err: fmt.Errorf("the tokenizer has %d entries, the embedding table only %d", n, m.config.VocabSize)}
	}
	return source, nil
}

// loadWeights reads, converts and prepares every tensor, several at a time, until the context ends.
func (m *Model) loadWeights(ctx context.Context, source closingSource, host *cpu.Backend, o *LoadOptions) error {
	specs := m.specs()
	stored := make([]*tensor.Tensor, len(specs))
	defer func() { // those that were not come to
		for _, t := range stored {
			if t != nil {
				t.Free()
			}
		}
	}()
	m.weights = make([]*tensor.Tensor, len(specs))
	var total int64
	for i, spec := range specs {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("llama: load %s: %w", source.file(), err)
		}
		t, err := storedTensor(source, spec)
		if err != nil {
			return err
		}
		stored[i] = t
		total += int64(t.Size())
	}
	var (
		next     atomic.Int64
		views    atomic.Bool // some weights are read from the file itself
		progress sync.Mutex
		done     int64
		workers  sync.WaitGroup
		errs     = make([]error, max(o.Threads, 2))
	)
	report := func(n int) {
		progress.Lock()
		defer progress.Unlock()
		done += int64(n)
		if o.Progress != nil {
			o.Progress(done, total)
		}
	}
	for w := range errs {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(specs) && errs[w] == nil; i = int(next.Add(1)) - 1 {
				ready, err := m.prepare(ctx, stored[i], specs[i], host, o.Weights)
				if err != nil {
					errs[w] = fmt.Errorf("llama: %s: tensor %s: %w", source.file(), specs[i].name, err)
					next.Store(int64(len(specs)))
					return
				}
				size := stored[i].Size()
				if ready == stored[i] {
					views.Store(true)
				} else {
					source.done(stored[i])
					stored[i].Free()
				}
				stored[i] = nil
				m.weights[i] = ready
				specs[i].set(ready)
				atomic.AddInt64(&m.weightBytes, int64(ready.Size()))
				report(size)
			}
		})
	}
	workers.Wait()
	if err := errors.Join(errs...); err != nil {
		if ended := ctx.Err(); ended != nil && errors.Is(err, ended) { // in several tensors at once
			err = fmt.Errorf("llama: load %s: %w", source.file(), ended)
		}
		return err
	}
	if !views.Load() {
		m.release = func() error { return nil }
		return source.Close()
	}
	return nil
}

// storedTensor finds a tensor and checks its shape.
func storedTensor(source weightSource, spec weightSpec) (*tensor.Tensor, error) {
	if !source.has(spec.name) {
		return nil, &FormatError{File: source.file(), Offset: -1, Err: fmt.Errorf("the tensor %s %v is missing", spec.name, spec.shape)}
	}
	t, err := source.tensor(spec.name)
	if err != nil {
		return nil, fmt.Errorf("llama: %s: tensor %s: %w", source.file(), spec.name, err)
	}
	if t.Shape() != spec.shape {
		return nil, &FormatError{File: source.file(), Offset: -1,
			Err: fmt.Errorf("the tensor %s is %v%v, where the configuration asks for %v", spec.name, t.DType(), t.Shape(), spec.shape)}
	}
	return t, nil
}

// prepare brings a tensor into the type and the layout that the device computes with.
func (m *Model) prepare(ctx context.Context, t *tensor.Tensor, spec weightSpec, host *cpu.Backend, asked tensor.DType) (ready *tensor.Tensor, err error) {
	defer mmap.Catch(&err)()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	converted, err := convert(ctx, t, targetType(spec.role, t.DType(), asked), host)
	if err != nil {
		return nil, err
	}
	if spec.role == vector {
		ready, err = converted.ToDevice(m.device.Backend)
	} else {
		ready, err = backend.Prepare(ctx, m.device.Backend, converted)
	}
	if converted != t && converted != ready {
		converted.Free()
	}
	return ready, err
}

// LoadTokenizer reads a tokenizer without any weights: from a tokenizer.json, a directory that holds one, or a .gguf file.
func LoadTokenizer(path string) (t *Tokenizer, err error) {
	defer mmap.Catch(&err)()
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("llama: load tokenizer: %w", err)
	}
	dir, name := filepath.Split(path)
	switch {
	case info.IsDir():
		t, err = huggingFaceTokenizer(folder(path))
	case strings.EqualFold(filepath.Ext(name), ".gguf"):
		var g *ggufModel
		if g, err = openGGUF(folder(dir), name, new(tensor.Galloc)); err != nil {
			return nil, err
		}
		defer g.Close()
		t, err = g.tokenizer()
	case name == tokenizerFile:
		t, err = huggingFaceTokenizer(folder(dir))
	default:
		var data []byte
		if data, err = folder(dir).read(name); err != nil {
			return nil, fmt.Errorf("llama: load tokenizer: %w", err)
		}
		if t, err = parseTokenizer(data); err != nil && !errors.Is(err, ErrUnsupported) {
			err = formatError(path, err)
		}
	}
	if err == nil && t == nil {
		err = fmt.Errorf("llama: load tokenizer: %s has none", path)
	}
	return t, err
}
