package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/antigravity-go/antigravity/llama"
)

const mega = 1e6

// describe prints what a model is.
func describe(out io.Writer, m *llama.Model, s *stored) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	defer w.Flush()
	row := func(name, format string, a ...any) {
		fmt.Fprintf(w, "  %s\t"+format+"\n", append([]any{name}, a...)...)
	}
	c := m.Config()
	row("format", "%s", s.format)
	row("layers", "%d", c.Layers)
	row("hidden size", "%d, feed-forward %d", c.HiddenSize, c.IntermediateSize)
	row("attention", "%d query heads, %d key and value heads of %d", c.Heads, c.KVHeads, c.HeadDim)
	row("context", "%d tokens", c.ContextLength)
	row("RoPE", "%s", rope(&c.RoPE))
	row("norm epsilon", "%g", c.RMSNormEps)
	row("output head", "%s", map[bool]string{true: "tied to the embedding", false: "its own"}[c.TiedEmbeddings])
	for _, kind := range slices.Sorted(maps.Keys(s.types)) {
		u := s.types[kind]
		row("tensors "+kind, "%d, %.1f MB", u.tensors, float64(u.bytes)/mega)
	}
	row("weights loaded", "%.1f MB", float64(m.MemoryUsage().Weights)/mega)
	row("vocabulary", "%d tokens", c.VocabSize)
	row("tokenizer", "%s", s.tokenizer)
	row("begin, end tokens", "%s, %s", tokens(m.Tokenizer(), c.BOS), tokens(m.Tokenizer(), c.EOS...))
	row("chat template", "%s", map[bool]string{true: "yes", false: "none"}[m.Tokenizer().HasTemplate()])
}

func rope(r *llama.RoPE) string {
	text := fmt.Sprintf("base %g", r.Theta)
	switch {
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
