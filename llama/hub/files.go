package hub

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/antigravity-go/antigravity/internal/atomicfile"
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

// replace writes a file, and its folders. The file appears when it is whole and on the disk.
func replace(path string, write func(io.Writer) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	return atomicfile.Write(path, write)
}

// hashFile returns the SHA-256 of a file, in small letters.
func hashFile(ctx context.Context, path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	err = copyUntil(ctx, h, f)
	return hex.EncodeToString(h.Sum(nil)), err
}

// copyUntil copies until the reader or the context ends.
func copyUntil(ctx context.Context, to io.Writer, from io.Reader) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := io.CopyN(to, from, 16<<20); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// copyFile copies a file, which appears when it is whole.
func copyFile(ctx context.Context, from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	return replace(to, func(out io.Writer) error { return copyUntil(ctx, out, in) })
}
