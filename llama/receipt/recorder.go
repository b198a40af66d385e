package receipt

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/tensor"
)

// Options say how an answer is computed, besides its llama.Params. Nil and the zero value are the defaults.
type Options struct {
	Kind    Kind                  // "": Message
	Session *llama.SessionOptions // of the session, or of the pool's sessions, that answers; nil: the defaults
}

// Recorder makes the receipt of one answer.
type Recorder struct {
	model  *llama.Model
	prompt []llama.Token
	made   Statement // all but Model and Answer
	adapt  *llama.Adapter

	logits        []float32 // of the last choice
	text, thought strings.Builder
	tokens        []llama.Token
	last          llama.Piece // the answer's last piece; its Stop is 0 before that
}

// New begins the receipt of an answer that a model is to give to a prompt, the tokens of the whole conversation. It changes the parameters: a Params.Mask
// that changes nothing sees the logits. Give these parameters to Pool.Answer, Pool.Generate or Session.Generate, and the pieces to Watch.
//
// For anything that a receipt cannot have, the error is a *llama.ParamError that names it; see the page of the package.
func New(m *llama.Model, prompt []llama.Token, p *llama.Params, o *Options) (*Recorder, error) {
	if o == nil {
		o = &Options{}
	}
	r := &Recorder{model: m, prompt: slices.Clone(prompt)}
	r.made = Statement{Format: Format, Kind: o.Kind, Made: made(), Prompt: Prompt{len(prompt), tokensDigest(prompt)}}
	if r.made.Kind == "" {
		r.made.Kind = Message
	}
	size := m.Tokenizer().VocabSize()
	for _, t := range prompt {
		if t < 0 || int(t) >= size {
			return nil, refused("an image in the prompt", "left out: its rows are no tokens of the vocabulary")
		}
	}
	var err error
	if r.made.Parameters, err = parametersOf(p); err != nil {
		return nil, err
	}
	if r.made.Kind == Message && p.Template.Continue {
		return nil, refused("Params.Template.Continue", "false, or Options.Kind Text: an answer that is begun is the continuation of a text")
	}
	var session llama.SessionOptions
	if o.Session != nil {
		session = *o.Session
	}
	if r.made.Cache, err = cacheOf(m, session); err != nil {
		return nil, err
	}
	scale := p.AdapterScale
	if r.adapt = p.Adapter; r.adapt == nil {
		r.adapt, scale = session.Adapter, session.AdapterScale
	}
	if r.adapt != nil {
		print, err := r.adapt.Fingerprint()
		if err != nil {
			return nil, fmt.Errorf("receipt: %w", err)
		}
		if scale == 0 {
			scale = 1
		}
		if scale == llama.AdapterOff {
			scale = 0
		}
		r.made.Adapter = &Adapter{print, Number(scale)}
	}
	p.Mask = r
	return r, nil
}

// cacheOf returns the properties of a session's memory for the receipt, and refuses options that a receipt cannot have.
func cacheOf(m *llama.Model, o llama.SessionOptions) (Cache, error) {
	switch {
	case o.Eviction != nil:
		return Cache{}, refused("SessionOptions.Eviction", "nil: what a policy forgets is not in the receipt")
	case o.Monitor != nil:
		return Cache{}, refused("SessionOptions.Monitor", "nil: memory that runs short is not in the receipt")
	}
	s, err := m.NewSession(&o)
	if err != nil {
		return Cache{}, fmt.Errorf("receipt: %w", err)
	}
	defer s.Close()
	if o.KV == 0 {
		o.KV = tensor.F16
	}
	return Cache{s.Capacity(), o.KV.String()}, nil
}

// Apply is llama.LogitMask: it keeps the logits of each choice, and changes nothing.
func (r *Recorder) Apply(_ []llama.Token, logits []float32) error {
	r.logits = append(r.logits[:0], logits...)
	return nil
}

// Watch passes the pieces of the answer on, and notes what the receipt says of them.
func (r *Recorder) Watch(pieces iter.Seq2[llama.Piece, error]) iter.Seq2[llama.Piece, error] {
	return func(yield func(llama.Piece, error) bool) {
		for p, err := range pieces {
			r.Add(p)
			if !yield(p, err) {
				return
			}
		}
	}
}

// Add notes one piece of the answer, for programs that do not use Watch. The pieces come in their order.
func (r *Recorder) Add(p llama.Piece) {
	r.text.WriteString(p.Text)
	r.thought.WriteString(p.Thought)
	r.tokens = append(r.tokens, p.Tokens...)
	r.last = p
}

// Receipt returns the receipt of the answer, which must have come to its end. The first receipt of a model reads all of its weights.
func (r *Recorder) Receipt(ctx context.Context) (*Receipt, error) {
	if r.last.Stop == 0 {
		return nil, errors.New("receipt: the answer has not come to its end: there is no receipt of a part")
	}
	sum, err := llama.Digest(ctx, r.model)
	if err != nil {
		return nil, fmt.Errorf("receipt: %w", err)
	}
	s := r.made
	s.Model = sumText(sum)
	if s.Answer, err = r.answer(); err != nil {
		return nil, fmt.Errorf("receipt: %w", err)
	}
	text, err := s.canonical()
	if err != nil {
		return nil, fmt.Errorf("receipt: %w", err)
	}
	return &Receipt{Answer: r.tokens, Digest: digest(text), Prompt: r.prompt, Statement: s}, nil
}

// answer returns what the receipt says of the answer.
func (r *Recorder) answer() (Answer, error) {
	a := Answer{
		Count: len(r.tokens), Logits: floatsDigest(r.logits), Stop: r.last.Stop.String(), StopString: r.last.StopString,
		Text: digest([]byte(r.text.String())), Tokens: tokensDigest(r.tokens),
	}
	if r.thought.Len() > 0 {
		a.Thought = digest([]byte(r.thought.String()))
	}
	type call struct {
		Arguments string `json:"arguments"`
		Name      string `json:"name"`
	}
	var calls []call
	for _, c := range r.last.Message.ToolCalls {
		calls = append(calls, call{string(c.Arguments), c.Name})
	}
	if calls != nil {
		text, err := canonical(calls)
		if err != nil {
			return a, err
		}
		a.Calls = digest(text)
	}
	return a, nil
}

// floatsDigest returns the digest of floats.
func floatsDigest(list []float32) string {
	b := make([]byte, 0, 4*len(list))
	for _, v := range list {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return digest(b)
}

// module is the path of this module.
const module = "github.com/antigravity-go/antigravity"

// made describes this program.
func made() Made {
	m := Made{Go: runtime.Version(), Kernels: llama.Kernels(), Library: "(devel)", Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return m
	}
	for _, d := range append(info.Deps, &info.Main) {
		if d.Path == module && d.Version != "" {
			m.Library = d.Version
		}
	}
	return m
}
