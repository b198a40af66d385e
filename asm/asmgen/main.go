// Command asmgen writes the amd64 assembly of package asm. It is a module of its own, so that programs that use
// Antigravity never see its dependencies. Run it in its folder:
//
//	go run . ..
//
// The argument is the folder that the files are written to.
package main

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"
)

// files names what is generated: name_amd64.s and, with the declarations of its functions, name_stubs_amd64.go.
var files = []struct {
	name     string
	generate func(c *build.Context)
}{
	{"vector", vector},
	{"attention", attention},
	{"formats", formats},
	{"panels_avx2", panelsAVX2},
	{"panels_avxvnni", panelsAVXVNNI},
	{"panels_avx512", panelsAVX512},
	{"panels_vnni", panelsVNNI},
	{"panels_amx", panelsOfAMX},
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: asmgen folder")
	}
	for _, f := range files {
		if err := write(filepath.Join(os.Args[1], f.name), f.generate); err != nil {
			log.Fatalf("%s: %v", f.name, err)
		}
	}
}

// write generates the two files whose names begin with path.
func write(path string, generate func(c *build.Context)) error {
	file, err := compile(generate)
	if err != nil {
		return err
	}
	config := printer.Config{Name: "asmgen", Pkg: "asm"}
	for suffix, p := range map[string]printer.Printer{
		"_amd64.s":        printer.NewGoAsm(config),
		"_stubs_amd64.go": printer.NewStubs(config),
	} {
		text, err := p.Print(file)
		if err != nil {
			return fmt.Errorf("printing: %w", err)
		}
		if err := os.WriteFile(path+suffix, text, 0o644); err != nil {
			return err
		}
	}
	return nil
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
	return file, nil
}
