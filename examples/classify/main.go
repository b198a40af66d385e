// Classify puts labels on texts, or finds entities in them, and writes a line of JSON for each text.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/llama"
)

func main() { cli.Main("classify", run) }

const about = `
classify puts labels on texts, or finds entities in them, by a model that was trained for it. Texts are the lines of standard input, or the files
that are named, or all files of folders. For each it writes a line of JSON.

  classify -model a-sentiment-model < reviews.txt          labels with scores, the best one first
  classify -model an-entity-model letters/                 entities: label, bytes from start to end, score
  classify -model an-nli-model -labels "sports,politics"   labels of your own: how much each follows from the text

A text that is longer than the model takes is an error, and its line says so: it is never cut. With -long it is classified in windows that overlap.
Entities are found in texts of any length.`

// batch is how many lines of standard input are computed together.
const batch = 32

// task is what the program was asked for.
type task struct {
	model      *llama.Model
	labels     []string // of the user's own; nil: the model's
	hypothesis string
	any        bool // any number of the labels may be right
	long       llama.Windows
	join       llama.Joining
	stdout     io.Writer
	failed     int // texts with an error
}

// line is the answer for a text.
type line struct {
	File     string   `json:"file,omitempty"`
	Text     string   `json:"text,omitempty"`
	Labels   []label  `json:"labels,omitempty"`
	Entities []entity `json:"entities,omitzero"`
	Error    string   `json:"error,omitempty"`
}

type label struct {
	Label string  `json:"label"`
	Score float32 `json:"score"`
}

type entity struct {
	Label string  `json:"label"`
	Start int     `json:"start"`
	End   int     `json:"end"`
	Text  string  `json:"text"`
	Score float32 `json:"score"`
}

// run classifies what it is given.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) (err error) {
	f := cli.NewFlags("classify", about)
	var model cli.Model
	own := ""
	t := &task{stdout: stdout}
	f.Group("Labels of your own", func() {
		f.StringVar(&own, "labels", "", "`names` with commas between them: the model must know what follows from a text (NLI)")
		f.StringVar(&t.hypothesis, "hypothesis", "This example is {}.", "`sentence` that follows from a text with a label, with {} for the label")
		f.BoolVar(&t.any, "any", false, "any number of the labels may be right: each has a score by itself")
	})
	long, join := "", ""
	f.Group("Texts", func() {
		f.StringVar(&long, "long", "", "`way` to classify texts that are longer than the model takes, in windows: mean of their scores, or best of them")
		f.StringVar(&join, "join", "", "`strategy` by which tokens become entities: simple, first, average, max, none or path; without it the model's own")
	})
	model.Flags(f)
	paths, err := f.ParseMixed(args, stdout)
	switch {
	case err == nil && t.long.UnmarshalText([]byte(cmp.Or(long, "none"))) != nil:
		return cli.Usagef("-long is %q; it must be mean or best", long)
	case err == nil && t.join.UnmarshalText([]byte(cmp.Or(join, "usual"))) != nil:
		return cli.Usagef("-join is %q; it must be simple, first, average, max, none or path", join)
	case err != nil:
		return err
	case model.Path == "":
		return cli.Usagef("-model is missing: the embedded models put no labels on texts")
	case own != "" && !strings.Contains(t.hypothesis, "{}"):
		return cli.Usagef("-hypothesis %q has no {} for the label", t.hypothesis)
	}
	for name := range strings.SplitSeq(own, ",") {
		if name = strings.TrimSpace(name); name != "" {
			t.labels = append(t.labels, name)
		}
	}
	m, closeModel, err := model.Load(ctx, stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeModel()) }()
	t.model = m
	switch kind := m.Kind(); {
	case kind != llama.Classifier && kind != llama.Tagger && kind != llama.Reranker:
		return cli.Usagef("-model %s is an %v, which puts no labels on texts", model.Path, kind)
	case t.labels != nil && kind != llama.Classifier:
		return cli.Usagef("-labels needs a model that knows what follows from a text, and -model %s is a %v", model.Path, kind)
	}
	if len(paths) == 0 {
		err = t.lines(ctx, stdin)
	} else {
		err = t.files(ctx, paths)
	}
	if err == nil && t.failed > 0 {
		err = fmt.Errorf("%d texts have no answer; their lines say why", t.failed)
	}
	return err
}

// maxLine is the longest line of standard input, in bytes.
const maxLine = 16 << 20

// lines answers for each line of a stream.
func (t *task) lines(ctx context.Context, r io.Reader) error {
	s := bufio.NewScanner(r)
	s.Buffer(nil, maxLine)
	var texts []line
	for s.Scan() {
		if strings.TrimSpace(s.Text()) == "" {
			continue
		}
		if texts = append(texts, line{Text: s.Text()}); len(texts) == batch {
			if err := t.answer(ctx, texts); err != nil {
				return err
			}
			texts = texts[:0]
		}
	}
	return errors.Join(t.answer(ctx, texts), s.Err())
}

// files answers for each file, and for each file of folders. Files that are no texts, and those with names that begin with a point, are left out of
// folders.
func (t *task) files(ctx context.Context, paths []string) error {
	for _, path := range paths {
		err := filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
			switch hidden := name != path && strings.HasPrefix(entry.Name(), "."); {
			case err != nil:
				return err
			case entry.IsDir() && hidden:
				return fs.SkipDir
			case entry.IsDir() || hidden:
				return nil
			}
			data, err := os.ReadFile(name)
			if err != nil || name != path && bytes.IndexByte(data, 0) >= 0 {
				return err
			}
			one := []line{{File: name, Text: string(data)}}
			return t.answer(ctx, one)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// answer writes the answers for some texts, in their order.
func (t *task) answer(ctx context.Context, texts []line) error {
	if err := t.fill(ctx, texts); err != nil {
		if len(texts) == 1 {
			if !ofText(err) {
				return err
			}
			texts[0].Error = err.Error()
			t.failed++
		} else { // one by one, to find the text that has the error
			for i := range texts {
				if err := t.answer(ctx, texts[i:i+1]); err != nil {
					return err
				}
			}
			return nil
		}
	}
	for _, one := range texts {
		if one.File != "" {
			one.Text = ""
		}
		if err := cli.PrintJSON(t.stdout, one); err != nil {
			return err
		}
	}
	return nil
}

// ofText reports whether an error is about a text, so that others may have an answer.
func ofText(err error) bool {
	var param *llama.ParamError
	return errors.Is(err, llama.ErrContextFull) || errors.As(err, &param)
}

// fill computes the answers.
func (t *task) fill(ctx context.Context, texts []line) error {
	switch {
	case len(texts) == 0:
		return nil
	case t.model.Kind() == llama.Tagger:
		for i := range texts {
			found, err := t.join.Entities(ctx, t.model, texts[i].Text)
			if err != nil {
				return err
			}
			texts[i].Entities = make([]entity, len(found))
			for j, e := range found {
				texts[i].Entities[j] = entity{e.Label, e.Start, e.End, texts[i].Text[e.Start:e.End], e.Score}
			}
		}
		return nil
	case t.labels != nil:
		return t.zeroShot(ctx, texts)
	}
	plain := make([]string, len(texts))
	for i := range texts {
		plain[i] = texts[i].Text
	}
	all, err := t.long.Classify(ctx, t.model, plain...)
	for i, labels := range all {
		texts[i].Labels = sorted(labels)
	}
	return err
}
