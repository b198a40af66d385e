package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/tensor"
)

const mega = 1e6

// table prints rows of names and values.
type table struct{ *tabwriter.Writer }

func (t table) row(name, format string, a ...any) {
	fmt.Fprintf(t, "  %s\t%s\n", name, cli.Printable(fmt.Sprintf(format, a...)))
}

// describe prints what a model is, and why it would not load.
func describe(out io.Writer, r *llama.Report) {
	t := table{tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)}
	defer t.Flush()
	t.row("loads", "%s", map[bool]string{true: "yes", false: "no"}[len(r.Problems) == 0])
	if r.Format != "" {
		t.row("format", "%s", r.Format)
	}
	if r.Config != nil {
		t.row("kind", "%s", kindOf(r))
		if r.Sight != "" {
			t.row("sees", "%s", r.Sight)
		}
		t.sizes(r.Config)
		t.weights(r)
	}
	t.tokenizer(r)
	t.ignored(r)
	for i, p := range r.Problems {
		t.row(fmt.Sprintf("problem %d", i+1), "%v", p)
	}
	if len(r.Problems) == llama.MaxProblems {
		t.row("", "and perhaps more")
	}
}

// kindOf says what a model is made for.
func kindOf(r *llama.Report) string {
	switch {
	case r.Kind == llama.Reranker:
		return "reranker: it compares a query with documents"
	case r.Kind == llama.Classifier:
		return "classifier: it puts labels on texts"
	case r.Kind == llama.Tagger:
		return "tagger: it puts labels on the tokens of texts"
	case r.Config.Whole:
		return "encoder: it makes vectors of texts"
	case r.Kind == llama.Embedder:
		return "embedder: it makes vectors of texts, and has no output head"
	case r.Template == "":
		return "generator: it goes on with texts, and has no chat template"
	}
	return "chat: it answers in conversations, and goes on with texts"
}

// sizes prints the configuration.
func (t table) sizes(c *llama.Config) {
	family := c.Family
	if family == "" {
		family = "llama"
	}
	t.row("family", "%s", family)
	t.row("layers", "%d", c.Layers)
	t.row("hidden size", "%d, feed-forward %d", c.HiddenSize, c.IntermediateSize)
	if e := &c.Experts; e.Count > 0 {
		t.row("experts", "%d in %d of the layers, %d for a token, of a width of %d; a shared one of %d", e.Count, e.Layers, e.Chosen, e.Width, e.SharedWidth)
	}
	t.row("attention", "%d query heads, %d key and value heads of %d", c.Heads, c.KVHeads, c.HeadDim)
	if n := count(c.Windowed); n > 0 && c.Window > 0 {
		t.row("sliding window", "%d tokens, in %d of the layers", c.Window, n)
	}
	t.row("context", "%d tokens", c.ContextLength)
	if c.Positions > 0 {
		t.row("positions", "%d, learned", c.Positions)
	} else {
		t.row("RoPE", "%s", rope(&c.RoPE))
	}
	if n := count(c.NoRoPE); n > 0 {
		t.row("without RoPE", "%d of the layers", n)
	}
	t.row("norm epsilon", "%g", c.RMSNormEps)
	if !c.Whole {
		t.row("output head", "%s", map[bool]string{true: "tied to the embedding", false: "its own"}[c.TiedEmbeddings])
	}
}

// count returns how many are true.
func count(list []bool) (n int) {
	for _, is := range list {
		if is {
			n++
		}
	}
	return n
}

// weights prints the tensors, and the memory that they take.
func (t table) weights(r *llama.Report) {
	for _, u := range r.Tensors {
		t.row("tensors "+u.Type, "%d, %.1f MB", u.Tensors, float64(u.Bytes)/mega)
	}
	for _, u := range r.Rewrites {
		how := "without loss"
		if u.Loss > 0 {
			how = fmt.Sprintf("with a relative change of %.2g", u.Loss)
		}
		t.row("rewritten", "%s as %v while loading, %s", u.Type, u.As, how)
	}
	t.row("parameters", "%.1f million", float64(r.Parameters)/mega)
	t.row("weights loaded", "%.1f MB", float64(r.Weights)/mega)
	t.places(r)
	if !r.Config.Whole { // an encoder computes a text at once, and caches nothing
		var caches []string
		for _, d := range []tensor.DType{tensor.F16, tensor.Q8_0} {
			caches = append(caches, fmt.Sprintf("%.1f MB in %v", float64(r.Config.CacheBytes(1000, d))/mega, d))
		}
		t.row("1000 tokens cached", "%s", strings.Join(caches, ", "))
	}
	t.row("vocabulary", "%d tokens", r.Config.VocabSize)
}

// places prints how much of the weights the CPU has in memory, and how much stays in files that are mapped.
func (t table) places(r *llama.Report) {
	resident := r.Weights - r.Tables
	words := ""
	if r.Tables > 0 {
		words = fmt.Sprintf("; %.1f MB of tables stay in the file, mapped, of which a token reads a row", float64(r.Tables)/mega)
	}
	t.row("in memory", "%.1f MB%s", float64(resident)/mega, words)
	if r.Experts == 0 {
		return
	}
	e := &r.Config.Experts
	t.row("of experts", "%.1f MB, of which a token reads %.1f MB", float64(r.Experts)/mega, float64(r.Experts)/float64(e.Count)*float64(e.Chosen)/mega)
	if r.Mappable == 0 {
		t.row("with -map-experts", "no less: the files have the experts in a type or an order that is not computed with; quantize writes one that is")
		return
	}
	t.row("with -map-experts", "%.1f MB in memory; %.1f MB of experts stay in the file, mapped", float64(resident-r.Mappable)/mega, float64(r.Mappable)/mega)
}

// ignored prints what of the files is not used, several things with one reason together.
func (t table) ignored(r *llama.Report) {
	var reasons []string
	what := map[string][]string{}
	for _, i := range r.Ignored {
		if what[i.Why] == nil {
			reasons = append(reasons, i.Why)
		}
		what[i.Why] = append(what[i.Why], i.What)
	}
	for i, why := range reasons {
		name := ""
		if i == 0 {
			name = "not used"
		}
		t.row(name, "%s: %s", abridge(what[why]), why)
	}
}

// tokenizer prints what turns text to tokens, and conversations.
func (t table) tokenizer(r *llama.Report) {
	if r.Tokens == nil {
		t.row("tokenizer", "none")
		return
	}
	k := r.Tokens
	t.row("tokenizer", "%s, %d tokens", r.Reader, k.VocabSize())
	if c := r.Config; c != nil {
		t.row("begin, end tokens", "%s, %s", tokens(k, c.BOS), tokens(k, c.EOS...))
	}
	t.row("chat template", "%s", cmp.Or(k.ChatTemplates().From, "none"))
	if names := k.ChatTemplates().Names; len(names) > 1 {
		t.row("chat templates", "%s", strings.Join(names, ", "))
	}
	t.row("calls of functions", "%v", k.CallFormat())
}

func rope(r *llama.RoPE) string {
	text := fmt.Sprintf("base %g", r.Theta)
	switch {
	case r.Long != nil:
		text += fmt.Sprintf(", %s scaling with factors of their own beyond %d tokens", r.Scaling, r.OriginalContext)
	case r.Scaling != "":
		text += fmt.Sprintf(", %s scaling by %g", r.Scaling, r.Factor)
	case r.Divisors != nil:
		text += fmt.Sprintf(", frequencies divided by %g to %g", slices.Min(r.Divisors), slices.Max(r.Divisors))
	}
	return text
}

// tokens names special tokens.
func tokens(k *llama.Tokenizer, list ...llama.Token) string {
	var names []string
	for _, t := range list {
		if t >= 0 {
			names = append(names, strings.TrimSpace(fmt.Sprintf("%d %s", t, k.Text(t))))
		}
	}
	if names == nil {
		return "none"
	}
	return strings.Join(names, " ")
}
