package llama

import (
	"cmp"
	"context"
	"io/fs"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/parallel"
	"github.com/antigravity-go/antigravity/llama/internal/engine"
	"github.com/antigravity-go/antigravity/llama/internal/source"
	"github.com/antigravity-go/antigravity/tensor"
)

// Inspect goes the way of Load as far as no weights are needed, and collects what Load would fail at:
//
//	source.Open             the format and the configuration; without files that are a model, an error
//	engine.NewWeights       a layer that the engine does not have: a problem
//	tower                   the same of the tower that sees, if there is one
//	findAll                 each tensor that is missing or has a wrong shape: a problem
//	count                   adds the others up
//	ignoredOf               what of the files is not used, and why
//	tokenizerOf             a tokenizer that cannot be read: a problem
//
// For example, count adds a matrix of Q4_0 [4096, 4096] with 16777216 Parameters and, at 18 bytes for each 32 elements, 9437184 bytes.

// Report is what Inspect finds out about a model.
type Report struct {
	// Problems are the reasons why Load would refuse the model. If there are no problems and memory suffices, it loads. Of many missing or
	// wrong tensors, the first MaxProblems are listed.
	Problems []error
	Format   string     // of the files, in words; "" if unknown
	Config   *Config    // nil if it cannot be read
	Tensors  []TypeUse  // the tensors of the model as the files have them, by type; those that have Problems are left out
	Rewrites []TypeUse  // those of Tensors that are converted while loading, since nothing computes with their types
	Kind     Kind       // what the model is made for; a Generator if Config is nil
	Inputs   Inputs     // what messages may have
	Ignored  []Ignored  // what of the files is not used
	Tokens   *Tokenizer // nil if the files have no tokenizer that can be read
	Reader   string     // of the tokenizer: its kind, in words
	Sight    string     // what the model sees, in words, with the tokens and the memory of pictures; "" if it sees nothing
	// DraftsItself is what the method of Model returns, of a model on one device.
	DraftsItself bool
	Template     string // the place of the chat template, see ChatTemplates; "" if there is no template
	// Sampling and HasSampling are what the methods of Model return.
	Sampling    Params
	HasSampling bool
	// Parameters counts the elements of Tensors.
	Parameters int64
	// Weights is the memory of the weights once they are loaded as they are stored, in bytes; views of the file count as well.
	Weights int64
	// Tables is how much of Weights the CPU leaves in files that are mapped: a token needs one row of such a table. The operating system
	// reads the rows, and may drop them again.
	Tables int64
	// Experts is how much of Weights the matrices of experts are, and Mappable how much of Experts LoadOptions.MapExperts leaves in mapped files.
	Experts, Mappable int64
}

// Ignored is something in a model's files that is not used, and why: "390 tensors of vision_tower", a file of a folder, or a key of a GGUF file. What
// nobody knows to be without effect is not ignored: a model with it does not load.
type Ignored struct{ What, Why string }

// TypeUse is how many tensors have an element type, and the bytes that they take in the files.
type TypeUse struct {
	Type    string
	As      tensor.DType // the type that the tensors are loaded in
	Tensors int
	Bytes   int64
	Loss    float64 // what rewriting changes, relative to the weights; 0: nothing
}

// MaxProblems bounds Report.Problems.
const MaxProblems = 100

// Inspect reports what a model is and whether it would load, by the checks that Load itself makes. It reads headers, the configuration and
// the tokenizer, and no weights: its time does not depend on how large they are. The error is for files that are no model at all; a model's
// faults are in the report.
func Inspect(path string) (*Report, error) {
	return inspect(context.Background(), source.Locate, path)
}

// InspectFS is Inspect for a file system, with a name as LoadFS has it. Nothing can be mapped there, so that the weights are read.
func InspectFS(ctx context.Context, fsys fs.FS, name string) (*Report, error) {
	return inspect(ctx, in(fsys), name)
}

// inspect is Inspect for the GGUF file or the Hugging Face folder that a path names.
func inspect(ctx context.Context, at locator, path string) (*Report, error) {
	location, err := locate(at, path)
	if err != nil {
		return nil, loadError(path, err)
	}
	r := &inspection{path: path}
	model := true
	r.problem(parallel.Call(func() (err error) { // a mapped file may be cut short
		model, err = r.read(ctx, location)
		return err
	}))
	if !model {
		return nil, r.Problems[0]
	}
	if r.Tokens != nil {
		r.Template = r.Tokens.ChatTemplates().From
		r.Reader = "of another package"
		if k, ok := r.Tokens.vocabulary.(interface{ Kind() string }); ok {
			r.Reader = k.Kind()
		}
	}
	return &r.Report, nil
}

// inspection is a report in the making.
type inspection struct {
	Report
	path string
}

// problem notes an error, if it is one.
func (r *inspection) problem(err error) {
	if err != nil {
		r.Problems = append(r.Problems, loadError(r.path, err))
	}
}

// read reads the files, and returns what ends it. If they are no model at all, it says so.
func (r *inspection) read(ctx context.Context, at source.Location) (model bool, err error) {
	files, err := source.Open(ctx, at, new(tensor.Galloc))
	if files == nil {
		return false, err
	}
	defer files.Close()
	r.Format = files.Format()
	if err != nil { // the part of the report that needs no configuration
		r.problem(err)
		t, err := files.Tokenizer()
		if err == nil && t != nil {
			r.Tokens, err = newTokenizer(t)
		}
		return true, err
	}
	m := &Model{config: files.Config, files: files}
	r.Kind = m.Kind()
	if _, err := engine.NewWeights(m.config, 1, engine.Share{Layers: m.config.Layers}); err != nil {
		r.problem(err)
	}
	seen := r.tower(ctx, m)
	tensors := m.config.Tensors()
	stored, _, problems := findAll(files, tensors, MaxProblems)
	for _, p := range problems {
		r.problem(p)
	}
	r.count(slices.Concat(stored, seen.stored, files.Ahead.Stored), slices.Concat(tensors, seen.tensors, files.Ahead.Tensors))
	r.Ignored, r.DraftsItself = ignoredOf(files), files.Config.Ahead != nil
	defer func() {
		config := m.Config()
		r.Config, r.Sampling, r.HasSampling = &config, m.Sampling(), m.HasSampling()
	}()
	if m.tokenizer, err = tokenizerOf(files, ""); err != nil {
		return true, err
	}
	r.Ignored = append(r.Ignored, inVain(m.tokenizer)...)
	findEnds(m)
	if m.tokenizer.hasTexts() == nil {
		r.Tokens, r.Inputs.Text = m.tokenizer, true
	}
	return true, nil
}

// tower looks for the tower of a model, and finds its tensors.
func (r *inspection) tower(ctx context.Context, m *Model) (f foundTower) {
	if err := openTower(ctx, m, nil, nil, new(tensor.Galloc)); err != nil {
		r.problem(err)
	}
	if m.tower == nil {
		return f
	}
	r.Inputs.Image = true
	var problems []error
	f.tensors = m.tower.Tensors()
	f.stored, f.total, problems = m.files.Tower.Find(f.tensors, MaxProblems)
	for _, p := range problems {
		r.problem(p)
	}
	r.Sight = m.inWords()
	return f
}

// count adds up the tensors that were found.
func (r *Report) count(stored []source.Stored, tensors []model.Tensor) {
	uses := map[string]*TypeUse{}
	for i := range stored {
		s := &stored[i]
		n := s.Elements()
		if n == 0 { // a problem
			continue
		}
		r.Parameters += int64(n)
		if bytes, err := source.TargetType(tensors[i].Role, s.DType(), 0).Bytes(s.ReadElements()); err == nil {
			r.Weights += int64(bytes)
			r.place(s, &tensors[i], int64(bytes))
		}
		name, loss := s.Type()
		u := uses[name]
		if u == nil {
			u = &TypeUse{Type: name, As: s.DType(), Loss: loss}
			uses[name] = u
		}
		u.Tensors++
		u.Bytes += int64(s.Bytes())
	}
	for _, u := range uses {
		r.Tensors = append(r.Tensors, *u)
	}
	slices.SortFunc(r.Tensors, func(a, b TypeUse) int { return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), strings.Compare(a.Type, b.Type)) })
	for _, u := range r.Tensors {
		if u.Type != u.As.String() {
			r.Rewrites = append(r.Rewrites, u)
		}
	}
}

// place counts a tensor of some bytes by its place in memory once it is loaded as it is stored.
func (r *Report) place(s *source.Stored, t *model.Tensor, bytes int64) {
	switch {
	case t.Role == model.Lookup && s.Viewed():
		r.Tables += bytes
	case t.Role == model.Expert:
		r.Experts += bytes
		if s.Mappable() {
			r.Mappable += bytes
		}
	}
}

// CacheBytes returns the memory that the keys and values of tokens tokens take, with elements of type d. In layers with a sliding window no
// more tokens than the window are kept, and layers that share keep nothing. Layers that have a state instead take StateBytes, whatever the
// number of tokens. Of latent attention it counts a key and a value; the processor keeps one row.
func (c *Config) CacheBytes(tokens int, d tensor.DType) int64 {
	var total int64
	for layer := range c.Layers {
		n, sizes := tokens, LayerSizes{KVHeads: c.KVHeads, HeadDim: c.HeadDim}
		if layer < len(c.Sizes) {
			sizes = c.Sizes[layer]
		}
		if layer < len(c.StateBytes) && c.StateBytes[layer] > 0 {
			total += c.StateBytes[layer]
			continue
		}
		if layer < len(c.Shared) && c.Shared[layer] {
			continue
		}
		if layer < len(c.Windowed) && c.Windowed[layer] && c.Window > 0 {
			n = min(n, c.Window)
		}
		perRow, err := d.Bytes(sizes.KVHeads * sizes.HeadDim)
		if err != nil {
			return 0
		}
		total += 2 * int64(n) * int64(perRow)
	}
	return total
}
