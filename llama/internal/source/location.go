package source

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/antigravity-go/antigravity/llama/internal/fault"
)

// Location names the files of a model, an adapter or a tokenizer: a folder, and the name of one of its files; "" for the folder as a whole.
type Location struct {
	files files
	name  string
}

// stat is os.Stat for what a caller names as a model, a tokenizer or an adapter. The error says what a path is that was meant as a name on
// the Hugging Face Hub.
func stat(path string) (os.FileInfo, error) {
	info, err := os.Stat(path)
	if err != nil && !errors.Is(err, fs.ErrPermission) && likeHubName(path) {
		err = fmt.Errorf("%w. A model of the Hugging Face Hub is fetched first: hub.Get(ctx, \"hf:owner/name\", nil) of package "+
			"github.com/antigravity-go/antigravity/llama/hub returns the path of its files", err)
	}
	return info, err
}

// likeHubName reports whether a path looks like a name that package hub fetches, or like owner/name or the name alone, as people write it
// elsewhere.
func likeHubName(path string) bool {
	path = strings.ToLower(path)
	for _, prefix := range []string{"hf:", "https:", "http:"} {
		if strings.HasPrefix(path, prefix) {
			return true
		}
	}
	owner, name, both := strings.Cut(path, "/")
	if !both {
		name = owner
	}
	return owner != "" && name != "" && !strings.ContainsAny(name, `/\`) && !strings.HasPrefix(owner, ".") && !strings.HasSuffix(name, ".gguf")
}

// Locate returns the Location of a path's files.
func Locate(path string) (Location, error) {
	info, err := stat(path)
	if err != nil {
		return Location{}, err
	}
	if info.IsDir() {
		return Location{folder(path), ""}, nil
	}
	if !info.Mode().IsRegular() {
		return Location{}, fmt.Errorf("neither a directory nor a regular file but %v: %w", info.Mode().Type(), fault.ErrUnsupported)
	}
	dir, name := filepath.Split(path)
	return Location{folder(dir), name}, nil
}

// LocateIn is Locate in a file system. Its files are copied, not mapped.
func LocateIn(fsys fs.FS, name string) (Location, error) {
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return Location{}, err
	}
	dir, file := name, ""
	if !info.IsDir() {
		dir, file = path.Split(name)
		dir = path.Clean(dir)
	}
	sub, err := fs.Sub(fsys, dir)
	if err != nil {
		return Location{}, err
	}
	return Location{fileSystem{sub}, file}, nil
}
