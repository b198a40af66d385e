package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/examples/tools/internal/questions"
	"github.com/antigravity-go/antigravity/examples/tools/suite/internal/target"
)

// launcher brings the programs and files that the matrix needs to the target.
func (o *options) launcher(ctx context.Context, t target.Target, stderr io.Writer) (*launcher, error) {
	l := &launcher{target: t, programs: map[string]string{}, files: map[string]string{}, timeout: o.timeout, stamp: stampOf(ctx, "")}
	backends := map[string]bool{}
	for _, c := range o.configs {
		backends[c.Backend] = true
	}
	own, err := ownProgram(ctx, t, backends["opencl"])
	if err != nil {
		return nil, err
	}
	for label, path := range o.matrix.ProgramPaths() {
		if path == "" {
			path = own
		}
		if l.programs[label], err = t.Push(ctx, path); err != nil {
			return nil, fmt.Errorf("the program %s: %w", path, err)
		}
	}
	if _, local := t.(target.Local); local && len(o.matrix.Programs) == 0 {
		for name := range backends {
			if !slices.Contains(backend.Names(), name) {
				return nil, cli.Usagef("-backends: this program has no backend %q: it has %s%s", name, strings.Join(backend.Names(), ", "), withOpenCL(name))
			}
		}
	}
	for _, c := range o.configs {
		if chosen := (&cli.Model{Path: c.Model}); l.files[c.Model] == "" && !chosen.Embedded() {
			path, err := chosen.Fetch(ctx, stderr)
			if err != nil {
				return nil, err
			}
			if l.files[c.Model], err = t.Push(ctx, path); err != nil {
				return nil, missing("-models", c.Model, "pebble and flint are part of the program, others are paths, or names as hf:owner/name", err)
			}
		}
		if _, known := l.files[c.Questions]; !known && c.Questions != "" && c.Questions != questions.Pebble {
			if l.files[c.Questions], err = t.Push(ctx, c.Questions); err != nil {
				return nil, missing("-questions", c.Questions, "pebble is part of the program, others are paths", err)
			}
		}
	}
	return l, nil
}

func withOpenCL(name string) string {
	if name != "opencl" {
		return ""
	}
	return "; opencl is there in programs built with -tags opencl"
}

// missing says that a file is not there, or why it cannot be brought to the target.
func missing(flag, name, names string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return cli.Usagef("%s: there is no %s: %s", flag, name, names)
	}
	return fmt.Errorf("%s %s: %w", flag, name, err)
}

// ownProgram returns the path on this machine of a suite that runs on the target: this program, or one that is built for it.
func ownProgram(ctx context.Context, t target.Target, openCL bool) (string, error) {
	own, err := os.Executable()
	if _, local := t.(target.Local); local {
		return own, err
	}
	goos, goarch, platform := t.Platform(ctx)
	if platform != nil {
		return "", platform
	}
	tags := ""
	if openCL {
		tags = "opencl"
	}
	built, cannot := target.Build(ctx, goos, goarch, tags, "")
	switch {
	case cannot == nil:
		return built, nil
	case err == nil && target.BuiltHere(goos, goarch):
		return own, nil
	}
	return "", cannot
}
