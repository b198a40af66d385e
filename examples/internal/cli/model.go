package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/backend"
	_ "github.com/antigravity-go/antigravity/backend/cpu"    // registers "cpu"
	_ "github.com/antigravity-go/antigravity/backend/opencl" // registers "opencl"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/tensor"
)

// Model is the choice of a model and of how to run it.
type Model struct {
	Path    string       // of a .gguf file or a Hugging Face folder, a name for Fetch, or an embedded model's name; "": Pebble
	Backend string       // the name of the backend that computes
	Threads int          // 0: one for each processor
	Weights tensor.DType // the type that weights are converted to; 0: as they are stored
	Verbose bool         // log on stderr the files that are loaded
	Mapped  bool         // experts stay in the file
	Division
	// ChatTemplate is the path of a file with a chat template that replaces the model's own; "": the model's own.
	ChatTemplate string
	// Tower is the path of the file of the tower that sees; "": the one that the model's folder has, or NoTower.
	Tower string
	// Wrap, if a program sets it, returns the backend that the model gets in place of the one that is chosen.
	Wrap func(backend.Backend) backend.Backend
	// Trace, if a program sets it, receives the model's doings.
	Trace *llama.Trace
	// Record, if a program sets it, keeps what each thread of a backend on the host computes.
	Record *backend.Record

	fetched string // the path, once Fetch has found it; "" before
}

// NoTower is the Tower of a model that is to see nothing.
const NoTower = "none"

// Flags defines the flags.
func (m *Model) Flags(f *Flags) {
	f.Group("Model", func() {
		f.StringVar(&m.Path, "model", "", "`path` of "+Models+"; or pebble, flint or opal, which are embedded, and opal sees; none: pebble")
		f.StringVar(&m.Tower, "tower", "", "`path` of the file with the part of the model that sees, which GGUF calls mmproj; or none, to load texts' part alone; unless given, the one next to the model's file")
		f.StringVar(&m.ChatTemplate, "chat-template", "", "`path` of a file with a chat template in Jinja, in place of the model's own, for files that have none or a wrong one")
		m.ComputeFlags(f)
	})
}

// ComputeFlags defines the flags that say how models are run, for a program that has its own ones for which models.
func (m *Model) ComputeFlags(f *Flags) {
	f.StringVar(&m.Backend, "backend", "cpu", "`name` of what computes: "+strings.Join(backend.Names(), ", ")+"; opencl is there in programs built with -tags opencl")
	m.Division.flags(f)
	f.Threads(&m.Threads, " to compute with")
	f.DType(&m.Weights, "weights", "to convert the weights to while loading (unless given, they stay as stored)", tensor.WeightTypes()...)
	f.BoolVar(&m.Mapped, "map-experts", false, "leave the matrices of experts in the mapped file: slower, for models whose experts do not fit in memory")
	f.BoolVar(&m.Verbose, "v", false, "tell on stderr what is loaded")
	f.Sets(map[string]string{"LoadOptions.Weights": "weights", "LoadOptions.MapExperts": "map-experts"})
}

// Load fetches the model, opens the devices and loads the model, with a progress bar on stderr when the model is large. When the context ends,
// loading ends with an error. The function that it returns closes the model and the devices.
func (m *Model) Load(ctx context.Context, stderr io.Writer) (*llama.Model, func() error, error) {
	if _, err := m.Fetch(ctx, stderr); err != nil {
		return nil, nil, err
	}
	d, err := m.OpenDevices()
	if err != nil {
		return nil, nil, err
	}
	model, err := m.LoadOn(ctx, d, stderr)
	if err != nil {
		return nil, nil, errors.Join(err, d.Close())
	}
	return model, func() error { return errors.Join(model.Close(), d.Close()) }, nil
}

// LoadOn loads the model on devices that are open, as Load does. Several models may be on them.
func (m *Model) LoadOn(ctx context.Context, d *Devices, stderr io.Writer) (*llama.Model, error) {
	list := slices.Clone(d.list)
	for i := range list {
		if m.Wrap != nil {
			list[i].Backend = m.Wrap(list[i].Backend)
		}
	}
	o := &llama.LoadOptions{Devices: list, CacheTokens: m.CacheTokens, Threads: m.Threads, Weights: m.Weights, MapExperts: m.Mapped, Trace: m.Trace, Progress: Progress(stderr, "loading"),
		Warming: Passes(stderr, "warming up")}
	if m.Verbose {
		o.Logger = slog.New(slog.NewTextHandler(stderr, nil))
	}
	if m.ChatTemplate != "" {
		source, err := os.ReadFile(m.ChatTemplate)
		if err != nil {
			return nil, fmt.Errorf("-chat-template: %w", err)
		}
		o.ChatTemplate = string(source)
	}
	e := m.embedded()
	switch {
	case m.Tower == NoTower:
		o.Towers = []string{}
	case m.Tower != "" && e != nil:
		return nil, Usagef("-tower %s: it must be %s for an embedded model", m.Tower, NoTower)
	case m.Tower != "":
		o.Towers = []string{m.Tower}
	}
	if e != nil {
		return e.load(ctx, o)
	}
	path, err := m.Fetch(ctx, stderr)
	if err != nil {
		return nil, err
	}
	return llama.LoadContext(ctx, path, o)
}

// Open loads the model and its adapter, and opens a session of them. The function that it returns closes all.
func Open(ctx context.Context, m *Model, a *Adapter, memory *Memory, stderr io.Writer) (*llama.Model, *llama.Session, func(), error) {
	model, closeModel, err := m.Load(ctx, stderr)
	if err != nil {
		return nil, nil, nil, err
	}
	closeAll := func() { closeModel() }
	adapter, scale, err := a.Open(ctx, model, stderr)
	if err != nil {
		closeAll()
		return nil, nil, nil, err
	}
	if adapter != nil {
		memory.Adapter, memory.AdapterScale = adapter, scale
		closeAll = func() {
			adapter.Close()
			closeModel()
		}
	}
	session, closeSession, err := memory.Session(model)
	if err != nil {
		closeAll()
		return nil, nil, nil, err
	}
	return model, session, func() {
		closeSession()
		closeAll()
	}, nil
}

// Parameters returns how many numbers a model of the Llama family learnt.
func Parameters(c llama.Config) int64 {
	hidden, attention, keys := c.HiddenSize, c.Heads*c.HeadDim, c.KVHeads*c.HeadDim
	layer := 2*hidden*attention + 2*hidden*keys + 2*hidden // q and o, k and v, norms
	e := &c.Experts
	networks := (c.Layers-e.Layers)*3*hidden*c.IntermediateSize + e.Layers*(3*hidden*(e.Count*e.Width+e.SharedWidth)+hidden*e.Count)
	if c.AttentionBias {
		layer += attention + 2*keys + hidden
	}
	if c.MLPBias {
		layer += 2*c.IntermediateSize + hidden
	}
	tables := c.VocabSize * hidden
	if !c.TiedEmbeddings {
		tables *= 2
	}
	return int64(tables) + int64(c.Layers)*int64(layer) + int64(networks) + int64(hidden)
}
