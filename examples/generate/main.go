// Generate answers one prompt: the workhorse of scripts.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
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
  go run ./examples/generate -model flint -draft lookup -prompt - < edit.txt
  go run ./examples/generate -model model.gguf -schema person.json -prompt "Who wrote Faust?"
  go run ./examples/generate -model hf:Qwen/Qwen3-VL-2B-Instruct-GGUF -image photo.jpg -prompt "Who smiles?"

The prompt becomes a user's message when the model has a chat template. With -raw, or without a template, it is a text to
continue: begin-of-text comes first, and special tokens such as <|eot_id|> are recognised in it. The answer goes to stdout
as it comes; what the model thinks before, and how fast the answer came, to stderr.`

func main() { cli.Main("generate", run) }

// result is what -json prints.
type result struct {
	Text            string  `json:"text"`
	Thought         string  `json:"thought,omitempty"` // what the model thought before
	Stop            string  `json:"stop"`
	PromptTokens    int     `json:"prompt_tokens"`
	GeneratedTokens int     `json:"generated_tokens"`
	PrefillRate     float64 `json:"prefill_tokens_per_second"`
	DecodeRate      float64 `json:"decode_tokens_per_second"`
	Evictions       int     `json:"evictions"`
	EvictedTokens   int     `json:"evicted_tokens"`
	DraftedTokens   int     `json:"drafted_tokens"`
	AcceptedTokens  int     `json:"accepted_tokens"`
	Seed            uint64  `json:"seed"`
	Model           string  `json:"model"`
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) (err error) {
	var (
		prompt  cli.Prompt
		params  llama.Params
		model   cli.Model
		adapter cli.Adapter
		memory  cli.Memory
		draft   cli.Draft
		form    cli.Form
	)
	f := cli.NewFlags("generate", about)
	prompt.Flags(f, "What is the capital of Japan?")
	cli.SamplingFlags(f, &params, 256)
	model.Flags(f)
	adapter.Flags(f)
	memory.Flags(f, tensor.F16)
	draft.Flags(f)
	form.Flags(f)
	if err := f.Parse(args, stdout); err != nil {
		return err
	}
	defer func() { err = f.Explained(err) }()
	cli.Seed(f, &params)
	if err := prompt.Read(stdin); err != nil {
		return err
	}
	m, session, closeAll, err := cli.Open(ctx, &model, &adapter, &memory, stderr)
	if err != nil {
		return err
	}
	defer closeAll()
	drafter, closeDraft, err := draft.Open(ctx, &model, m, session.Capacity(), stderr)
	if err != nil {
		return err
	}
	defer closeDraft()
	params.Draft = drafter
	cli.Recommend(f, m, &params, stderr)
	progress, read := cli.Reading(stderr)
	params.Progress = progress
	defer read()
	if params.Constraint, err = form.Constraint(m.Tokenizer(), stderr); err != nil {
		return err
	}
	var text, thought strings.Builder
	out, thoughts := stdout, stderr
	if prompt.JSON {
		out, thoughts = &text, &thought
	}
	thinking := false
	var last llama.Piece
	for last, err = range prompt.Ask(ctx, m, session, params) {
		read()
		fmt.Fprint(thoughts, last.Thought)
		if thinking = thinking || last.Thought != ""; thinking && (last.Text != "" || last.Stop != 0) && !prompt.JSON {
			fmt.Fprint(thoughts, "\n\n")
			thinking = false
		}
		if _, failure := io.WriteString(out, last.Text); failure != nil {
			return fmt.Errorf("write the answer: %w", failure)
		}
	}
	s, stop := last.Stats, last.Stop.FinishReason()
	if errors.Is(err, context.Canceled) {
		stop = "interrupted" // what there is of the answer is printed all the same
	} else if err != nil {
		if s.GeneratedTokens > 0 {
			fmt.Fprintln(out)
		}
		return err
	}
	if prompt.JSON {
		return errors.Join(err, cli.PrintJSON(stdout, result{
			Text: text.String(), Thought: thought.String(), Stop: stop, PromptTokens: s.PromptTokens, GeneratedTokens: s.GeneratedTokens,
			PrefillRate: s.PrefillRate(), DecodeRate: s.DecodeRate(), Evictions: s.Evictions, EvictedTokens: s.EvictedSlots,
			DraftedTokens: s.DraftedTokens, AcceptedTokens: s.AcceptedTokens, Seed: params.Seed, Model: model.Name(),
		}))
	}
	fmt.Fprintln(stdout)
	fmt.Fprintf(stderr, "prompt: %s, %.1f tokens/s; answer: %s, %.1f tokens/s; %s\n",
		cli.Count(s.PromptTokens, "token"), s.PrefillRate(), cli.Count(s.GeneratedTokens, "token"), s.DecodeRate(), last.Stop)
	if help := f.MoreRoom(m, session); last.Stop == llama.ContextFull && help != "" {
		fmt.Fprintf(stderr, "%s\n", help)
	}
	if drafted := cli.Drafted(params.Draft, s.DraftedTokens, s.AcceptedTokens); drafted != "" {
		fmt.Fprintf(stderr, "drafts: %s\n", drafted)
	}
	if s.Evictions > 0 {
		fmt.Fprintf(stderr, "evictions: %d, of %s, in %v\n", s.Evictions, cli.Count(s.EvictedSlots, "token"), s.EvictionTime.Round(time.Microsecond))
	}
	return err
}
