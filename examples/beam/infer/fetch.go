package infer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

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
	part := file + ".part"
	defer os.Remove(part)
	to, err := os.Create(part)
	if err != nil {
		return err
	}
	n, err := io.Copy(to, io.LimitReader(reader{ctx, from}, size+1))
	if err = errors.Join(err, to.Sync(), to.Close()); err != nil {
		return err
	}
	if n != size {
		return fmt.Errorf("%d bytes came, and it must be %d", n, size)
	}
	if sum != "" {
		if err := checkSum(ctx, part, sum); err != nil {
			return err
		}
	}
	return os.Rename(part, file)
}

// checkSum tells whether a file has the sum.
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
