package antigravity

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const modulePath = "github.com/antigravity-go/antigravity"

// floors lists the module's folders from the top down. A package may import packages of lower floors, and of its own floor below its own
// folder or, for internal packages, next to it.
var floors = []string{
	"examples",
	"examples/beam/infer",
	"llama/with", // adapters, modules of their own
	"llama/serve",
	"llama/serve/page",
	"llama/hub",
	"llama/internal/llamatest", // for tests
	"llama",
	"llama/internal/engine", // this room and the next two do not import each other
	"llama/internal/source",
	"llama/internal/sampling",
	"llama/internal/fault",
	"eviction",
	"kvcache",
	"backend/opencl",
	"backend/cpu",
	"backend/backendtest",
	"backend/host",
	"backend",
	"asm",
	"tensor",
	"quant",
	"internal",
}

// llamaRooms begins the folders of the rooms behind package llama.
const llamaRooms = "llama/internal/"

// floorOf returns the index of a folder's floor, or -1. If one floor's folder lies in another's, the inner one counts.
func floorOf(folder string) int {
	found := -1
	for i, floor := range floors {
		if (folder == floor || strings.HasPrefix(folder, floor+"/")) && (found < 0 || len(floor) > len(floors[found])) {
			found = i
		}
	}
	return found
}

// allowed reports whether a package in one folder may import a package in another.
func allowed(from, to string) bool {
	f, t := floorOf(from), floorOf(to)
	switch {
	case f < 0 || t < 0:
		return false
	case floors[f] == "asm" && floors[t] == "tensor":
		return false // kernels are loops over slices
	case floors[f] == "backend" && floors[t] == "asm":
		return false // the contract knows no instructions
	case floors[t] == "internal" && floors[f] != "internal":
		return true
	case strings.HasPrefix(floors[t], llamaRooms) && f != t:
		return from == "llama" || strings.HasPrefix(from, llamaRooms) && floors[t] == llamaRooms+"fault"
	case floors[f] == "internal":
		// Formats name element types, and arithmetic is shared: nothing above tensor.
		return floors[t] == "internal" || floors[t] == "tensor" || floors[t] == "quant"
	case f == t: // a folder above, or one for internal use that Go lets it import
		around, _, internal := strings.Cut(to, "/internal/")
		return strings.HasPrefix(from, to+"/") || internal && strings.HasPrefix(from+"/", around+"/")
	}
	return f < t
}

// networked reports whether packages in a folder may import the network. Programs that import llama alone do not link the network, which
// is several MB: such a program has 9 MB without its model.
func networked(folder string) bool {
	for _, above := range []string{"examples", "llama/serve", "llama/hub", "llama/with/otel", "internal/hubtest"} {
		if folder == above || strings.HasPrefix(folder, above+"/") {
			return true
		}
	}
	return false
}

func TestImportsPointDown(t *testing.T) {
	err := filepath.WalkDir(".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		folder := filepath.ToSlash(filepath.Dir(file))
		switch {
		case entry.IsDir() && file != "." && strings.HasPrefix(entry.Name(), "."), entry.IsDir() && entry.Name() == "testdata":
			return filepath.SkipDir
		case entry.IsDir() || folder == "." || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go"):
			return nil
		}
		if floorOf(folder) < 0 {
			t.Errorf("%s lies on no floor: add its folder to the list, in its place", file)
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range parsed.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			to, ours := strings.CutPrefix(name, modulePath+"/")
			if ours && !allowed(folder, to) {
				t.Errorf("%s imports %s, which is not below it", file, to)
			}
			if (name == "net" || strings.HasPrefix(name, "net/http") || strings.HasPrefix(name, "crypto/tls")) && !networked(folder) {
				t.Errorf("%s imports %s: programs that only compute would link it, too", file, name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestFloorsRefuseUpwardImports(t *testing.T) {
	for _, c := range []struct {
		from, to string
		want     bool
	}{
		{"llama", "kvcache", true},
		{"llama/pebble", "llama", true},
		{"llama", "llama/pebble", false},
		{"llama", "llama/internal/engine", true},
		{"llama/internal/engine", "llama", false},
		{"llama/internal/engine", "llama/internal/source", false},
		{"llama/internal/source", "llama/internal/engine", false},
		{"llama/internal/source", "llama/internal/sampling", false},
		{"llama/internal/sampling", "llama/internal/engine", false},
		{"llama/internal/engine", "llama/internal/fault", true},
		{"llama/internal/engine", "kvcache", true},
		{"llama/constrain", "llama/internal/engine", false},
		{"llama/serve", "llama/constrain", true},
		{"llama/serve/internal/wire", "llama", true},
		{"llama/serve", "llama/serve/internal/wire", true},
		{"llama/serve", "llama/serve/page", true},
		{"llama/serve/page", "llama/serve", false},
		{"llama/serve", "llama/serve/metrics", false},
		{"llama/serve/metrics", "llama/serve", true},
		{"llama/constrain", "llama/serve", false},
		{"llama/with", "llama/constrain", true},
		{"llama/with/eino", "llama/with", true},
		{"llama/with/otel", "llama/serve", true},
		{"llama/serve", "llama/with", false},
		{"llama/hub", "internal/checkpoint", true},
		{"llama", "llama/hub", false},
		{"llama/hub", "llama/serve", false},
		{"llama", "llama/serve", false},
		{"kvcache", "llama", false},
		{"kvcache", "eviction", false},
		{"backend", "backend/cpu", false},
		{"backend", "asm", false},
		{"backend/cpu", "backend", true},
		{"backend/cpu", "backend/host", true},
		{"backend/host", "backend", true},
		{"backend", "backend/host", false},
		{"backend/host", "backend/backendtest", false},
		{"backend/backendtest", "backend/host", true},
		{"backend/backendtest", "backend/cpu", false},
		{"asm", "quant", true},
		{"asm", "tensor", false},
		{"tensor", "asm", false},
		{"tensor", "internal/mmap", true},
		{"internal/gguf", "tensor", true},
		{"internal/gguf", "backend", false},
		{"examples/chat", "llama/pebble", true},
		{"examples/chat", "examples/internal/cli", true},
		{"examples/tools/bench", "examples/internal/cli", true},
		{"examples/chat", "examples/tools/internal/machine", false},
		{"examples/tools/bench", "examples/chat", false},
		{"llama", "examples/chat", false},
		{"examples/beam/internal/input", "examples/beam/infer", true},
		{"examples/beam/infer", "examples/internal/cli", false},
	} {
		if got := allowed(c.from, c.to); got != c.want {
			t.Errorf("import of %s by %s: allowed is %v, want %v", c.to, c.from, got, c.want)
		}
	}
}
