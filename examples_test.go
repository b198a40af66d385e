package antigravity

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

// TestExamplesCanBeCopied looks at the examples of package pages: they use no internal package, which no other module can import, and
// no helper of the tests, which the page does not show.
func TestExamplesCanBeCopied(t *testing.T) {
	folders := map[string][]*ast.File{} // tests of public packages
	eachGoFile(t, func(file string, parsed *ast.File) {
		if strings.HasSuffix(file, "_test.go") && !slices.Contains(strings.Split(file, "/"), "internal") {
			folders[path.Dir(file)] = append(folders[path.Dir(file)], parsed)
		}
	})
	examples := 0
	for folder, files := range folders {
		for _, file := range files {
			n, faults := uncopyable(file, files)
			examples += n
			for _, fault := range faults {
				t.Errorf("%s: %s", folder, fault)
			}
		}
	}
	if examples < 20 {
		t.Errorf("%d examples", examples)
	}
}

func TestUncopyable(t *testing.T) {
	const helper = "package a\nfunc load() {}\ntype small int\nvar table = 1\n"
	for source, want := range map[string]string{
		"import \"m/internal/x\"\nfunc Example() { x.New() }":                                               "Example needs m/internal/x",
		"import y \"m/internal/x\"\nfunc Example() { y.New() }\nfunc ExampleB() {}":                         "Example needs m/internal/x",
		"import \"m/internal/x\"\nfunc Example() {}\nfunc TestA() { x.New() }":                              "",
		"func Example() { load() }":                                                                         "Example needs load",
		"func Example() { var a small; _ = a }\nfunc ExampleB() {}":                                         "Example needs small",
		"func Example() { own() }\nfunc own() {}":                                                           "", // the page shows the file
		"func Example() { own() }\nfunc own() {}\nfunc TestA() {}":                                          "Example needs own",
		"func Example() { load := 1; _ = load; m.load(); _ = m.T{table: 1} }":                               "",
		"func Example() { for _, load := range table { load(); type small int; var x small; println(x) } }": "Example needs table",
	} {
		var files []*ast.File
		for _, text := range []string{"package a\n" + source, helper} {
			file, err := parser.ParseFile(token.NewFileSet(), "a_test.go", text, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, file)
		}
		if _, faults := uncopyable(files[0], files); strings.Join(faults, "; ") != want {
			t.Errorf("%s: %q, want %q", source, faults, want)
		}
	}
}

// uncopyable returns how many examples a file of a folder's tests has, and the names that are missing when they are copied. A page shows an example's
// body alone, or the whole file if the file has one example, no test, and declares something else.
func uncopyable(file *ast.File, folder []*ast.File) (examples int, faults []string) {
	var bodies []*ast.FuncDecl
	tests := false
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Example") {
			bodies = append(bodies, f)
		} else if ok && f.Recv == nil {
			tests = tests || slices.ContainsFunc([]string{"Test", "Benchmark", "Fuzz"}, func(kind string) bool { return strings.HasPrefix(f.Name.Name, kind) })
		}
	}
	missing := map[string]string{} // by name
	for _, other := range folder {
		if whole := len(bodies) == 1 && !tests; other.Name.Name == file.Name.Name && (other != file || !whole) {
			for _, name := range declared(other.Decls) {
				missing[name] = name
			}
		}
	}
	for _, spec := range file.Imports {
		path := strings.Trim(spec.Path.Value, `"`)
		name := path[strings.LastIndex(path, "/")+1:]
		if spec.Name != nil {
			name = spec.Name.Name
		}
		if strings.Contains("/"+path+"/", "/internal/") {
			missing[name] = path
		}
	}
	for _, f := range bodies {
		needed, here := map[string]bool{}, map[string]bool{"_": true}
		ast.Inspect(f.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for _, e := range n.Lhs {
					if name, ok := e.(*ast.Ident); ok && n.Tok == token.DEFINE {
						here[name.Name] = true
					}
				}
			case *ast.RangeStmt:
				for _, e := range []ast.Expr{n.Key, n.Value} {
					if name, ok := e.(*ast.Ident); ok && n.Tok == token.DEFINE {
						here[name.Name] = true
					}
				}
			case *ast.Field: // a parameter
				for _, name := range n.Names {
					here[name.Name] = true
				}
			case *ast.DeclStmt:
				for _, name := range declared([]ast.Decl{n.Decl}) {
					here[name] = true
				}
			case *ast.SelectorExpr: // of what stands before the dot alone
				if name, ok := n.X.(*ast.Ident); ok {
					needed[name.Name] = true
					return false
				}
			case *ast.KeyValueExpr:
				ast.Inspect(n.Value, func(v ast.Node) bool {
					if name, ok := v.(*ast.Ident); ok {
						needed[name.Name] = true
					}
					_, of := v.(*ast.SelectorExpr)
					return !of
				})
				return false
			case *ast.Ident:
				needed[n.Name] = true
			}
			return true
		})
		for _, name := range slices.Sorted(maps.Keys(needed)) {
			if what := missing[name]; what != "" && !here[name] {
				faults = append(faults, f.Name.Name+" needs "+what)
			}
		}
	}
	return len(bodies), faults
}

// declared returns the names of declarations, methods left out.
func declared(list []ast.Decl) (names []string) {
	for _, d := range list {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				names = append(names, d.Name.Name)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					names = append(names, s.Name.Name)
				case *ast.ValueSpec:
					for _, name := range s.Names {
						names = append(names, name.Name)
					}
				}
			}
		}
	}
	return names
}
