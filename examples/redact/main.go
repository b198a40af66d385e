// Redact copies a text from standard input to standard output, and masks the names, numbers and addresses that a model finds in it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/llama"
)

func main() { cli.Main("redact", run) }

const about = `
redact copies a text from standard input to standard output, and masks what a model finds in it: persons, places, numbers, whatever the model was
trained to find (openai/privacy-filter: names, addresses, dates, telephone and account numbers, secrets). The text may have any length: a block of it is in memory at a time, and each block sees some text before it and after it. What
comes out depends on the text, the model and the flags alone, and is the same on every machine.

  redact -model an-entity-model < letter.txt                    Dear [PER], …
  redact -model an-entity-model -labels PER,LOC -mask X < …     Dear XXXXXXXXXXXX, …`

// run masks what it reads.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) (err error) {
	f := cli.NewFlags("redact", about)
	var model cli.Model
	only := ""
	r := &redactor{out: stdout, counts: map[string]int{}}
	f.Group("Masks", func() {
		f.StringVar(&only, "labels", "", "`names` of the labels that are masked, with commas between them; without it all are")
		f.StringVar(&r.mask, "mask", "", "`text` for each character; without it the label stands in brackets for the whole")
		f.Float32(&r.least, "min", "least score of what is masked")
	})
	f.Group("Memory", func() {
		f.IntVar(&r.block, "block", 0, "`bytes` of text that are looked at together; an eighth of them is seen again before and after. 0: 8192, and 32768 if the model takes texts of 8192 tokens and more")
	})
	model.Flags(f)
	switch err := f.Parse(args, stdout); {
	case err != nil:
		return err
	case model.Path == "":
		return cli.Usagef("-model is missing: the embedded models find no entities")
	case r.block != 0 && (r.block < leastBlock || r.block > mostBlock):
		return cli.Usagef("-block is %d, not between %d and %d", r.block, leastBlock, mostBlock)
	}
	for name := range strings.SplitSeq(only, ",") {
		if name = strings.TrimSpace(name); name != "" {
			r.labels = append(r.labels, name)
		}
	}
	m, closeModel, err := model.Load(ctx, stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeModel()) }()
	if kind := m.Kind(); kind != llama.Tagger {
		return cli.Usagef("-model %s is a %v, which finds no entities", model.Path, kind)
	}
	if r.block == 0 {
		r.block = 8 << 10
		if m.LongestText() >= 8192 {
			r.block = 32 << 10
		}
	}
	r.find = m.Entities
	if err := r.copy(ctx, stdin); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(r.counts)) {
		fmt.Fprintf(stderr, "%d × %s\n", r.counts[name], cli.Printable(name))
	}
	return nil
}
