// Generate answers one prompt: the shortest program that does something useful with package llama, and the workhorse of
// scripts.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/tensor"
)

const about = `
generate answers one prompt with a model of the Llama family.

  go run ./examples/generate -prompt "What is the capital of Japan?"
  go run ./examples/generate -model model.gguf -prompt - -json < question.txt

The prompt becomes a user's message when the model has a chat template. With -raw, or without a template, it is text to
continue: begin-of-text comes first, and special tokens such as <|eot_id|> are recognised in it.`

func main() { cli.Main("generate", run) }

// options are the command line's.
type options struct {
	model          cli.Model
	memory         cli.Memory
	params         llama.Params
	prompt, system string
	raw, json      bool
}

func parse(args []string, stdout io.Writer) (*options, error) {
	o := &options{}
	f := cli.NewFlags("generate", about)
	f.Group("Prompt and answer", func() {
		f.StringVar(&o.prompt, "prompt", "What is the capital of Japan?", "`text` to answer; -: read from stdin")
		f.StringVar(&o.system, "system", "", "`text` of a system message before the prompt")
		f.BoolVar(&o.raw, "raw", false, "continue the prompt instead of answering it")
		f.BoolVar(&o.json, "json", false, "print one JSON object: text, stop, and measurements")
	})
	cli.SamplingFlags(f, &o.params, 256)
	o.model.Flags(f)
	o.memory.Flags(f, tensor.F16)
	if err := f.Parse(args, stdout); err != nil {
		return nil, err
	}
	if o.raw && o.system != "" {
		return nil, cli.Usagef("-raw has no messages, so it cannot have a -system message")
	}
	cli.Seed(f, &o.params)
	return o, nil
}

// maxPrompt bounds what is read from stdin, in bytes; no context is that long.
const maxPrompt = 64 << 20

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	o, err := parse(args, stdout)
	if err != nil {
		return err
	}
	if o.prompt == "-" {
		text, err := io.ReadAll(io.LimitReader(stdin, maxPrompt))
		if err != nil {
			return fmt.Errorf("read the prompt from stdin: %w", err)
		}
		o.prompt = string(text)
	}
	model, session, closeAll, err := cli.Open(ctx, &o.model, &o.memory, stderr)
	if err != nil {
		return err
	}
	defer closeAll()
	pieces := cli.Ask(ctx, model, session, o.system, o.prompt, o.raw, o.params)
	if o.json {
		return printJSON(stdout, pieces, o)
	}
	return printText(stdout, stderr, pieces)
}

// printText prints the answer as it comes, and how fast it came.
func printText(stdout, stderr io.Writer, pieces iter.Seq2[llama.Piece, error]) error {
	for piece, err := range pieces {
		if err != nil {
			fmt.Fprintln(stdout)
			return err
		}
		if _, err := io.WriteString(stdout, piece.Text); err != nil {
			return fmt.Errorf("write the answer: %w", err)
		}
		if piece.Stop != 0 {
			s := piece.Stats
			fmt.Fprintln(stdout)
			fmt.Fprintf(stderr, "prompt: %d tokens, %.1f tokens/s; answer: %d tokens, %.1f tokens/s; %v\n",
				s.PromptTokens, s.PrefillRate(), s.GeneratedTokens, s.DecodeRate(), piece.Stop)
			if s.Evictions > 0 {
				fmt.Fprintf(stderr, "evictions: %d, of %d tokens, in %v\n", s.Evictions, s.EvictedSlots, s.EvictionTime.Round(time.Microsecond))
			}
		}
	}
	return nil
}

// result is what -json prints.
type result struct {
	Text            string  `json:"text"`
	Stop            string  `json:"stop"`
	PromptTokens    int     `json:"prompt_tokens"`
	GeneratedTokens int     `json:"generated_tokens"`
	PrefillRate     float64 `json:"prefill_tokens_per_second"`
	DecodeRate      float64 `json:"decode_tokens_per_second"`
	Evictions       int     `json:"evictions"`
	EvictedTokens   int     `json:"evicted_tokens"`
	Seed            uint64  `json:"seed"`
	Model           string  `json:"model"`
}

// printJSON prints the whole answer. An interrupted one is printed too, as far as it came.
func printJSON(w io.Writer, pieces iter.Seq2[llama.Piece, error], o *options) error {
	var text strings.Builder
	r := result{Seed: o.params.Seed, Model: o.model.Name()}
	var failure error
	for piece, err := range pieces {
		if failure = err; err != nil {
			break
		}
		text.WriteString(piece.Text)
		r.GeneratedTokens += len(piece.Tokens)
		if s := piece.Stats; piece.Stop != 0 {
			r.Stop, r.PromptTokens, r.GeneratedTokens = piece.Stop.String(), s.PromptTokens, s.GeneratedTokens
			r.PrefillRate, r.DecodeRate = s.PrefillRate(), s.DecodeRate()
			r.Evictions, r.EvictedTokens = s.Evictions, s.EvictedSlots
		}
	}
	if errors.Is(failure, context.Canceled) {
		r.Stop = "interrupted"
	} else if failure != nil {
		return failure
	}
	r.Text = text.String()
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return errors.Join(e.Encode(r), failure)
}
