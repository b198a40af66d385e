//go:build opencl && (amd64 || arm64)

package opencl

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

// cacheVariable is the environment variable that names the folder for compiled kernels, or "off".
const cacheVariable = "ANTIGRAVITY_OPENCL_CACHE"

// binaryCache keeps compiled programs in files, one for each combination of source, options, device, driver and platform; the combination's
// hash is the file's name. A file begins with the hash of what follows: drivers are known to die of damaged binaries. Faults of the cache
// cost time and nothing else.
type binaryCache struct {
	folder string // "": no cache
	device string // what identifies device, driver and platform
}

func newBinaryCache(folder string, d *cl.Device) binaryCache {
	return binaryCache{cacheFolder(folder, d), fmt.Sprintf("%q %q %q %q %q", d.Platform, d.Vendor, d.Name, d.Version, d.Driver)}
}

var errNotCached = errors.New("not in the cache")

// path returns the file for what the parts name.
func (c *binaryCache) path(extension string, parts ...string) string {
	h := sha256.New()
	for _, part := range append(parts, c.device) {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return filepath.Join(c.folder, hex.EncodeToString(h.Sum(nil)[:16])+extension)
}

// maxCached bounds the size of a file that is read, in bytes.
const maxCached = 256 << 20

// read returns the contents of a file of the cache.
func (c *binaryCache) read(path string) ([]byte, error) {
	if c.folder == "" {
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

// write stores a file, whole or not at all.
func (c *binaryCache) write(path string, data []byte) error {
	if c.folder == "" {
		return nil
	}
	if err := os.MkdirAll(c.folder, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(c.folder, "new-*")
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
func (c *binaryCache) load(context *cl.Context, source, options string) (*cl.Program, error) {
	data, err := c.read(c.path(".bin", source, options))
	if err != nil {
		return nil, err
	}
	return context.Load(data, options)
}

// store keeps a program's binary if the driver gives one.
func (c *binaryCache) store(p *cl.Program, source, options string) {
	if c.folder == "" {
		return
	}
	if data, err := p.Binary(); err == nil {
		_ = c.write(c.path(".bin", source, options), data) // without a cache it goes on, only slower the next time
	}
}

// cacheFolder returns where compiled kernels are kept, "" for nowhere. pocl keeps what it has compiled in a cache of its own: unless somebody
// names a folder, its binaries are not stored, for which it would compile every kernel of a program once more, those that nobody runs too.
func cacheFolder(wanted string, d *cl.Device) string {
	if wanted == "" {
		wanted = os.Getenv(cacheVariable)
	}
	switch {
	case wanted == "off", wanted == "" && d.Platform == poclPlatform:
		return ""
	case wanted != "":
		return wanted
	}
	user, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(user, "antigravity", "opencl")
}

// poclPlatform is the name of pocl's platform.
const poclPlatform = "Portable Computing Language"
