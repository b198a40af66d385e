// Ocr writes what stands on pictures of pages as Markdown, many pages at once.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/hub"
	"github.com/antigravity-go/antigravity/llama/opal"
)

// The prompts of GLM-OCR and of Opal, which is embedded.
const (
	usualPrompt = "Text Recognition:"
	opalPrompt  = "What is written here?"
)

const about = `ocr writes what stands on pictures of pages as Markdown: a file for each page.

  ocr -model hf:OWNER/GLM-OCR-GGUF -out text scans     scans/1/003.png becomes text/1/003.png.md
  ocr -model glm-ocr page.jpg                          page.jpg.md, next to the page

Pages that are done are not done again unless they have changed: start it once more to go on. Without -model it asks Opal, which is embedded and
reads a few words.
`

// options are what the program was asked for.
type options struct {
	model       string // a folder, a .gguf file with its tower next to it, or a name of the hub; "": Opal
	out         string // a folder for the texts; "": each lies next to its page
	prompt      string
	parallel    int // pages at once
	tokens      int // of a text, at most
	imageTokens int // of a page, at most; 0: the model's default
	context     int // tokens of a page and its text together
	penalty     float64
	again       bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	switch err := run(ctx, os.Args[1:], os.Stderr); {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "ocr:", err)
		os.Exit(1)
	}
}

// run reads the pages that the arguments name. It reports its progress to w, a line for each page.
func run(ctx context.Context, args []string, w io.Writer) (err error) {
	var o options
	f := flag.NewFlagSet("ocr", flag.ContinueOnError)
	f.SetOutput(w)
	f.Usage = func() {
		fmt.Fprint(w, about, "\n")
		f.PrintDefaults()
	}
	f.StringVar(&o.model, "model", "", "`path or name` of the model: a folder, a .gguf file with its mmproj file next to it, or hf:OWNER/NAME")
	f.StringVar(&o.out, "out", "", "`folder` for the texts; without it each lies next to its page")
	f.StringVar(&o.prompt, "prompt", "", fmt.Sprintf("what to ask about each page; by default %q, and %q of Opal", usualPrompt, opalPrompt))
	f.IntVar(&o.parallel, "parallel", 2, "`pages` at once: each takes memory")
	f.IntVar(&o.tokens, "max-tokens", 4096, "most `tokens` of a text: a longer one is an error, and not written")
	f.IntVar(&o.imageTokens, "image-tokens", 0, "most `tokens` that a page becomes: fewer are quicker and lose small print; 0 is the model's default")
	f.IntVar(&o.context, "context", 16384, "`tokens` of a page and its text together, at most the model's context")
	f.Float64Var(&o.penalty, "repeat-penalty", 1, "`factor` by which repeated tokens become less likely; 1 changes nothing, and GLM-OCR's own program has 1.1")
	f.BoolVar(&o.again, "again", false, "do pages again that are done")
	if err := f.Parse(args); err != nil {
		return flag.ErrHelp // Parse has reported it
	}
	if f.NArg() == 0 || o.parallel < 1 || o.tokens < 1 || o.context < 1 {
		f.Usage()
		return flag.ErrHelp
	}
	found, err := findPages(f.Args(), o.out)
	if err != nil {
		return err
	}
	pages := found
	if !o.again {
		pages = undone(found)
	}
	if n := len(found) - len(pages); n > 0 {
		fmt.Fprintf(w, "%d of %d pages are done already\n", n, len(found))
	}
	if len(pages) == 0 {
		return nil
	}
	model, err := o.load(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, model.Close()) }()
	if !model.Inputs().Image {
		return fmt.Errorf("the model %s sees no pictures: take one with a vision tower, or name its mmproj file so that it is found next to the model", o.model)
	}
	reader, err := o.reader(model)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, reader.pool.Close()) }()
	return reader.readAll(ctx, pages, o.parallel, w)
}

// load loads the model.
func (o *options) load(ctx context.Context) (*llama.Model, error) {
	if o.model == "" {
		return opal.LoadContext(ctx, nil)
	}
	path, err := hub.Get(ctx, o.model, nil) // a path stays as it is
	if err != nil {
		return nil, err
	}
	return llama.LoadContext(ctx, path, nil)
}

// reader returns a reader of pages with the model.
func (o *options) reader(model *llama.Model) (*reader, error) {
	r := &reader{prompt: o.prompt, params: llama.Params{MaxTokens: o.tokens, RepeatPenalty: float32(o.penalty)}}
	if r.prompt == "" {
		if r.prompt = usualPrompt; o.model == "" {
			r.prompt = opalPrompt
		}
	}
	capacity := min(o.context, cmp.Or(model.Config().ContextLength, o.context))
	var err error
	r.pool, err = model.NewPool(&llama.PoolOptions{MaxSessions: o.parallel, Session: llama.SessionOptions{Capacity: capacity, ImageTokens: o.imageTokens}})
	return r, err
}
