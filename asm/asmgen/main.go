// Command asmgen writes the amd64 assembly of package asm's families of kernels, with the declarations of its functions and the tables that
// list them, and the header files that the arm64 assembly shares. It is a module of its own, so that programs that use Antigravity never
// see its dependencies. Run it in its folder:
//
//	go run . [name ...]
//
// The names are those of the list below; without any, everything is written. "go generate ./asm/..." in the module above runs
// it too.
package main

import (
	"fmt"
	"go/format"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"
)

// families is the folder of the families of kernels, seen from this folder.
const families = "../internal"

// outputs are the generated files: for each name FOLDER/NAME_amd64.s, and FOLDER/NAME_amd64.go with the declarations and a table.
var outputs = []struct {
	name, folder string
	generate     func(c *build.Context)
	table        func(functions []string) string // Go code: imports and a table of the functions
}{
	{"vectors", "vectors", vectors, vectorsTable},
	{"convert", "convert", convert, convertTable},
	{"attention", "attention", attention, attentionTable},
	{"integers", "attention", integers, integersTable},
	{"recurrent", "recurrent", recurrent, recurrentTable},
	{"transpose", "panels", transpose, transposeTable},
	{"limits", "limits", limits, limitsTable},
	{"avx2", "panels/amd64", panelsAVX2, panelsTable(unitAVX2)},
	{"avxvnni", "panels/amd64", panelsAVXVNNI, panelsTable(unitAVXVNNI)},
	{"avx512", "panels/amd64", panelsAVX512, panelsTable(unitAVX512)},
	{"avx512vnni", "panels/amd64", panelsAVX512VNNI, panelsTable(unitAVX512VNNI)},
	{"near", "panels/amd64", panelsNear, panelsTableNear},
	{"amx", "panels/amd64", panelsOfAMX, panelsTableAMX},
}

func main() {
	log.SetFlags(0)
	if err := run(os.Args[1:]); err != nil {
		log.Fatal("asmgen: ", err)
	}
}

// run generates the named files, or everything.
func run(names []string) error {
	known := []string{headersName}
	for _, o := range outputs {
		known = append(known, o.name)
	}
	if len(names) == 0 {
		names = known
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return fmt.Errorf("there is no %q; there are %s", name, strings.Join(known, ", "))
		}
		files, err := generate(name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		for path, text := range files {
			if err := os.WriteFile(filepath.Join(families, path), text, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

// generate returns the files of a name, by their paths below families.
func generate(name string) (map[string][]byte, error) {
	if name == headersName {
		return headers()
	}
	files := make(map[string][]byte)
	for _, o := range outputs {
		if o.name != name {
			continue
		}
		file, err := compile(o.generate)
		if err != nil {
			return nil, err
		}
		var functions []string
		for _, f := range file.Functions() {
			functions = append(functions, f.Name)
		}
		config := printer.Config{Name: "asmgen", Pkg: filepath.Base(o.folder)}
		assembly, err := printer.NewGoAsm(config).Print(file)
		if err != nil {
			return nil, fmt.Errorf("printing: %w", err)
		}
		stubs, err := printer.NewStubs(config).Print(file)
		if err != nil {
			return nil, fmt.Errorf("printing: %w", err)
		}
		clause := "package " + config.Pkg + "\n"
		code, err := format.Source([]byte(strings.Replace(string(stubs), clause, clause+"\n"+o.table(functions), 1)))
		if err != nil {
			return nil, fmt.Errorf("formatting the table: %w", err)
		}
		path := o.folder + "/" + o.name
		files[path+"_amd64.s"], files[path+"_amd64.go"] = assembly, code
	}
	return files, nil
}

// compile allocates registers and resolves labels.
func compile(generate func(c *build.Context)) (*ir.File, error) {
	c := build.NewContext()
	c.ConstraintExpr("!purego")
	generate(c)
	file, err := c.Result()
	if err != nil {
		return nil, fmt.Errorf("building: %w", err)
	}
	if err := pass.Compile.Execute(file); err != nil {
		return nil, fmt.Errorf("compiling: %w", err)
	}
	for _, f := range file.Functions() {
		for _, i := range f.Instructions() {
			broadcastConstant(i)
		}
	}
	return file, nil
}
