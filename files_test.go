package antigravity

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// creators are the functions of package os that make a file, or change one, or give one its name.
var creators = map[string]bool{"Create": true, "CreateTemp": true, "OpenFile": true, "WriteFile": true, "Rename": true, "Truncate": true}

// createsItself names the code that writes files without internal/atomicfile, and why.
var createsItself = map[string]string{
	"asm/asmgen/main.go":                               "source code, under version control",
	"backend/opencl/internal/compiler/cache.go":        "a cache, whose files have sums",
	"examples/beam/internal/input/records.go":          "a temporary file",
	"examples/browser/main.go":                         "a page that is made anew as a whole",
	"examples/internal/timeline/file.go":               "a trace, which is open while the program runs",
	"examples/ocr/pages.go":                            "a program to copy, which writes a temporary file and renames it",
	"examples/tools/internal/runs/folder.go":           "names that the suite knows, to remove those of a suite that was killed",
	"examples/tools/maskbench/file.go":                 "a temporary file",
	"examples/tools/maskbench/main.go":                 "a profile",
	"examples/tools/peers/main.go":                     "results, to which lines are added",
	"examples/tools/suite/internal/target/adb.go":      "a temporary file",
	"examples/tools/suite/internal/target/devicetest/": "for tests",
	"examples/tools/suite/results.go":                  "a log, to which lines are added",
	"internal/atomicfile/":                             "the package itself",
	"internal/fixture/":                                "copies for tests",
	"internal/scriptedmodel/":                          "models for tests",
	"internal/mmap/":                                   "opens to read",
	"llama/hub/":                                       "a cache of its own rules, which goes on with files that were cut off",
	"llama/serve/internal/openapi/extract.go":          "a generated file, under version control",
}

// TestFilesAppearWhole finds code that writes files on its own: a file that people keep is written by internal/atomicfile, so that
// nobody ever sees half of it.
func TestFilesAppearWhole(t *testing.T) {
	used := map[string]bool{}
	err := filepath.WalkDir(".", func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && file != "." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata"):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go"):
			return nil
		}
		file = filepath.ToSlash(file)
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			selected, ok := n.(*ast.SelectorExpr)
			if !ok || !creators[selected.Sel.Name] {
				return true
			}
			if x, ok := selected.X.(*ast.Ident); !ok || x.Name != "os" {
				return true
			}
			for place := range createsItself {
				if file == place || strings.HasSuffix(place, "/") && strings.HasPrefix(file, place) {
					used[place] = true
					return true
				}
			}
			t.Errorf("%s calls os.%s: write files with internal/atomicfile, or say in createsItself why not", file, selected.Sel.Name)
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for place := range createsItself {
		if !used[place] {
			t.Errorf("%s is in createsItself, and creates no files", place)
		}
	}
}
