package infer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/antigravity-go/antigravity/internal/atomicfile"
	"github.com/antigravity-go/antigravity/llama/hub"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
	"github.com/gofrs/flock"
)

// fetch returns the path of a model on this machine. Names and URLs are package hub's. What has an address of one of Beam's file systems
// is fetched to the user's cache folder, once for all processes of the machine, and checked: its size, and its sum if one is given. A file
// that is there with the right size, and sum, is not fetched again.
func fetch(ctx context.Context, address, sum string) (string, error) {
	switch {
	case hub.IsName(address):
		file, err := hub.Get(ctx, address, nil)
		if err == nil && sum != "" {
			err = checkSum(ctx, file, sum)
		}
		return file, err
	case !strings.Contains(address, "://"):
		return address, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir() // a container without a home
	}
	key := sha256.Sum256([]byte(address))
	folder := filepath.Join(cache, "antigravity", "beam", hex.EncodeToString(key[:8]))
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	file := filepath.Join(folder, path.Base(address))
	lock := flock.New(file + ".lock")
	if _, err := lock.TryLockContext(ctx, 200*time.Millisecond); err != nil {
		return "", fmt.Errorf("wait for another process that fetches %s: %w", address, err)
	}
	defer lock.Unlock()
	if err := fetchTo(ctx, file, address, sum); err != nil {
		return "", fmt.Errorf("fetch %s: %w", address, err)
	}
	return file, nil
}

// fetchTo makes file a copy of what an address has.
func fetchTo(ctx context.Context, file, address, sum string) error {
	fs, err := filesystem.New(ctx, address)
	if err != nil {
		return err
	}
	defer fs.Close()
	size, err := fs.Size(ctx, address)
	if err != nil {
		return err
	}
	if info, err := os.Stat(file); err == nil && info.Size() == size {
		if sum == "" || checkSum(ctx, file, sum) == nil {
			return nil
		}
	}
	from, err := fs.OpenRead(ctx, address)
	if err != nil {
		return err
	}
	defer from.Close()
	if err := removeUnfinished(file); err != nil {
		return err
	}
	return atomicfile.Write(file, func(to io.Writer) error {
		h := sha256.New()
		n, err := io.Copy(io.MultiWriter(to, h), io.LimitReader(reader{ctx, from}, size+1))
		switch {
		case err != nil:
			return err
		case n != size:
			return fmt.Errorf("%d bytes came, and it must be %d", n, size)
		case sum == "":
			return nil
		}
		return compareSum(h, file, sum)
	})
}

// removeUnfinished removes what processes left that were killed while they wrote a file. The caller holds the file's lock.
func removeUnfinished(file string) error {
	entries, err := os.ReadDir(filepath.Dir(file))
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if name, ok := atomicfile.Unfinished(entry.Name()); ok && name == filepath.Base(file) {
			if err := os.Remove(filepath.Join(filepath.Dir(file), entry.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkSum reports whether a file has the sum.
func checkSum(ctx context.Context, file, want string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, reader{ctx, f}); err != nil {
		return err
	}
	return compareSum(h, file, want)
}

// compareSum returns an error unless h, which has hashed the whole file, has the sum want.
func compareSum(h hash.Hash, file, want string) error {
	if got := hex.EncodeToString(h.Sum(nil)); !strings.EqualFold(got, want) {
		return fmt.Errorf("the SHA-256 of %s is %s, and it must be %s", file, got, want)
	}
	return nil
}

// reader reads until its context ends.
type reader struct {
	ctx context.Context
	r   io.Reader
}

func (r reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}
