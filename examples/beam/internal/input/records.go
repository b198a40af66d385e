package input

import (
	"context"
	"io"
	"iter"
	"os"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
)

// records returns the records of a file as JSON texts, one after the other. The file's name says what it is: .parquet, or else JSON lines,
// with .gz compressed. An error is the last element.
func records(ctx context.Context, file string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		fs, err := filesystem.New(ctx, file)
		if err != nil {
			yield("", err)
			return
		}
		defer fs.Close()
		r, err := fs.OpenRead(ctx, file)
		if err != nil {
			yield("", err)
			return
		}
		defer r.Close()
		read := jsonLines
		if strings.HasSuffix(file, ".parquet") {
			read = parquetRows
		}
		for record, err := range read(r, file) {
			if err == nil {
				err = context.Cause(ctx)
			}
			if !yield(record, err) || err != nil {
				return
			}
		}
	}
}

// local returns the contents of r as a file of this machine, for random access. If the file is a copy, close removes it.
func local(r io.Reader) (f *os.File, close func(), err error) {
	if f, ok := r.(*os.File); ok {
		return f, func() {}, nil
	}
	f, err = os.CreateTemp("", "antigravity-*.parquet")
	if err != nil {
		return nil, nil, err
	}
	close = func() {
		f.Close()
		os.Remove(f.Name())
	}
	if _, err := io.Copy(f, r); err != nil {
		close()
		return nil, nil, err
	}
	return f, close, nil
}
