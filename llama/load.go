package llama

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/parallel"
	"github.com/antigravity-go/antigravity/kvcache"
	"github.com/antigravity-go/antigravity/tensor"
	"golang.org/x/sync/errgroup"
)

// LoadOptions say how to load. Nil and the zero value are the good defaults.
type LoadOptions struct {
	// Backend computes the model; nil: the CPU. The caller closes a backend of its own, after the model.
	Backend backend.Backend
	// Threads is how many threads the CPU computes with; 0: GOMAXPROCS. A Backend of the caller's decides for itself.
	Threads int
	// Weights quantises the linear layers while loading, to any quantised type whose blocks fill their rows (the output head then
	// becomes Q8_0), or converts them to F32, F16 or BF16; zero: as stored. Types other than Q4_0, Q4_1 and Q8_0 are found by a search
	// that takes minutes for a billion weights: write a file of them once, with examples/tools/quantize.
	Weights tensor.DType
	// Adapters are LoRA adapters that are added to the weights while loading: W + scale·B·A, computed in float32 and rounded to the type of
	// the weights once, as Weights says or else as stored. Matrices that the file has quantised become F16 where Weights is zero: rounded
	// to few bits again, they would lose most of what an adapter changes. The model then costs no more than without adapters; to choose
	// an adapter for each session, see LoadAdapter.
	Adapters []AdapterFile
	// MaxBatch is the most rows of answers that one pass through the model computes for sessions that run at once, a row for each
	// token; 0: 32. What does not fit waits for the next pass. No answer depends on it.
	MaxBatch int
	// Progress is called now and then with the bytes of weights done and in total. Calls do not overlap.
	Progress func(done, total int64)
	// Logger is told what was loaded; nil: silent.
	Logger *slog.Logger
	// Trace is told what the model does, and when; nil: nobody is.
	Trace *Trace
}

// Load opens a model: a Hugging Face directory (config.json, tokenizer.json, model.safetensors or its shards with their
// index) or a GGUF file, told by how it begins and not by its name. (A name on the Hugging Face Hub is no path: hub.Get, of package
// llama/hub, fetches what has one, and returns its path.) Weights are mapped, not read, where the backend can compute
// on the file's own layout.
//
// What is wrong with a file is a *FormatError, what is merely not supported wraps ErrUnsupported.
func Load(path string, o *LoadOptions) (*Model, error) {
	return LoadContext(context.Background(), path, o)
}

// LoadContext is Load until the context ends: the error then wraps the context's own, and what was allocated has been given back.
//
// The context is looked at between the files of a model, between tensors, and within them every few megabytes that are
// converted, packed or sent to a device. Two things are not interrupted: reading a tokenizer, which takes some hundred
// milliseconds on a phone, and a device's compiler.
func LoadContext(ctx context.Context, path string, o *LoadOptions) (*Model, error) {
	m, err := load(ctx, locate, path, o)
	return m, loadError(path, err)
}

// LoadFS is LoadContext from a file system such as an embed.FS or a zip archive; name is a directory, "." for the top, or a GGUF
// file. Nothing can be mapped there, so the weights are copied.
func LoadFS(ctx context.Context, fsys fs.FS, name string, o *LoadOptions) (*Model, error) {
	m, err := load(ctx, func(path string) (files, string, error) { return locateIn(fsys, path) }, name, o)
	return m, loadError(name, err)
}

// loadError says what was being loaded, where the error itself does not name a file of it.
func loadError(path string, err error) error {
	var format *FormatError
	if err == nil || path == "" || errors.As(err, &format) {
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

// locator says where the files of a path are: in which folder, and the name of one where the path is no folder's.
type locator func(path string) (f files, name string, err error)

// load opens the GGUF file or the Hugging Face folder that a path names.
func load(ctx context.Context, at locator, path string, o *LoadOptions) (m *Model, err error) {
	f, name, err := at(path)
	if err != nil {
		return nil, err
	}
	options := LoadOptions{}
	if o != nil {
		options = *o
	}
	if w := options.Weights; w != 0 && !w.Format().CanQuantize() {
		return nil, fmt.Errorf("LoadOptions.Weights is %v: weights become %s", w, weightTypes())
	}
	if options.Threads < 0 {
		return nil, &ParamError{"LoadOptions.Threads", options.Threads, "positive, or 0 for GOMAXPROCS"}
	}
	if options.MaxBatch < 0 {
		return nil, &ParamError{"LoadOptions.MaxBatch", options.MaxBatch, "positive, or 0 for the default"}
	}
	began := time.Now()
	trace := Trace{}
	if options.Trace != nil {
		trace = *options.Trace
	}
	m = &Model{trace: trace, sessions: map[weak.Pointer[Session]]struct{}{}, release: func() error { return nil }}
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
	host, done := hostOf(b, options.Threads)
	defer done()
	config, source, err := m.open(ctx, f, name, host.Memory())
	if err != nil {
		return m, err
	}
	m.config = configOf(config)
	m.ends = slices.Sorted(slices.Values(m.config.EOS))
	if err := ctx.Err(); err != nil {
		return m, err
	}
	m.layers = make([]layer, config.Layers)
	manner, err := m.config.manner()
	if err != nil {
		return m, err
	}
	for i := range m.layers {
		m.layers[i] = newLayer(manner)
	}
	m.setRotaries(config)
	m.batch = newBatch(m, options.MaxBatch)
	m.store = kvcache.NewStore(b, mostChunk+m.batch.most, config.Heads, config.KVHeads, config.HeadDim)
	m.described = config
	adds, err := openMerging(ctx, options.Adapters, config, at)
	if err != nil {
		return m, err
	}
	defer adds.close()
	if err := m.loadWeights(ctx, source, config.Tensors(), adds, host, &options); err != nil {
		return m, err
	}
	if m.head == nil {
		m.head = m.embedding
	}
	m.addEnd()
	if options.Logger != nil {
		options.Logger.Info("model loaded", "from", source.file(), "layers", m.config.Layers, "hidden", m.config.HiddenSize,
			"vocabulary", m.config.VocabSize, "weights_bytes", m.weightBytes.Load(), "linear", m.layers[0].q.weight.DType(),
			"device", b.Describe(), "took", time.Since(began))
	}
	return m, nil
}

// open reads the configuration and opens the weights, which m.release closes from then on.
func (m *Model) open(ctx context.Context, f files, name string, memory tensor.Memory) (*checkpoint.Config, weightSource, error) {
	if name == "" {
		return m.openFolder(ctx, f, memory)
	}
	return m.openGGUF(ctx, f, name, memory)
}

// openFolder opens a Hugging Face folder. The context is looked at between its files.
func (m *Model) openFolder(ctx context.Context, f files, memory tensor.Memory) (*checkpoint.Config, weightSource, error) {
	config, err := checkpoint.Folder(f.read).Config()
	if err != nil {
		if only := onlyGGUF(f); only != "" && errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w; to load the GGUF file in this directory, name it: %s", err, f.path(only))
		} else if adapter, _ := f.head(checkpoint.AdapterConfigFile); adapter != nil && errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w; the directory holds an adapter: load the model that it was made for, and then LoadAdapter", err)
		}
		return nil, nil, folderError(f, err)
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	pipeline, err := checkpoint.Folder(f.read).Pipeline()
	if err != nil {
		return nil, nil, folderError(f, err)
	}
	m.pipeline = *pipeline
	h, err := openHuggingFace(ctx, f, memory)
	if err != nil {
		return nil, nil, err
	}
	m.release = h.Close
	return config, h, nil
}

// openGGUF opens a GGUF file.
func (m *Model) openGGUF(ctx context.Context, f files, name string, memory tensor.Memory) (*checkpoint.Config, weightSource, error) {
	if is, err := isGGUF(f, name); err != nil {
		return nil, nil, err
	} else if !is {
		return nil, nil, notAModel(f, name)
	}
	g, err := openGGUF(ctx, f, name, memory)
	if err != nil {
		return nil, nil, err
	}
	m.release = g.Close
	config, err := g.config()
	if err != nil {
		return nil, g, err
	}
	pipeline, err := checkpoint.PipelineOf(g.File)
	if err != nil {
		return nil, g, formatError(g.file(), err)
	}
	m.pipeline = *pipeline
	return config, g, nil
}

// loadTokenizer reads the tokenizer, and refuses one with tokens that the model does not have. A model without a tokenizer gets an empty
// one.
func (m *Model) loadTokenizer(source weightSource) error {
	t, err := source.tokenizer()
	if err != nil {
		return err
	}
	if t == nil {
		t = &Tokenizer{vocabulary: noVocabulary{m.config.VocabSize}}
	}
	if n := t.VocabSize(); n > m.config.VocabSize {
		return formatError(source.file(), fmt.Errorf("the tokenizer has %d entries, the embedding table only %d", n, m.config.VocabSize))
	}
	m.tokenizer = t
	return nil
}

// loadWeights reads, converts and prepares every tensor, several at a time, until the context ends, and beside them, on a thread of its
// own, the tokenizer. Before anything is allocated for the tensors it checks that all are there, in the shapes and in a type that they
// must have.
func (m *Model) loadWeights(ctx context.Context, source weightSource, tensors []checkpoint.Tensor, adds *merging, host merger, o *LoadOptions) error {
	stored, total, problems := m.config.findAll(source, tensors, 1)
	if len(problems) > 0 {
		return problems[0]
	}
	noteRare(o.Logger, source.file(), stored)
	m.weights = make([]*tensor.Tensor, len(tensors))
	for i := range tensors {
		m.names = append(m.names, tensors[i].GGUF)
	}
	var (
		views    atomic.Bool // some weights are read from the files themselves
		progress sync.Mutex
		done     int64
	)
	report := func(n int) {
		progress.Lock()
		defer progress.Unlock()
		done += int64(n)
		if o.Progress != nil {
			o.Progress(done, total)
		}
	}
	workers, failing := errgroup.WithContext(ctx)
	workers.SetLimit(max(o.Threads, 2) + 1)
	workers.Go(func() error { // first, since it takes longest
		return parallel.Call(func() error { return m.loadTokenizer(source) })
	})
	for i := range tensors {
		if failing.Err() != nil { // Wait has the reason
			break
		}
		workers.Go(func() (err error) {
			defer parallel.Catch(&err)()
			ready, view, err := m.prepareWith(ctx, &stored[i], &tensors[i], adds, host, o.Weights)
			if err != nil {
				return fmt.Errorf("the tensor %s: %w", tensors[i].HuggingFace, err)
			}
			m.weights[i] = ready
			*m.place(&tensors[i]) = ready
			m.weightBytes.Add(int64(ready.Size()))
			if view {
				views.Store(true)
			} else {
				release(stored[i].owner, stored[i].data)
			}
			report(len(stored[i].data))
			return nil
		})
	}
	if err := workers.Wait(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil { // it ended before the last tensor was begun
		return err
	}
	if !views.Load() {
		m.release = func() error { return nil }
		return source.Close()
	}
	return nil
}

// findAll finds every tensor, and returns how many bytes they have together. problems is what is wrong: a tensor that is missing, has
// a wrong shape or type, or belongs to a layer that the configuration does not have, or a configuration that takes too much memory for
// such weights. After most of them it looks for no more.
func (c *Config) findAll(source weightSource, tensors []checkpoint.Tensor, most int) (stored []storedTensor, total int64, problems []error) {
	if err := checkpoint.CheckLayers(source.names(), c.Layers); err != nil {
		problems = append(problems, formatError(source.file(), err))
	}
	stored = make([]storedTensor, len(tensors))
	for i := range tensors {
		var err error
		if stored[i], err = findChecked(source, &tensors[i]); err != nil {
			if problems = append(problems, err); len(problems) >= most {
				return stored, total, problems
			}
			continue
		}
		if s := c.LogitScale; s != 0 && tensors[i].Part == checkpoint.OutputNorm {
			stored[i].times = float32(s) // what every product with the output head is in proportion to
		}
		total += int64(len(stored[i].data))
	}
	if len(problems) == 0 {
		if err := c.checkWorkingBytes(total); err != nil {
			problems = append(problems, formatError(source.file(), err))
		}
	}
	return stored, total, problems
}

// findChecked finds a tensor and checks its shape.
func findChecked(source weightSource, t *checkpoint.Tensor) (storedTensor, error) {
	s, err := source.find(t)
	if err != nil {
		return s, err
	}
	if want := tensor.ShapeOf(t.Shape...); s.shape != want {
		return s, formatError(source.file(), fmt.Errorf("the tensor %s is %v%v, where the configuration asks for %v", t.HuggingFace, s.dtype, s.shape, want))
	}
	return s, nil
}

// prepareWith is prepare for a tensor to which adapters may be added.
func (m *Model) prepareWith(ctx context.Context, s *storedTensor, t *checkpoint.Tensor, adds *merging, host merger, asked tensor.DType) (ready *tensor.Tensor, view bool, err error) {
	pairs := adds.adds[t.HuggingFace]
	if len(pairs) == 0 {
		return m.prepare(ctx, s, t.Role, host, asked)
	}
	ready, err = m.prepareMerged(ctx, s, pairs, host, asked)
	return ready, false, err
}

// prepare brings a tensor into the type and the layout that the device computes with. What it returns may be a view of the file.
func (m *Model) prepare(ctx context.Context, s *storedTensor, role checkpoint.Role, host converter, asked tensor.DType) (ready *tensor.Tensor, view bool, err error) {
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	if c, ok := m.device.Backend.(backend.Converter); ok && role != checkpoint.Vector {
		return m.prepareAs(ctx, c, s, targetType(role, s.dtype, asked), host)
	}
	t, view, err := s.host(ctx, host.Memory())
	if err != nil {
		return nil, false, err
	}
	converted := t
	defer func() { // also when a device panics
		if t != ready {
			t.Free()
		}
		if converted != t && converted != ready {
			converted.Free()
		}
	}()
	if converted, err = convert(ctx, t, targetType(role, t.DType(), asked), host); err != nil {
		converted = t
		return nil, false, err
	}
	if role == checkpoint.Vector {
		var adjusted *tensor.Tensor
		if adjusted, err = s.adjusted(converted, host); err != nil {
			return nil, false, err
		}
		if converted != t && converted != adjusted {
			converted.Free()
		}
		converted = adjusted
		ready, err = converted.ToDevice(m.device.Backend)
	} else {
		ready, err = backend.Prepare(ctx, m.device.Backend, converted)
	}
	if err != nil {
		return nil, false, err
	}
	return ready, view && ready == t, nil
}

// prepareAs is prepare for weights and a device that changes type and order of rows itself.
func (m *Model) prepareAs(ctx context.Context, c backend.Converter, s *storedTensor, d tensor.DType, host converter) (ready *tensor.Tensor, view bool, err error) {
	t, view, err := s.asStored(ctx, host.Memory())
	if err != nil {
		return nil, false, err
	}
	defer func() { // also when a device panics
		if t != ready {
			t.Free()
		}
	}()
	ready, err = c.PrepareAs(ctx, t, d, s.order())
	return ready, view && ready == t, err
}

// LoadTokenizer reads a tokenizer without any weights: from a tokenizer.json, a directory that holds one, or a GGUF file.
func LoadTokenizer(path string) (*Tokenizer, error) {
	t, err := loadTokenizer(path)
	var format *FormatError
	if err != nil && path != "" && !errors.As(err, &format) {
		err = fmt.Errorf("load the tokenizer %s: %w", path, err)
	}
	return t, brief(err)
}

func loadTokenizer(path string) (t *Tokenizer, err error) {
	defer parallel.Catch(&err)()
	info, err := stat(path)
	if err != nil {
		return nil, err
	}
	dir, name := filepath.Split(path)
	if info.IsDir() {
		dir, name = path, checkpoint.TokenizerFile
	}
	if is := false; !info.IsDir() {
		if is, err = isGGUF(folder(dir), name); err != nil {
			return nil, err
		}
		if is {
			return ggufTokenizer(folder(dir), name)
		}
	}
	if name == checkpoint.TokenizerFile {
		t, err = huggingFaceTokenizer(folder(dir))
	} else {
		t, err = otherTokenizer(folder(dir), name)
	}
	if err != nil || t != nil {
		return t, err
	}
	if only := onlyGGUF(folder(dir)); only != "" {
		return nil, fmt.Errorf("llama: there is no %s; to read the tokenizer of the GGUF file in this directory, name it: %s", checkpoint.TokenizerFile, folder(dir).path(only))
	}
	return nil, fmt.Errorf("llama: there is no %s", checkpoint.TokenizerFile)
}

// ggufTokenizer reads the tokenizer of a GGUF file.
func ggufTokenizer(f files, name string) (*Tokenizer, error) {
	g, err := openGGUF(context.Background(), f, name, new(tensor.Galloc))
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
		return nil, fmt.Errorf("the file is %s: %w; a tokenizer is a %s or a GGUF file", kind, ErrUnsupported, checkpoint.TokenizerFile)
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
