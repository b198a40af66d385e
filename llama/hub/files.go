package hub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// readFile reads a file of bounded size.
func readFile(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s has more than %d bytes", path, limit)
	}
	return data, err
}

// writeFile writes a small file, and its folders: readers see the old content, or the new one.
func writeFile(path string, data []byte) error {
	return replace(path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// replace writes a file beside its place and moves it there when it is whole.
func replace(path string, write func(io.Writer) error) (err error) {
	folder, name := filepath.Split(path)
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	beside := filepath.Join(folder, fmt.Sprintf("%s.%08x.tmp", name, rand.Uint32()))
	f, err := os.OpenFile(beside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666) // and not os.CreateTemp, whose files are its user's alone
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(beside)
		}
	}()
	if err = errors.Join(write(f), f.Close()); err != nil {
		return err
	}
	return os.Rename(beside, path)
}

// copyFile copies a file, which appears when it is whole.
func copyFile(ctx context.Context, from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	return replace(to, func(out io.Writer) error {
		for {
			if err := ctx.Err(); err != nil {
				return err
			}
			if _, err := io.CopyN(out, in, 16<<20); err == io.EOF {
				return nil
			} else if err != nil {
				return err
			}
		}
	})
}
