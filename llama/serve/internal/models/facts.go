package models

import (
	"cmp"
	"log/slog"
	"strings"
	"sync"

	"github.com/antigravity-go/antigravity/llama"
)

// Facts describe a model, whether it is loaded or not.
type Facts struct {
	Config      llama.Config
	Kind        llama.Kind
	Context     int    // tokens that a conversation may have; 0: no bound, or not known
	Parameters  int64  // elements of its tensors
	Type        string // of the weights, in capital letters: "Q8_0"
	Format      string // of the files: "gguf" or "safetensors"; "" if that is not known
	Fingerprint string // "" until the model was loaded once
	Tools       bool   // it calls functions in a way that is known
	Thinks      bool   // it thinks before it answers, in a way that is known
	Infill      bool   // it fills in the text between two others
	Sees        bool   // it takes images
	Sampling    llama.Params
	HasSampling bool // see llama.Model's methods
}

// ContextLength returns how many tokens a conversation may have: what the server gives it or, if that is not known, what the model was
// trained for.
func (f *Facts) ContextLength() int { return cmp.Or(f.Context, f.Config.ContextLength) }

// memo keeps the facts of a model. Its methods are safe for any number of goroutines.
type memo struct {
	mu    sync.Mutex
	facts *Facts // nil: not known yet
}

// set notes the facts of a model that was loaded.
func (m *memo) set(f *Facts) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.facts = f
}

// get returns the facts. If they are not known, find finds them out, one caller at a time; nil is not kept.
func (m *memo) get(find func() *Facts) *Facts {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.facts == nil {
		m.facts = find()
	}
	return m.facts
}

// Describe returns the facts about the model with a name or an alias, or nil. It loads no model, but reads a file's header the first time.
func (r *Registry) Describe(name string) *Facts {
	e := r.find(name)
	if e == nil {
		return nil
	}
	return e.memo.get(e.inspect)
}

// inspect returns what a model's files say, nil if they cannot be read.
func (e *entry) inspect() *Facts {
	if e.spec.Inspect == nil {
		return nil
	}
	report, err := e.spec.Inspect()
	if err != nil || report == nil || report.Config == nil {
		e.log.Debug("a model cannot be described", slog.String("model", e.spec.Name), slog.Any("error", err))
		return nil
	}
	f := &Facts{Config: *report.Config, Kind: kindOf(report.Config), Parameters: report.Parameters, Sampling: report.Sampling, HasSampling: report.HasSampling, Sees: report.Inputs.Image}
	if strings.HasPrefix(report.Format, "GGUF") {
		f.Format = "gguf"
	} else if report.Format != "" {
		f.Format = "safetensors"
	}
	most := int64(0)
	for _, use := range report.Tensors {
		if use.Bytes > most {
			most, f.Type = use.Bytes, strings.ToUpper(use.Type)
		}
	}
	f.readTokenizer(report.Tokens)
	return f
}

// kindOf returns what a model of this configuration is made for. Of a model without an output head that is known only when it is loaded.
func kindOf(c *llama.Config) llama.Kind {
	switch {
	case c.LabelsTokens:
		return llama.Tagger
	case len(c.Labels) > 1:
		return llama.Classifier
	case len(c.Labels) == 1:
		return llama.Reranker
	case c.Whole:
		return llama.Embedder
	}
	return llama.Generator
}

// factsOf returns the facts of a model that is loaded.
func factsOf(m *llama.Model, context int, fingerprint string) *Facts {
	f := &Facts{
		Config: m.Config(), Kind: m.Kind(), Context: context, Fingerprint: fingerprint, Type: strings.ToUpper(m.WeightType().String()),
		Sampling: m.Sampling(), HasSampling: m.HasSampling(), Sees: m.Inputs().Image,
	}
	for _, t := range m.Weights() {
		f.Parameters += int64(t.Shape().NumElements())
	}
	f.readTokenizer(m.Tokenizer())
	return f
}

// readTokenizer notes facts of the tokenizer, which may be nil.
func (f *Facts) readTokenizer(t *llama.Tokenizer) {
	if t == nil {
		return
	}
	f.Tools = t.HasTemplate() && t.CallFormat() != llama.NoCalls
	f.Thinks = t.HasTemplate() && t.Thinks()
	_, f.Infill = InfillTokens(t)
}
