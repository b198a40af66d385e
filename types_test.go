package antigravity

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// The most methods and fields that a type of package llama, its rooms, or a backend has. A type that needs more is two types.
const (
	mostMethods = 25
	mostFields  = 20
)

// TestTypesStaySmall counts methods and fields.
func TestTypesStaySmall(t *testing.T) {
	for _, room := range []string{"llama", llamaRooms + "engine", llamaRooms + "source", llamaRooms + "sampling", "backend", "backend/host", "backend/cpu", "backend/opencl"} {
		methods, fields := map[string]int{}, map[string]int{}
		files, err := filepath.Glob(filepath.Join(filepath.FromSlash(room), "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", room, len(files), err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.FuncDecl:
					if n.Recv != nil {
						methods[receiver(n.Recv.List[0].Type)]++
					}
				case *ast.TypeSpec:
					if s, ok := n.Type.(*ast.StructType); ok {
						for _, f := range s.Fields.List {
							fields[n.Name.Name] += max(len(f.Names), 1)
						}
					}
				}
				return true
			})
		}
		for name, n := range methods {
			if n > mostMethods {
				t.Errorf("%s.%s has %d methods, more than %d: which of them belong to a type of their own?", room, name, n, mostMethods)
			}
		}
		for name, n := range fields {
			if n > mostFields {
				t.Errorf("%s.%s has %d fields, more than %d: which of them belong together?", room, name, n, mostFields)
			}
		}
	}
}

// receiver returns the name of a receiver's type.
func receiver(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.Ident:
		return t.Name
	}
	return ""
}
