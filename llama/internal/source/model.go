package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/checkpoint/storage"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/llama/internal/fault"
	"github.com/antigravity-go/antigravity/tensor"
)

// Model is a model's open files. Its methods are for one goroutine at a time, but Find's result may be read by many.
type Model struct {
	Config    *model.Config        // nil if it cannot be read
	Pipeline  checkpoint.Pipeline  // how a text becomes a vector
	Idle      []checkpoint.Ignored // tensors without effect, once Find has found the others
	IdleKeys  []checkpoint.Ignored // keys of a GGUF file without effect
	Leftovers []checkpoint.Ignored // files of a folder that are not read
	Tower     *Tower               // the model's tower, once OpenTower has opened it; nil if there is no tower
	Blind     string               // why there is no tower, though there seems to be one
	Ahead     Ahead                // the tensors of the head that predicts further tokens, if Config.Ahead is not nil
	location  Location
	weights   weights // nil if the files were not opened
	closed    bool
}

// weights is the source of a model's tensors: the files of a Hugging Face folder, or a GGUF file.
type weights interface {
	// find returns a tensor as the file has it, without reading its data. Its shape is the file's.
	find(t *checkpoint.Tensor) (Stored, error)
	// names lists the tensors in the files, and found has those that find has returned, or some of.
	names() []string
	found() map[string]bool
	// File names, for messages, the file that lists the tensors; Format says in words what the files are.
	File() string
	Format() string
	io.Closer
}

// Open opens the GGUF file or the Hugging Face folder at a location, and reads its configuration. Weights are mapped or, if that is
// impossible, copied to memory; the context is looked at between files, and now and then while weights are copied. With an error the Model
// may be not nil, but have no Config: Inspect reports on it.
func Open(ctx context.Context, at Location, memory tensor.Memory) (*Model, error) {
	m := &Model{location: at}
	if at.name == "" {
		return m, m.openFolder(ctx, memory)
	}
	if is, err := isGGUF(at.files, at.name); err != nil {
		return nil, err
	} else if !is {
		return nil, notAModel(at.files, at.name)
	}
	return m, m.openGGUF(ctx, memory)
}

// openFolder opens a Hugging Face folder.
func (m *Model) openFolder(ctx context.Context, memory tensor.Memory) error {
	f := m.location.files
	config, err := checkpoint.Folder(f.read).Config()
	if err != nil {
		if only := onlyGGUF(f); only != "" && errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w; to load the GGUF file in this directory, name it: %s", err, f.path(only))
		} else if adapter, _ := f.head(checkpoint.AdapterConfigFile); adapter != nil && errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w; the directory holds an adapter: load the model that it was made for, and then LoadAdapter", err)
		}
		return folderError(f, err)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	pipeline, err := checkpoint.Folder(f.read).Pipeline()
	if err != nil {
		return folderError(f, err)
	}
	if err := pipeline.Fit(config); err != nil {
		return folderError(f, &checkpoint.FileError{Name: checkpoint.ModulesFile, Err: err})
	}
	h, err := openHuggingFace(ctx, f, memory, pipeline.Dense)
	if err != nil {
		return err
	}
	if !config.Whole && !pipeline.Headless && !config.Head.Given() {
		h.weights.Tie(config)
	}
	numbers, err := h.weights.ReadNumbers(config)
	if err != nil {
		return folderError(f, err)
	}
	for _, name := range numbers {
		h.used[name] = true
	}
	h.weights.FitAhead(config)
	m.Config, m.Pipeline, m.weights = config, *pipeline, h
	m.findAhead()
	names := f.list()
	slices.Sort(names)
	m.Leftovers = h.weights.Leftovers(names)
	return nil
}

// openGGUF opens a GGUF file.
func (m *Model) openGGUF(ctx context.Context, memory tensor.Memory) error {
	g, err := openGGUF(ctx, m.location.files, m.location.name, memory)
	if err != nil {
		return err
	}
	m.weights = g
	config, idle, err := g.config()
	if err != nil {
		return err
	}
	pipeline, err := checkpoint.PipelineOf(g.gguf)
	if err != nil {
		return Malformed(g.File(), err)
	}
	m.Config, m.Pipeline, m.IdleKeys = config, *pipeline, idle
	m.findAhead()
	return nil
}

// File names, for messages, the file that lists the tensors.
func (m *Model) File() string { return m.weights.File() }

// Format says in words what the files are; "" if no weights were opened.
func (m *Model) Format() string {
	if m.weights == nil {
		return ""
	}
	return m.weights.Format()
}

// Close closes the files, after which the data of tensors must not be used. It is idempotent.
func (m *Model) Close() error {
	if m.weights == nil || m.closed {
		return nil
	}
	m.closed = true
	return errors.Join(m.weights.Close(), m.Tower.close())
}

// Find finds every tensor, without reading its data, and returns how many bytes they have together. Each of problems is a tensor that is
// missing, has a wrong shape or type, or belongs to a layer that the configuration does not have. If there are no such problems, a tensor that nothing
// reads is one, unless it is known to have no effect: then Idle lists it. Find stops after most problems. stored
// has an element for each of tensors; one with a problem has no Elements.
func (m *Model) Find(tensors []model.Tensor, most int) (stored []Stored, total int64, problems []error) {
	names := m.weights.names()
	if err := checkpoint.CheckLayers(names, m.Config.Layers); err != nil {
		problems = append(problems, Malformed(m.File(), err))
	}
	stored = make([]Stored, len(tensors))
	inFiles := make([]checkpoint.Tensor, len(tensors))
	for i := range tensors {
		inFiles[i] = checkpoint.TensorOf(m.Config, &tensors[i])
		t := &inFiles[i]
		s, err := findChecked(m.weights, t)
		if err != nil {
			if problems = append(problems, err); len(problems) >= most {
				return stored, total, problems
			}
			continue
		}
		if scale := m.Config.LogitScale; scale != 0 && t.Part == model.OutputNorm {
			s.steps = append(slices.Clip(s.steps), storage.Times(scale)) // what every product with the output head is in proportion to
		}
		s.name = t.HuggingFace.Name
		stored[i] = s
		total += int64(s.Bytes())
	}
	if len(problems) > 0 {
		return stored, total, problems
	}
	_, isGGUF := m.weights.(*ggufModel)
	accounts := checkpoint.Account(m.Config, names, m.weights.found(), append(inFiles, m.Ahead.inFiles...), isGGUF)
	m.Idle = accounts.Idle
	for _, name := range accounts.Unread[:min(len(accounts.Unread), most)] {
		problems = append(problems, fmt.Errorf("%s has the tensor %.200s, which nothing here reads: such a model is not implemented: %w", m.File(), name, fault.ErrUnsupported))
	}
	return stored, total, problems
}

// findChecked finds a tensor in files and checks its shape.
func findChecked(in weights, t *checkpoint.Tensor) (Stored, error) {
	s, err := in.find(t)
	if err != nil {
		return s, err
	}
	if t.Role == model.Vector || t.Role == model.Routing {
		s = s.as(t.Shape)
	}
	if want := tensor.ShapeOf(t.Shape...); s.shape != want {
		return s, Malformed(in.File(), fmt.Errorf("the tensor %s is %v%v, where the configuration asks for %v", t.HuggingFace.Name, s.dtype, s.shape, want))
	}
	return s, nil
}
