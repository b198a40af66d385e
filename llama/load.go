package llama

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"sync"
	"time"
	"weak"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/parallel"
	"github.com/antigravity-go/antigravity/llama/internal/engine"
	"github.com/antigravity-go/antigravity/llama/internal/source"
	"github.com/antigravity-go/antigravity/tensor"
)

// All three ways to load call load, with a locator for the system's files or for those of an fs.FS. Nothing is allocated for weights
// before the files have been checked. The order is:
//
//	locate             is it a folder or a GGUF file?
//	source.Open        the configuration and the list of tensors; a large file is mapped
//	engine.NewWeights  the layers, without tensors; says which tensors there must be
//	openTower          the tower that sees, if there is one, and its layers without tensors
//	openMerged         the adapters that are added to the weights
//	findAll            all tensors are there, with the right shapes and types
//	loader.Load        each tensor to the device, several at once; meanwhile the tokenizer is read
//	findEnds           the tokens that end a turn
//	warmUp             a device that is slow with what it computes for the first time computes some passes
//
// For example, a GGUF file without blk.3.attn_q.weight fails in findAll, and no memory was taken for the other tensors.

// LoadOptions say how to load. Nil and the zero value are the good defaults.
type LoadOptions struct {
	// Backend computes the model; nil: the CPU, or Devices. The caller closes a backend of its own, after the model.
	Backend backend.Backend
	// Devices are the devices that compute the model together, one after the other: each computes some consecutive layers, and has their weights and
	// what sessions remember of them. The last one computes the output head and the logits, and what the model sees, so that it should be the
	// fastest. Nil: Backend computes all layers. For a model that is larger than a card's memory, the processor computes the first
	// layers, and the card as many of the last ones as fit:
	//
	//	Devices: []llama.DeviceLayers{{}, {Backend: card}}
	//
	// A device without layers is not used. A layer that reads the keys and values of an earlier one, as in Gemma 3n, is on that one's device. Only the rows
	// of the tokens that are being computed go from device to device, through the host's memory. No answer depends on how many devices there are, nor on
	// which has which layers, and a session may be saved with one division and restored with another.
	Devices []DeviceLayers
	// CacheTokens is for how many tokens, of all sessions together, devices keep memory free if Devices leaves numbers of layers to Load; 0: 4096, or
	// the model's context if that is less. It bounds nothing.
	CacheTokens int
	// Threads is how many threads the CPU computes with; 0: GOMAXPROCS. A Backend of the caller's decides for itself.
	Threads int
	// Weights quantises the linear layers while loading, to any quantised type with blocks that fill their rows (the output head then
	// becomes Q8_0), or converts them to F32, F16 or BF16; zero: as stored. Types other than Q4_0, Q4_1 and Q8_0 are found by a search that
	// takes minutes for a billion weights: write a file of them once, with examples/tools/quantize.
	Weights tensor.DType
	// Adapters are LoRA adapters that are added to the weights while loading: W + scale·B·A, computed in float32 and rounded to the type of
	// the weights once, as Weights says or else as stored. Matrices that the file has quantised become F16 where Weights is zero: rounded
	// to few bits again, they would lose most of what an adapter changes. The model then costs no more than without adapters; to choose
	// an adapter for each session, see LoadAdapter.
	Adapters []AdapterFile
	// ChatTemplate is the source of a chat template, in Jinja, that is used in place of the model's own; "": the model's own, if it has one.
	// It is for files that came without one, and for mended templates.
	ChatTemplate string
	// Towers are the files of towers, which GGUF has apart from the model of text and calls mmproj: at most one, that of the tower that sees. Nil: a
	// folder's own tower or, for a GGUF file, the one in a file mmproj*.gguf next to it that fits the model. An empty list: no tower is loaded, and the
	// model reads texts alone. A tower is computed as it is stored, whatever Weights says. The path is one of the same file system.
	Towers []string
	// MapExperts leaves the matrices of experts in the mapped file, if the file has them as one tensor of a type that is not converted, and
	// the backend is the CPU. The operating system then reads the experts that tokens choose, and drops them again if memory is short. So a
	// model runs, slowly, even if its experts do not fit in memory. Without MapExperts they are copied to memory in an order that is faster
	// to compute with. No answer depends on it.
	MapExperts bool
	// MaxBatch is the most rows of answers that one pass through the model computes for sessions that run at once, a row for each
	// token; 0: as many as the backend computes well, on the CPU 32. What does not fit waits for the next pass. No answer depends on it.
	MaxBatch int
	// Progress is called now and then with the bytes of weights done and in total. Calls do not overlap.
	Progress func(done, total int64)
	// WarmUp is how long a backend that is a backend.Warmer, as package opencl's is on GPUs, may try how the model's operations are computed
	// fastest, after the weights were loaded; 0: 2 seconds. What it finds out it keeps, so that it tries less the next time. Besides that it
	// compiles the operations, which may take some seconds more the first time. A WarmUp below 0 leaves both out: then operations
	// are compiled when they are called first. No answer depends on it.
	WarmUp time.Duration
	// Warming is called while the backend warms up, with the number of passes that it has computed, and has to compute at most. Calls do not
	// overlap.
	Warming func(done, total int)
	// Logger gets lines about the model that was loaded. Nil: nothing is logged.
	Logger *slog.Logger
	// Trace is called for what the model does; it may be nil.
	Trace *Trace
}

// Load opens a model: a Hugging Face directory (config.json, tokenizer.json, model.safetensors or its shards with their index) or a GGUF
// file, which is recognised by its first bytes and not by its name. (For a name on the Hugging Face Hub, hub.Get of package llama/hub
// fetches the files and returns their path.) Weights are mapped, not read, if the backend can compute on the file's own layout.
//
// A malformed file is a *FormatError. An error about something valid that is not supported wraps ErrUnsupported.
func Load(path string, o *LoadOptions) (*Model, error) {
	return LoadContext(context.Background(), path, o)
}

// LoadContext is Load until the context ends: the error then wraps the context's own, and all memory has been given back.
//
// The context is looked at between the files of a model, between tensors, and within them every few megabytes that are
// converted, packed or sent to a device. Two things are not interrupted: reading a tokenizer, which takes some hundred
// milliseconds on a phone, and a device's compiler.
func LoadContext(ctx context.Context, path string, o *LoadOptions) (*Model, error) {
	m, err := load(ctx, source.Locate, path, o)
	return m, loadError(path, err)
}

// LoadFS is LoadContext from a file system such as an embed.FS or a zip archive; name is a directory, "." for the top, or a GGUF
// file. Nothing can be mapped there, so the weights are copied, except those of InMemory.
func LoadFS(ctx context.Context, fsys fs.FS, name string, o *LoadOptions) (*Model, error) {
	m, err := load(ctx, in(fsys), name, o)
	return m, loadError(name, err)
}

// loadError adds the path to an error that does not name a file.
func loadError(path string, err error) error {
	if path == "" {
		return fileError("", err)
	}
	return fileError("load "+path, err)
}

// locator finds the files of a model by its path.
type locator func(path string) (source.Location, error)

// in locates the files of a file system.
func in(fsys fs.FS) locator {
	return func(name string) (source.Location, error) { return source.LocateIn(fsys, name) }
}

// locate is at for a path that a caller gave.
func locate(at locator, path string) (source.Location, error) {
	if path == "" {
		return source.Location{}, &ParamError{"the path", `""`, `that of a folder or of a file; in a file system "." is the top`}
	}
	return at(path)
}

// load opens the GGUF file or the Hugging Face folder that a path names.
func load(ctx context.Context, at locator, path string, o *LoadOptions) (m *Model, err error) {
	location, err := locate(at, path)
	if err != nil {
		return nil, err
	}
	options := LoadOptions{}
	if o != nil {
		options = *o
	}
	if err := options.complete(); err != nil {
		return nil, err
	}
	began := time.Now()
	m = &Model{trace: *options.Trace}
	m.devices.use(&options)
	m.sessions = map[weak.Pointer[Session]]struct{}{}
	defer func() {
		if err != nil {
			m.Close()
			m = nil
		}
	}()
	defer parallel.Catch(&err)() // a mapped file may be cut short while we read it; the clean-up above then sees the error
	var adds source.Merge
	defer adds.Close()
	memory := new(tensor.Galloc)
	if m.files, err = source.Open(ctx, location, memory); err != nil {
		return m, err
	}
	if err := ctx.Err(); err != nil {
		return m, err
	}
	m.config = m.files.Config
	if err := openTower(ctx, m, at, options.Towers, memory); err != nil {
		return m, err
	}
	shares, err := options.place(m)
	if err != nil {
		return m, err
	}
	if m.weights, err = engine.NewWeights(m.config, engine.Widest(m.backends...)+options.MaxBatch, shares...); err != nil {
		return m, err
	}
	m.batch = engine.NewBatch(m.weights, options.MaxBatch, m.trace.passes())
	switch {
	case len(options.Adapters) == 0:
	case m.config.Rounding.Rows:
		return m, fmt.Errorf("adapters that are added to ternary matrices: %w; LoadAdapter takes them", ErrUnsupported)
	case m.config.Multiplied != (model.PartSet{}):
		return m, fmt.Errorf("adapters that are added to matrices with products that the model multiplies: %w", ErrUnsupported)
	case len(m.config.Scales) > 0:
		return m, fmt.Errorf("adapters that are added to matrices with scales of their own: %w; LoadAdapter takes them", ErrUnsupported)
	}
	if err := openMerged(ctx, &adds, options.Adapters, m.config, at); err != nil {
		return m, err
	}
	if err := loadWeights(ctx, m, &adds, &options); err != nil {
		return m, err
	}
	m.eyes = m.tokenizer.eyes
	m.eyes.why = m.files.Blind
	m.vision.vocabulary, m.vision.tokenizer, m.vision.working = m.config.VocabSize, m.tokenizer, &m.working
	if m.tower != nil {
		m.eyes.sight = seer{&m.vision}
	}
	findEnds(m)
	if err := options.warmUp(ctx, m); err != nil {
		return m, err
	}
	if options.Logger != nil {
		options.Logger.Info("model loaded", "from", m.files.File(), "layers", m.config.Layers, "hidden", m.config.HiddenSize,
			"vocabulary", m.config.VocabSize, "weights_bytes", m.weights.Usage().Weights, "linear", m.WeightType(),
			"device", m.devices.describe(), "kernels", Kernels(), "chat_template", m.tokenizer.ChatTemplates().From, "drafts_itself", m.DraftsItself(), "took", time.Since(began))
		if list := m.Devices(); len(list) > 1 {
			options.Logger.Info("the model is divided between devices", "from", m.files.File(), "devices", list)
		}
		if ignored := m.config.Sampling.Ignored; len(ignored) > 0 {
			options.Logger.Warn("Model.Sampling leaves out what is not implemented", "from", m.files.File(), "recommended", ignored)
		}
	}
	return m, nil
}

// complete fills in the defaults, and refuses options that cannot work.
func (o *LoadOptions) complete() error {
	switch {
	case o.Weights != 0 && !o.Weights.Format().Valid():
		return fmt.Errorf("LoadOptions.Weights is %v: weights become %s", o.Weights, source.WeightTypes())
	case o.Threads < 0:
		return &ParamError{"LoadOptions.Threads", o.Threads, "positive, or 0 for GOMAXPROCS"}
	case o.CacheTokens < 0:
		return &ParamError{"LoadOptions.CacheTokens", o.CacheTokens, "positive, or 0 for the default"}
	case o.Devices != nil && (o.Backend != nil || len(o.Devices) == 0):
		return &ParamError{"LoadOptions.Devices", o.numbers(), "nil if there is a Backend, and else a list of devices"}
	case o.MaxBatch < 0:
		return &ParamError{"LoadOptions.MaxBatch", o.MaxBatch, "positive, or 0 for the default"}
	}
	if o.Trace == nil {
		o.Trace = &Trace{}
	}
	if o.WarmUp == 0 {
		o.WarmUp = 2 * time.Second
	}
	o.Devices = slices.Clone(o.Devices)
	if o.Devices == nil {
		o.Devices = []DeviceLayers{{Backend: o.Backend}}
	}
	for i, d := range o.Devices {
		if d.Layers < 0 {
			return &ParamError{fmt.Sprintf("LoadOptions.Devices[%d].Layers", i), d.Layers, "positive, or 0 for what the others leave"}
		}
	}
	return nil
}

// loadWeights reads, converts and prepares every tensor until the context ends, and meanwhile reads the tokenizer. Before anything is
// allocated for the tensors it checks that all are there, in the shapes and in a type that they must have.
func loadWeights(ctx context.Context, m *Model, adds *source.Merge, o *LoadOptions) error {
	seen, err := findTower(m)
	if err != nil {
		return err
	}
	tensors := m.weights.Tensors()
	stored, total, problems := findAll(m.files, tensors, 1)
	if len(problems) > 0 {
		return problems[0]
	}
	total += seen.total + m.files.Ahead.Bytes
	if o.Logger != nil {
		source.LogRewritten(o.Logger, m.files.File(), stored)
		logIgnored(o.Logger, m.files, ignoredOf(m.files))
	}
	var (
		progress sync.Mutex
		done     int64
	)
	loaded := func(bytes int) {
		progress.Lock()
		defer progress.Unlock()
		done += int64(bytes)
		if o.Progress != nil {
			o.Progress(done, total)
		}
	}
	readTokenizer := func() (err error) { // it takes longest
		m.tokenizer, err = tokenizerOf(m.files, o.ChatTemplate)
		return err
	}
	viewed, err := o.deliver(ctx, m, adds, stored, loaded, readTokenizer)
	for i := 0; i < len(stored) && err == nil; i++ {
		if scale := source.ScaleOf(&stored[i]); scale != 0 {
			engine.ScaleProducts(m.weights, &tensors[i], scale)
		}
	}
	if err == nil && o.Logger != nil {
		logIgnored(o.Logger, m.files, inVain(m.tokenizer))
	}
	if err == nil {
		var more bool
		more, err = seen.load(ctx, m, o.Threads, loaded)
		viewed = viewed || more
	}
	if err == nil {
		var more bool
		more, err = m.loadHead(ctx, m, o, loaded)
		viewed = viewed || more
	}
	if err != nil || viewed {
		return err
	}
	return m.files.Close() // a second Close does nothing
}

// logIgnored logs what of a model's files is not used.
func logIgnored(log *slog.Logger, files *source.Model, list []Ignored) {
	for _, i := range list {
		log.Info("a part of the model's files is not used", "file", files.File(), "part", i.What, "why", i.Why)
	}
}

// findAll finds all tensors of a model; see source.Model.Find. A configuration that takes too much memory for such weights is a problem, too.
func findAll(files *source.Model, tensors []model.Tensor, most int) (stored []source.Stored, total int64, problems []error) {
	stored, total, problems = files.Find(tensors, most)
	if len(problems) == 0 {
		if err := engine.CheckWorkingBytes(files.Config, defaultCapacity, total); err != nil {
			problems = append(problems, source.Malformed(files.File(), err))
		}
	}
	return stored, total, problems
}

// findEnds lists the tokens that end a turn: those of the configuration, and the one that the tokenizer names. Models that were trained further
// for conversations have a new one there, and config.json often still has the base model's alone.
func findEnds(m *Model) {
	if m.config.Whole {
		return
	}
	if id, ok := m.tokenizer.ID(m.tokenizer.end); ok && m.tokenizer.end != "" && !slices.Contains(m.config.EOS, int32(id)) {
		m.config.EOS = append(slices.Clip(m.config.EOS), int32(id))
	}
	m.ends = slices.Sorted(slices.Values(fromInt32(m.config.EOS)))
}

// warmUp lets the backend warm up. If that fails, for lack of memory perhaps, the model is loaded nevertheless: it computes fewer rows
// than were tried, or fails when it has to compute them.
func (o *LoadOptions) warmUp(ctx context.Context, m *Model) error {
	if o.WarmUp < 0 {
		return nil
	}
	err := m.batch.Warm(ctx, defaultKV, o.WarmUp, o.Warming)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil && o.Logger != nil {
		o.Logger.Warn("the device has not warmed up", "device", m.devices.describe(), "error", err)
	}
	return nil
}
