// Antigravity is the one program to install: it fetches models, lists and removes them, talks to them and serves them. The chat and the
// server are those of examples/chat and examples/serve.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/examples/internal/chat"
	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/examples/internal/server"
)

const about = `
antigravity runs language models on this machine.

  antigravity run                                                       talk to Pebble, a small embedded model
  antigravity pull hf:unsloth/Llama-3.2-1B-Instruct-GGUF:Q4_K_M         fetch a model, 0.8 GB
  antigravity run hf:unsloth/Llama-3.2-1B-Instruct-GGUF:Q4_K_M          talk to it
  antigravity serve                                                     serve all models that are here, with a page to talk on

`

const names = `
NAME is a name on the Hugging Face Hub, as hf:owner/name, hf:owner/name:Q4_K_M or hf:owner/name/file.gguf, with @revision behind it or
not; a name that "antigravity list" shows; pebble, flint or opal, which are embedded; a URL; or the path of a .gguf file or a Hugging Face
folder. Models are kept in the cache of Python's huggingface_hub: HF_HOME says in which folder.`

// command is one of the things that the program does.
type command struct {
	name, arguments string
	about           string // one line for the help
	run             cli.Program
	// keepsInterrupts says that the command hears of Ctrl-C itself, so that its context must not be cancelled by Ctrl-C.
	keepsInterrupts bool
}

func commands() []command {
	return []command{
		{"pull", "NAME...", "fetch models, unless they are here, and print their paths", pull, false},
		{"list", "", "list the models that are here, with their sizes", list, false},
		{"rm", "NAME...", "remove models; files that another revision uses stay", remove, false},
		{"run", "[NAME] [flags]", "talk to a model; without a name, to Pebble; run -h lists the flags", talk, true},
		{"serve", "[[NAME=]NAME...] [flags]", "serve models; without a name, all that are here, or Flint; serve -h lists the flags", serve, false},
	}
}

func main() {
	if c := find(os.Args[1:]); c != nil && c.keepsInterrupts {
		cli.Exit("antigravity", run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	cli.Main("antigravity", run)
}

// find returns the command that a command line begins with, or nil.
func find(args []string) *command {
	for _, c := range commands() {
		if len(args) > 0 && c.name == args[0] {
			return &c
		}
	}
	return nil
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	if c := find(args); c != nil {
		return c.run(ctx, args[1:], stdin, stdout, stderr)
	}
	if len(args) == 0 || slices.Contains([]string{"help", "-h", "-help", "--help"}, args[0]) {
		help(stdout)
		return nil
	}
	var known []string
	for _, c := range commands() {
		known = append(known, c.name)
	}
	return cli.Usagef("there is no command %q: there are %s", args[0], strings.Join(known, ", "))
}

func help(w io.Writer) {
	cli.WriteAbout(w, about)
	fmt.Fprintln(w, "\nCommands")
	for _, c := range commands() {
		cli.WriteUsage(w, strings.TrimRight(c.name+" "+c.arguments, " "), c.about)
	}
	fmt.Fprintln(w)
	cli.WriteAbout(w, names)
}

// talk is the chat, with a model's name in place of the flag -model.
func talk(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	models, flags, err := leading(args)
	if err != nil {
		return err
	}
	if len(models) > 1 {
		return cli.Usagef("one model at a time, and there is also %q", models[1])
	}
	for _, m := range models {
		flags = append([]string{"-model", m}, flags...)
	}
	return chat.Program("antigravity run")(ctx, flags, stdin, stdout, stderr)
}

// serve is the server, with models' names in place of flags -model. Without any, it serves the models in the cache.
func serve(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	models, flags, err := leading(args)
	if err != nil {
		return err
	}
	if len(models) == 0 && !chooses(flags) {
		if models, err = here(stderr); err != nil {
			return err
		}
	}
	for _, m := range slices.Backward(models) {
		flags = append([]string{"-model", m}, flags...)
	}
	return server.Program("antigravity serve")(ctx, flags, stdin, stdout, stderr)
}

// leading takes the models that stand before the flags from a command line.
func leading(args []string) (models, flags []string, err error) {
	i := slices.IndexFunc(args, func(a string) bool { return strings.HasPrefix(a, "-") })
	if i < 0 {
		i = len(args)
	}
	for _, text := range args[:i] {
		called, name, ok := strings.Cut(text, "=")
		if !ok || strings.ContainsAny(called, `/\:`) { // or the equals sign is part of a path or a URL
			called, name = "", text
		}
		if name, err = resolve(name); err != nil {
			return nil, nil, err
		}
		if called != "" {
			name = called + "=" + name
		}
		models = append(models, name)
	}
	return models, slices.Clone(args[i:]), nil
}

// chooses reports whether flags have help or models of their own.
func chooses(flags []string) bool {
	return slices.ContainsFunc(flags, func(f string) bool {
		f, _, _ = strings.Cut(strings.TrimLeft(f, "-"), "=")
		return f == "model" || f == "h" || f == "help"
	})
}
