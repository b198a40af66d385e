package serve

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/antigravity-go/antigravity/llama"
)

// File describes a model that is loaded from a .gguf file or a Hugging Face folder when it is first asked for. Its Bytes are the size of
// the weights' files. If name is "", the model gets the name of the file or folder, without ".gguf". File does not check that the file
// exists: the first request, or Server.Preload, does.
func File(name, path string, o *llama.LoadOptions) Model {
	if name == "" {
		name = strings.TrimSuffix(filepath.Base(filepath.Clean(path)), ".gguf")
	}
	return Model{
		Name: name, Bytes: weightsSize(path), Inspect: func() (*llama.Report, error) { return llama.Inspect(path) },
		Load: func(ctx context.Context) (*llama.Model, error) { return llama.LoadContext(ctx, path, o) },
	}
}

// weightsSize returns the bytes of a .gguf file, or of all files of weights in a folder. It returns 0 if there are no such files.
func weightsSize(path string) (bytes int64) {
	files := []string{path}
	if inFolder, _ := fs.Glob(os.DirFS(path), "*.safetensors"); len(inFolder) > 0 {
		files = files[:0]
		for _, name := range inFolder {
			files = append(files, filepath.Join(path, name))
		}
	}
	for _, file := range files {
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
			bytes += info.Size()
		}
	}
	return bytes
}
