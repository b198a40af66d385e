package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/schollz/progressbar/v3"
)

// An index is renewed file by file. A file with the size and time of before, or with the same contents, keeps its vectors; any other is cut
// into passages, which are embedded some at a time. Of 100 files, one changed and one touched:
//
//	98 files   the same size and time        not read
//	1 file     another time, the same sum    read, keeps its vectors
//	1 file     another sum                   read, cut into 150 passages: three calls embed 64, 64 and 22

const aboutIndex = `
embed index [FOLDER] makes the index of a folder's texts, or renews it: what has not changed since is not computed again, unless the model
or -tokens are others. Without FOLDER it is the one that the program runs in. Ctrl-C keeps what is done.

  embed index docs -model hf:owner/an-embedding-model

Hidden files and folders, node_modules and what is no text are left out.`

// The defaults of flags.
const (
	defaultTokens = 200
	defaultSize   = 1 << 20
	promptRoom    = 32 // tokens that a model may put before a passage, to say what it is
)

// indexing is what the command index was asked for.
type indexing struct {
	folder, path string // of the texts, and of the index
	model        cli.Model
	tokens       int
	size         int64
	stderr       io.Writer
}

// runIndex is the command index.
func runIndex(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	j := &indexing{stderr: stderr}
	f := cli.NewFlags("embed index", aboutIndex)
	f.Group("Index", func() {
		f.StringVar(&j.path, "index", "", "`path` of the index; unless given, "+indexName+" in the folder")
		f.IntVar(&j.tokens, "tokens", defaultTokens, "`number` of tokens that a passage has at most")
		f.Int64Var(&j.size, "size", defaultSize, "`bytes` that a file may have; larger ones are left out")
	})
	j.model.Flags(f)
	folders, err := f.ParseMixed(args, stdout)
	switch {
	case err != nil:
		return err
	case len(folders) > 1:
		return cli.Usagef("%d folders; an index is of one", len(folders))
	case j.tokens < 8:
		return cli.Usagef("-tokens %d: a passage must have 8 at least", j.tokens)
	}
	j.folder = "."
	if len(folders) == 1 {
		j.folder = folders[0]
	}
	j.path = cmp.Or(j.path, filepath.Join(j.folder, indexName))
	began := time.Now()
	x, did, err := j.renew(ctx, f.Given("model"))
	if x == nil {
		return err
	}
	if err != nil && did.computed == 0 { // nothing came of it
		return err
	}
	if failed := x.write(j.path); failed != nil {
		return errors.Join(err, failed)
	}
	if err != nil {
		fmt.Fprintf(stderr, "what was done until then is in %s: the next index goes on there\n", j.path)
		return err
	}
	fmt.Fprintf(stdout, "%s: %d files with %d passages; %d files are new or changed, %d are gone; %.1f s\n",
		cli.Printable(j.path), len(x.Files), len(x.vectors()), did.computed, did.gone, time.Since(began).Seconds())
	return nil
}

// did counts what renew did.
type did struct{ computed, gone int }

// renew returns the index of the folder as it is now. It keeps what it can of the index before. If the context ends, it returns the error
// and the index as far as it got. given reports whether the model was named: otherwise it is that of the index before.
func (j *indexing) renew(ctx context.Context, given bool) (x *index, d did, err error) {
	old, err := readIndex(j.path)
	if errors.Is(err, fs.ErrNotExist) {
		old = &index{}
	} else if err != nil {
		return nil, d, err
	}
	if !given && old.Model != "" {
		j.model.Path = old.Model
	}
	list, err := j.list()
	if err != nil {
		return nil, d, err
	}
	if j.model.Embedded() {
		fmt.Fprint(j.stderr, weak)
	}
	e, err := open(ctx, &j.model, j.stderr)
	if err != nil {
		return nil, d, err
	}
	defer e.close()
	t := e.model.Tokenizer()
	c := &cutter{tokens: max(1, min(j.tokens, e.model.LongestText()-len(t.EncodeWhole(""))-promptRoom)), count: func(text string) int { return len(t.Encode(text)) }}
	if x, err = newIndex(e, j, c.tokens); err != nil {
		return nil, d, err
	}
	before := map[string]*file{}
	if old.Fingerprint == x.Fingerprint && old.Tokens == x.Tokens && old.Dimensions == x.Dimensions {
		for _, f := range old.Files {
			before[f.Path] = f
		}
	}
	bar, told := progress(j.stderr, len(list)), tenths(j.stderr, len(list))
	for i, f := range list {
		known := before[f.Path]
		computed, err := j.add(ctx, e, c, f, known)
		if unread := new(fs.PathError); errors.As(err, &unread) {
			fmt.Fprintf(j.stderr, "left out: %s\n", cli.Printable(err.Error()))
			continue
		}
		if err != nil {
			bar.Clear()
			x.keep(list[i:], before)
			return x, d, err
		}
		x.Files = append(x.Files, f)
		if computed {
			d.computed++
		}
		bar.Add(1)
		told(i + 1)
	}
	bar.Finish()
	there := map[string]bool{}
	for _, f := range list {
		there[f.Path] = true
	}
	for _, f := range old.Files {
		if !there[f.Path] {
			d.gone++
		}
	}
	return x, d, nil
}

// keep adds files as they were before, if they were known.
func (x *index) keep(list []*file, before map[string]*file) {
	for _, f := range list {
		if known := before[f.Path]; known != nil {
			x.Files = append(x.Files, known)
		}
	}
}

// newIndex returns an index without files.
func newIndex(e *embedder, j *indexing, tokens int) (*index, error) {
	print, err := e.model.Fingerprint()
	if err != nil {
		return nil, err
	}
	v, err := e.embed(context.Background(), document, []string{"a"})
	if err != nil {
		return nil, err
	}
	x := &index{Model: cmp.Or(j.model.Path, "pebble"), Fingerprint: print, Tokens: tokens, Dimensions: len(v[0])}
	if filepath.Clean(j.path) != filepath.Join(j.folder, indexName) {
		x.Folder, err = filepath.Abs(j.folder)
	}
	return x, err
}

// list returns the files that may be texts, in the order of their paths, without their contents.
func (j *indexing) list() (list []*file, err error) {
	err = filepath.WalkDir(j.folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil && path != j.folder {
			fmt.Fprintf(j.stderr, "left out: %s\n", cli.Printable(err.Error()))
			return nil
		}
		if err != nil {
			return err
		}
		name := entry.Name()
		switch {
		case path != j.folder && (strings.HasPrefix(name, ".") || name == "node_modules"):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case !entry.Type().IsRegular():
			return nil
		}
		info, err := entry.Info()
		if err != nil || info.Size() > j.size || info.Size() == 0 {
			return err
		}
		below, err := filepath.Rel(j.folder, path)
		if err == nil {
			list = append(list, &file{Path: filepath.ToSlash(below), Size: info.Size(), Modified: info.ModTime()})
		}
		return err
	})
	return list, err
}

// together is how many passages are embedded by one call: enough for passes to be full, and few enough to stop soon.
const together = 64

// add reads a file and makes its vectors, unless the file is as before. known is the file's entry in the index before, or nil. computed
// reports whether vectors were made.
func (j *indexing) add(ctx context.Context, e *embedder, c *cutter, f, known *file) (computed bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	keep := func() { f.Sum, f.Passages, f.vectors = known.Sum, known.Passages, known.vectors }
	if known != nil && known.Size == f.Size && known.Modified.Equal(f.Modified) {
		keep()
		return false, nil
	}
	data, err := os.ReadFile(filepath.Join(j.folder, filepath.FromSlash(f.Path)))
	if err != nil {
		return false, err
	}
	f.Sum = sha256.Sum256(data)
	if known != nil && known.Sum == f.Sum {
		keep()
		return false, nil
	}
	lines, ok := linesOf(data)
	if !ok {
		return false, nil // it stays in the index without passages, so that it is not read again
	}
	f.Passages = c.cut(lines)
	texts := make([]string, len(f.Passages))
	for i, p := range f.Passages {
		texts[i] = c.text(lines, p)
	}
	for len(texts) > 0 {
		n := min(together, len(texts))
		vectors, err := e.embed(ctx, document, texts[:n])
		if err != nil {
			return false, fmt.Errorf("%s: %w", f.Path, err)
		}
		f.vectors, texts = append(f.vectors, vectors...), texts[n:]
	}
	return true, nil
}

// worthTelling is the number of files below which they are read before anyone wonders.
const worthTelling = 20

// tenths returns a function that writes a line for each tenth of the files if w is no terminal, which has a bar instead.
func tenths(w io.Writer, files int) func(done int) {
	if cli.IsTerminal(w) || files < worthTelling {
		return func(int) {}
	}
	return func(done int) {
		if done*10/files > (done-1)*10/files {
			fmt.Fprintf(w, "%d of %d files\n", done, files)
		}
	}
}

// progress returns a bar on w that counts files; it shows nothing if w is no terminal.
func progress(w io.Writer, files int) *progressbar.ProgressBar {
	if !cli.IsTerminal(w) {
		return progressbar.DefaultSilent(int64(files))
	}
	return progressbar.NewOptions(files, progressbar.OptionSetWriter(w), progressbar.OptionSetDescription("files"), progressbar.OptionShowCount(),
		progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish())
}
