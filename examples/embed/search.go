package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
)

// A search makes a list of candidates by vectors, by words, or by both. With -by both, join puts the two lists together: a passage scores
// 1/(60 + its place) in each list that has it. With -rerank, a second model then reads the best passages with the question and orders them.
//
//	by vectors  1. a.md:10-20   2. b.md:1-9   3. c.md:5-8
//	by words    1. c.md:5-8     2. a.md:10-20
//	by both     1. a.md:10-20   1/61 + 1/62 = 0.0325
//	            2. c.md:5-8     1/63 + 1/61 = 0.0323
//	            3. b.md:1-9     1/62        = 0.0161

const aboutSearch = `
embed search QUESTION prints the passages of an index that fit a question best, with their files, lines and scores. With -rerank a second
model reads the best of them with the question, and puts them in order.

  embed search "How do I close a channel?" -in docs
  embed search "How do I close a channel?" -in docs -rerank hf:owner/a-reranker`

// What a search compares.
const (
	byVectors = "vectors"
	byWords   = "words"
	byBoth    = "both"
)

// joined is how many passages of each list count if both are compared.
const joined = 100

// searching is what the command search was asked for.
type searching struct {
	in, path       string // the folder, and its index
	question       string
	by             string
	show, among    int
	around         int
	model, reranks cli.Model
	stdout, stderr io.Writer
}

// runSearch is the command search.
func runSearch(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	s := &searching{stdout: stdout, stderr: stderr}
	f := cli.NewFlags("embed search", aboutSearch)
	f.Group("Search", func() {
		f.StringVar(&s.in, "in", "", "`folder` that was indexed; unless given, the one that the program runs in, or the nearest above it that has an index")
		f.StringVar(&s.path, "index", "", "`path` of the index; unless given, "+indexName+" in the folder")
		f.StringVar(&s.by, "by", byVectors, "`what` is compared: "+byVectors+", "+byWords+" (no model is needed), or "+byBoth)
		f.IntVar(&s.show, "n", 5, "`number` of passages to print")
		f.IntVar(&s.around, "context", 0, "`number` of lines to print before and after each passage")
		f.StringVar(&s.reranks.Path, "rerank", "", "`path` of a reranker, "+cli.Models+"; none: passages stay in the order of their vectors")
		f.IntVar(&s.among, "among", 30, "`number` of passages that the reranker reads")
	})
	f.Group("Model", func() { s.model.ComputeFlags(f) })
	words, err := f.ParseMixed(args, stdout)
	s.question = strings.TrimSpace(strings.Join(words, " "))
	switch {
	case err != nil:
		return err
	case s.question == "":
		return cli.Usagef("what to search for is missing")
	case s.by != byVectors && s.by != byWords && s.by != byBoth:
		return cli.Usagef("-by %.40q; it must be %s, %s or %s", s.by, byVectors, byWords, byBoth)
	case s.show < 1 || s.among < 1 || s.around < 0:
		return cli.Usagef("-n and -among must be 1 or more, and -context not negative")
	}
	x, err := s.find()
	if err != nil {
		return err
	}
	hits, err := s.candidates(ctx, x)
	if err != nil {
		return err
	}
	if s.reranks.Path != "" {
		if hits, err = s.rerank(ctx, x, hits); err != nil {
			return err
		}
	}
	return s.print(x, hits[:min(s.show, len(hits))])
}

// find reads the index.
func (s *searching) find() (*index, error) {
	if s.path != "" {
		x, err := readIndex(s.path)
		if err == nil {
			s.in = cmp.Or(s.in, x.Folder, filepath.Dir(s.path))
		}
		return x, err
	}
	if s.in != "" {
		s.path = filepath.Join(s.in, indexName)
		x, err := readIndex(s.path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s has no index; make one: embed index %s", s.in, s.in)
		}
		return x, err
	}
	folder, err := filepath.Abs(".")
	if err != nil {
		return nil, err
	}
	for {
		s.in, s.path = folder, filepath.Join(folder, indexName)
		x, err := readIndex(s.path)
		if !errors.Is(err, fs.ErrNotExist) {
			return x, err
		}
		above := filepath.Dir(folder)
		if above == folder {
			return nil, errors.New("there is no index here or above; make one: embed index FOLDER")
		}
		folder = above
	}
}

// candidates returns the passages that fit best, as many as are printed or read by a reranker.
func (s *searching) candidates(ctx context.Context, x *index) ([]hit, error) {
	s.model.Path, s.reranks.Backend, s.reranks.Threads = x.Model, s.model.Backend, s.model.Threads
	n := s.show
	if s.reranks.Path != "" {
		n = max(n, s.among)
	}
	switch s.by {
	case byVectors:
		return s.nearest(ctx, x, n)
	case byWords:
		return s.sharing(x, n)
	}
	near, err := s.nearest(ctx, x, max(n, joined))
	if err != nil {
		return nil, err
	}
	share, err := s.sharing(x, max(n, joined))
	return join(n, near, share), err
}

// sharing returns the n passages that share the rarest words with the question.
func (s *searching) sharing(x *index, n int) ([]hit, error) {
	var texts []string
	c := &cutter{tokens: math.MaxInt, count: func(text string) int { return len(text) }}
	for _, f := range x.Files {
		lines, _, err := s.lines(f)
		if err != nil {
			return nil, err
		}
		for _, p := range f.Passages {
			text := "" // of lines that are gone
			if p.Last = min(p.Last, len(lines)); p.First <= p.Last {
				text = c.text(lines, p)
			}
			texts = append(texts, text)
		}
	}
	return rankWords(texts, s.question, n), nil
}

// nearest returns the n passages with the vectors nearest to the question's.
func (s *searching) nearest(ctx context.Context, x *index, n int) ([]hit, error) {
	if s.model.Embedded() {
		fmt.Fprint(s.stderr, weak)
	}
	e, err := open(ctx, &s.model, s.stderr)
	if err != nil {
		return nil, fmt.Errorf("the model of the index: %w", err)
	}
	defer e.close()
	print, err := e.model.Fingerprint()
	if err != nil {
		return nil, err
	}
	if print != x.Fingerprint {
		return nil, fmt.Errorf("%s was made with other weights than those of %s now; make it again: embed index %s -model %s", s.path, x.Model, s.in, x.Model)
	}
	wanted, err := e.embed(ctx, question, []string{s.question})
	if err != nil {
		return nil, err
	}
	return nearest(x.vectors(), wanted[0], n), nil
}

// rerank puts passages in the order of a reranker's scores.
func (s *searching) rerank(ctx context.Context, x *index, hits []hit) ([]hit, error) {
	model, closeModel, err := s.reranks.Load(ctx, s.stderr)
	if err != nil {
		return nil, err
	}
	defer closeModel()
	var texts []string
	var there []hit
	for _, h := range hits {
		f, p := x.at(h.at)
		lines, _, err := s.lines(f)
		if err != nil {
			return nil, err
		}
		room := model.LongestText() - 1
		c := &cutter{tokens: max(room, 1), count: func(text string) int {
			tokens, _ := model.Tokenizer().EncodePair(s.question, text)
			return len(tokens)
		}}
		if p.Last = min(p.Last, len(lines)); p.First <= p.Last {
			texts, there = append(texts, c.text(lines, p)), append(there, h)
		}
	}
	scores, err := model.Rerank(ctx, s.question, texts...)
	if err != nil {
		return nil, fmt.Errorf("-rerank: %w", err)
	}
	for i := range there {
		there[i].score = scores[i]
	}
	slices.SortStableFunc(there, func(a, b hit) int { return cmp.Compare(b.score, a.score) })
	return there, nil
}

// lines returns the lines of a file as it is now, and whether it has changed since it was indexed.
func (s *searching) lines(f *file) (lines []string, changed bool, err error) {
	path := filepath.Join(s.in, filepath.FromSlash(f.Path))
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, true, nil
	}
	if err != nil {
		return nil, false, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, false, err
	}
	lines, _ = linesOf(data)
	return lines, info.Size() != f.Size || !info.ModTime().Equal(f.Modified), nil
}

// print prints passages with their lines.
func (s *searching) print(x *index, hits []hit) error {
	if len(hits) == 0 {
		fmt.Fprintln(s.stderr, "no passage fits")
	}
	for i, h := range hits {
		f, p := x.at(h.at)
		lines, changed, err := s.lines(f)
		if err != nil {
			return err
		}
		note := ""
		if changed {
			note = "  (changed since it was indexed)"
		}
		if i > 0 {
			fmt.Fprintln(s.stdout)
		}
		fmt.Fprintf(s.stdout, "%d. %.3f  %s:%d-%d%s\n", i+1, h.score, cli.Printable(filepath.Join(s.in, filepath.FromSlash(f.Path))), p.First, p.Last, note)
		for n := max(p.First-s.around, 1); n <= min(p.Last+s.around, len(lines)); n++ {
			fmt.Fprintf(s.stdout, "%6d  %s\n", n, cli.Printable(lines[n-1]))
		}
	}
	return nil
}
