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
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/internal/parallel"
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
// index) or a GGUF file, told by how it begins and not by its name. Weights are mapped, not read, where the backend can compute
// on the file's own layout.
//
// LoadOptions.Context is looked at between the files of a model, between tensors, and within them every few megabytes that are
// converted, packed or sent to a device. Two things are not interrupted: reading a tokenizer, which takes some hundred
// milliseconds on a phone, and a device's compiler.
//
// What is wrong with a file is a *FormatError, what is merely not supported wraps ErrUnsupported.
func Load(path string, o *LoadOptions) (*Model, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, loadError(path, err)
	}
	dir, name := path, ""
	if !info.IsDir() {
		dir, name = filepath.Split(path)
		if !info.Mode().IsRegular() {
			return nil, loadError(path, fmt.Errorf("neither a directory nor a regular file but %v: %w", info.Mode().Type(), ErrUnsupported))
		}
	}
	m, err := load(func(context.Context, tensor.Memory) files { return folder(dir) }, name, o)
	return m, loadError(path, err)
}

// LoadFS is Load from a file system such as an embed.FS or a zip archive; name is a directory, "." for the top, or a GGUF
// file. Nothing can be mapped there, so the weights are copied.
func LoadFS(fsys fs.FS, name string, o *LoadOptions) (*Model, error) {
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return nil, loadError(name, err)
	}
	dir, file := name, ""
	if !info.IsDir() {
		dir, file = path.Split(name)
		dir = path.Clean(dir)
	}
	sub, err := fs.Sub(fsys, dir)
	if err != nil {
		return nil, loadError(name, err)
	}
	m, err := load(func(ctx context.Context, m tensor.Memory) files { return fileSystem{sub, m, ctx} }, file, o)
	return m, loadError(name, err)
}

// loadError says what was being loaded, where the error itself does not name a file of it.
func loadError(path string, err error) error {
	var format *FormatError
	if err == nil || errors.As(err, &format) {
		return brief(err)
	}
	return brief(fmt.Errorf("load %s: %w", path, err))
}

// maxMessage bounds the messages of what is wrong with a file, in bytes: some quote the file, whose parts may be of any length.
const maxMessage = 1000

// brief bounds an error's message, whatever it quotes.
func brief(err error) error {
	if err == nil || len(err.Error()) <= maxMessage {
		return err
	}
	return &briefError{err}
}

// briefError is an error whose message is too long.
type briefError struct{ error }

// Error returns the beginning and the end of the message.
func (e *briefError) Error() string {
	text := e.error.Error()
	return strings.ToValidUTF8(text[:maxMessage/2], "") + " … " + strings.ToValidUTF8(text[len(text)-maxMessage/2:], "")
}

// Unwrap returns the error with its whole message.
func (e *briefError) Unwrap() error { return e.error }

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
	if w := options.Weights; w != 0 && !w.Format().CanQuantize() {
		return nil, fmt.Errorf("LoadOptions.Weights is %v: weights become f32, f16, bf16, q4_0, q4_1 or q8_0", w)
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
	defer parallel.Catch(&err)() // a mapped file may be cut short while we read it; the clean-up above then sees the error
	host, ok := b.(*cpu.Backend) // converts and holds what is copied on its way to the device
	if !ok {
		host = cpu.New(options.Threads)
		defer host.Close()
	}
	source, err := m.open(ctx, open(ctx, host.Memory()), name, host.Memory())
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
			"vocabulary", m.config.VocabSize, "weights_bytes", m.weightBytes.Load(), "linear", m.layers[0].q.weight.DType(),
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
func (m *Model) open(ctx context.Context, f files, name string, host tensor.Memory) (source closingSource, err error) {
	defer func() {
		if err != nil && source != nil {
			source.Close()
			source = nil
		}
	}()
	var config *Config
	if name == "" {
		config, source, err = m.openFolder(ctx, f, host)
	} else {
		config, source, err = m.openGGUF(f, name, host)
	}
	if err != nil {
		return source, err
	}
	m.config = *config
	m.ends = slices.Sorted(slices.Values(config.EOS))
	if m.tokenizer == nil {
		m.tokenizer = &Tokenizer{vocabulary: noVocabulary{m.config.VocabSize}}
	}
	if n := m.tokenizer.VocabSize(); n > m.config.VocabSize {
		return source, &FormatError{File: source.file(), Offset: -1,
			Err: fmt.Errorf("the tokenizer has %d entries, the embedding table only %d", n, m.config.VocabSize)}
	}
	return source, ctx.Err()
}

// openFolder opens a Hugging Face folder. The context is looked at between its files.
func (m *Model) openFolder(ctx context.Context, f files, host tensor.Memory) (config *Config, _ closingSource, err error) {
	if config, err = huggingFaceConfig(f); err != nil {
		if only := onlyGGUF(f); only != "" && errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w; to load the GGUF file in this directory, name it: %s", err, f.path(only))
		}
		return nil, nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	if m.tokenizer, err = huggingFaceTokenizer(f); err != nil {
		return nil, nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	h, err := openHuggingFace(f, host)
	if err != nil {
		return nil, nil, err
	}
	return config, h, nil
}

// openGGUF opens a GGUF file.
func (m *Model) openGGUF(f files, name string, host tensor.Memory) (config *Config, _ closingSource, err error) {
	if is, err := isGGUF(f, name); err != nil {
		return nil, nil, err
	} else if !is {
		return nil, nil, notAModel(f, name)
	}
	g, err := openGGUF(f, name, host)
	if err != nil {
		return nil, nil, err
	}
	if config, err = g.config(); err == nil {
		m.tokenizer, err = g.tokenizer()
	}
	return config, g, err
}

// loadWeights reads, converts and prepares every tensor, several at a time, until the context ends. Before anything is
// allocated for them it checks that all are there, in the shapes and in a type that they must have.
func (m *Model) loadWeights(ctx context.Context, source closingSource, host *cpu.Backend, o *LoadOptions) error {
	specs := m.specs()
	var total int64
	for _, spec := range specs {
		size, err := checkStored(source, spec)
		if err != nil {
			return err
		}
		total += size
	}
	if err := m.config.checkWorkingBytes(total); err != nil {
		return &FormatError{File: source.file(), Offset: -1, Err: err}
	}
	stored := make([]*tensor.Tensor, len(specs))
	defer func() { // those that were not come to
		for _, t := range stored {
			if t != nil {
				t.Free()
			}
		}
	}()
	m.weights = make([]*tensor.Tensor, len(specs))
	for i, spec := range specs {
		if err := ctx.Err(); err != nil {
			return err
		}
		t, err := source.tensor(spec.name)
		if err != nil {
			return fmt.Errorf("the tensor %s: %w", spec.name, err)
		}
		stored[i] = t
	}
	var (
		next     atomic.Int64
		views    atomic.Bool // some weights are read from the file itself
		progress sync.Mutex
		done     int64
		workers  parallel.Group
	)
	report := func(n int) {
		progress.Lock()
		defer progress.Unlock()
		done += int64(n)
		if o.Progress != nil {
			o.Progress(done, total)
		}
	}
	for range min(max(o.Threads, 2), len(specs)) {
		workers.Go(func() error {
			defer next.Add(int64(len(specs))) // who ends has found all done, or an error that ends the others too
			for i := int(next.Add(1)) - 1; i < len(specs); i = int(next.Add(1)) - 1 {
				ready, err := m.prepare(ctx, stored[i], specs[i], host, o.Weights)
				if err != nil {
					return fmt.Errorf("the tensor %s: %w", specs[i].name, err)
				}
				size := stored[i].Size()
				if ready == stored[i] {
					views.Store(true)
				} else {
					source.done(specs[i].name, stored[i])
					stored[i].Free()
				}
				stored[i] = nil
				m.weights[i] = ready
				specs[i].set(ready)
				m.weightBytes.Add(int64(ready.Size()))
				report(size)
			}
			return nil
		})
	}
	if err := errors.Join(workers.Wait()...); err != nil {
		if ended := ctx.Err(); ended != nil && errors.Is(err, ended) { // in several tensors at once
			return ended
		}
		return err
	}
	if !views.Load() {
		m.release = func() error { return nil }
		return source.Close()
	}
	return nil
}

// checkStored finds a tensor, checks its type and its shape, and returns its size in bytes.
func checkStored(source weightSource, spec weightSpec) (int64, error) {
	if !source.has(spec.name) {
		return 0, &FormatError{File: source.file(), Offset: -1, Err: fmt.Errorf("the tensor %s %v is missing", spec.name, spec.shape)}
	}
	t, err := source.find(spec.name)
	if err != nil {
		return 0, err
	}
	if t.shape != spec.shape {
		return 0, &FormatError{File: source.file(), Offset: -1,
			Err: fmt.Errorf("the tensor %s is %v%v, where the configuration asks for %v", spec.name, t.dtype, t.shape, spec.shape)}
	}
	return int64(len(t.data)), nil
}

// prepare brings a tensor into the type and the layout that the device computes with.
func (m *Model) prepare(ctx context.Context, t *tensor.Tensor, spec weightSpec, host *cpu.Backend, asked tensor.DType) (ready *tensor.Tensor, err error) {
	defer parallel.Catch(&err)()
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

// LoadTokenizer reads a tokenizer without any weights: from a tokenizer.json, a directory that holds one, or a GGUF file.
func LoadTokenizer(path string) (*Tokenizer, error) {
	t, err := loadTokenizer(path)
	var format *FormatError
	if err != nil && !errors.As(err, &format) {
		err = fmt.Errorf("load the tokenizer %s: %w", path, err)
	}
	return t, brief(err)
}

func loadTokenizer(path string) (t *Tokenizer, err error) {
	defer parallel.Catch(&err)()
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	dir, name := filepath.Split(path)
	if info.IsDir() {
		dir, name = path, tokenizerFile
	}
	if is := false; !info.IsDir() {
		if is, err = isGGUF(folder(dir), name); err != nil {
			return nil, err
		}
		if is {
			return ggufTokenizer(folder(dir), name)
		}
	}
	if name == tokenizerFile {
		t, err = huggingFaceTokenizer(folder(dir))
	} else {
		t, err = otherTokenizer(folder(dir), name)
	}
	if err != nil || t != nil {
		return t, err
	}
	if only := onlyGGUF(folder(dir)); only != "" {
		return nil, fmt.Errorf("llama: there is no %s; to read the tokenizer of the GGUF file in this directory, name it: %s", tokenizerFile, folder(dir).path(only))
	}
	return nil, fmt.Errorf("llama: there is no %s", tokenizerFile)
}

// ggufTokenizer reads the tokenizer of a GGUF file.
func ggufTokenizer(f files, name string) (*Tokenizer, error) {
	g, err := openGGUF(f, name, new(tensor.Galloc))
	if err != nil {
		return nil, err
	}
	defer g.Close()
	t, err := g.tokenizer()
	if err == nil && t == nil {
		err = fmt.Errorf("llama: the GGUF file has no tokenizer")
	}
	return t, err
}

// otherTokenizer reads a tokenizer.json of another name.
func otherTokenizer(f files, name string) (*Tokenizer, error) {
	head, err := f.head(name)
	if err != nil {
		return nil, err
	}
	if kind := kindOf(head); kind != "JSON" && kind != "" {
		return nil, fmt.Errorf("the file is %s: %w; a tokenizer is a %s or a GGUF file", kind, ErrUnsupported, tokenizerFile)
	}
	data, err := f.read(name)
	if err != nil {
		return nil, err
	}
	t, err := parseTokenizer(data)
	if err != nil && !errors.Is(err, ErrUnsupported) {
		err = formatError(f.path(name), err)
	}
	return t, err
}
