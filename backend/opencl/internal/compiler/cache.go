//go:build opencl && (amd64 || arm64)

package compiler

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/antigravity-go/antigravity/backend/opencl/internal/cl"
)

// Cache keeps compiled programs in files, one for each combination of source, options, device, driver and platform; the combination's
// hash is the file's name. A file begins with the hash of what follows: drivers are known to die of damaged binaries. Faults of the cache
// cost time and nothing else.
type Cache struct {
	Folder string // "": no cache
	device string // what identifies device, driver and platform
}

// NewCache makes the cache of a device in a folder; "": no cache.
func NewCache(folder string, d *cl.Device) *Cache {
	return &Cache{folder, fmt.Sprintf("%q %q %q %q %q", d.Platform, d.Vendor, d.Name, d.Version, d.Driver)}
}

var errNotCached = errors.New("not in the cache")

// Path returns the file for what the parts name.
func (c *Cache) Path(extension string, parts ...string) string {
	h := sha256.New()
	for _, part := range append(parts, c.device) {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return filepath.Join(c.Folder, hex.EncodeToString(h.Sum(nil)[:16])+extension)
}

// maxCached bounds the size of a file that is read, in bytes.
const maxCached = 256 << 20

// Read returns the contents of a file of the cache.
func (c *Cache) Read(path string) ([]byte, error) {
	if c.Folder == "" {
		return nil, errNotCached
	}
	if info, err := os.Stat(path); err != nil || info.Size() > maxCached {
		return nil, errNotCached
	}
	data, err := os.ReadFile(path)
	if err != nil || len(data) < sha256.Size {
		return nil, errNotCached
	}
	sum, data := data[:sha256.Size], data[sha256.Size:]
	if want := sha256.Sum256(data); !bytes.Equal(sum, want[:]) {
		return nil, errNotCached
	}
	return data, nil
}

// Write stores a file, whole or not at all.
func (c *Cache) Write(path string, data []byte) error {
	if c.Folder == "" {
		return nil
	}
	if err := os.MkdirAll(c.Folder, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(c.Folder, "new-*")
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	_, err = f.Write(append(sum[:], data...))
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// load makes a program of its binary.
func (c *Cache) load(context *cl.Context, source, options string) (*cl.Program, error) {
	data, err := c.Read(c.Path(".bin", source, options))
	if err != nil {
		return nil, err
	}
	return context.Load(data, options)
}

// store keeps a program's binary if the driver gives one.
func (c *Cache) store(p *cl.Program, source, options string) {
	if c.Folder == "" {
		return
	}
	if data, err := p.Binary(); err == nil {
		_ = c.Write(c.Path(".bin", source, options), data) // without a cache it goes on, only slower the next time
	}
}
