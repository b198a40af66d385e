package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/hub"
)

// The user may leave out parts of a name that are clear. For example, if the cache has hf:o/n-GGUF:Q8_0, these are one model:
//
//	hf:o/n-GGUF:Q8_0    o/n-GGUF:Q8_0    n-GGUF:Q8_0

// resolve returns the name of a model or its path, as the flag -model has it.
func resolve(name string) (string, error) {
	if name == "" {
		return "", cli.Usagef("the name of a model is empty")
	}
	if hub.IsName(name) || (&cli.Model{Path: name}).Embedded() {
		return name, nil
	}
	if _, err := os.Stat(name); err == nil {
		return name, nil
	}
	kept, err := hub.List(nil)
	if err != nil {
		return "", err
	}
	var found []string
	for _, k := range kept {
		switch name {
		case strings.TrimPrefix(k.Name, "hf:"):
			return k.Name, nil
		case hub.Base(k.Name):
			found = append(found, k.Name)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return "", cli.Usagef("%s is one of several models: say which of %s", name, strings.Join(found, ", "))
	case strings.Count(name, "/") >= 1 && filepath.IsLocal(name) && !strings.HasPrefix(name, ".") && !strings.HasSuffix(name, ".gguf"):
		return "hf:" + name, nil
	}
	return "", cli.Usagef("there is no model %q here: antigravity list shows those that are; one of the Hugging Face Hub is named as hf:owner/name or "+
		"hf:owner/name:Q4_K_M", name)
}

// arguments reads the command line of a command that takes models and no flags.
func arguments(name, does string, args []string, stdout io.Writer, least, most int) (models []string, err error) {
	f := cli.NewFlags("antigravity "+name, does+"\n"+names)
	texts, err := f.ParseMixed(args, stdout)
	if err != nil {
		return nil, err
	}
	if len(texts) < least {
		return nil, cli.Usagef("antigravity %s: the name of a model is missing, such as hf:unsloth/Llama-3.2-1B-Instruct-GGUF:Q4_K_M", name)
	}
	if len(texts) > most {
		return nil, cli.Usagef("antigravity %s: unexpected argument %q", name, texts[most])
	}
	for _, text := range texts {
		text, err := resolve(text)
		if err != nil {
			return nil, err
		}
		models = append(models, text)
	}
	return models, nil
}

// unbounded is a number of arguments that no command line has.
const unbounded = 1 << 30

func pull(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) error {
	models, err := arguments("pull", "antigravity pull NAME... fetches models, unless they are here, and prints their paths.", args, stdout, 1, unbounded)
	if err != nil {
		return err
	}
	for _, name := range models {
		m := cli.Model{Path: name}
		path, err := m.Fetch(ctx, stderr)
		if err != nil {
			return err
		}
		if m.Embedded() {
			fmt.Fprintf(stderr, "%s is part of this program\n", name)
			continue
		}
		fmt.Fprintln(stdout, path)
	}
	return nil
}

func list(_ context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) error {
	if _, err := arguments("list", "antigravity list lists the models that are here, with their sizes.", args, stdout, 0, 0); err != nil {
		return err
	}
	kept, err := hub.List(nil)
	if err != nil {
		return err
	}
	table := cli.Table{Left: 1}
	table.Row("NAME", "SIZE", "FETCHED")
	for _, name := range []string{"flint", "pebble"} {
		files, file := (&cli.Model{Path: name}).EmbeddedFS()
		f, err := files.Open(file)
		if err != nil {
			return err
		}
		info, err := f.Stat()
		f.Close()
		if err != nil {
			return err
		}
		table.Row(name, cli.Bytes(info.Size()), "embedded")
	}
	for _, k := range kept {
		fetched := k.Modified.Format("2006-01-02")
		if !k.Whole {
			fetched = "in part"
		}
		table.Row(cli.Printable(k.Name), cli.Bytes(k.Bytes), fetched)
	}
	_, err = table.WriteTo(stdout)
	return err
}

func remove(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) error {
	models, err := arguments("rm", "antigravity rm NAME... removes models from the cache. Files that another revision uses stay.", args, stdout, 1, unbounded)
	if err != nil {
		return err
	}
	for _, name := range models {
		if (&cli.Model{Path: name}).Embedded() {
			return cli.Usagef("%s is part of this program: it cannot be removed", name)
		}
		freed, err := hub.Remove(ctx, name, nil)
		if err != nil {
			return err
		}
		fmt.Fprintf(stderr, "removed %s: %s are free\n", name, cli.Bytes(freed))
	}
	return nil
}

// here returns the models in the cache as the server's flag -model has them, the latest first. Notes on stderr name those
// that are not served: they are not whole, do not load, or have the name of a later one.
func here(stderr io.Writer) (models []string, err error) {
	kept, err := hub.List(nil)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(kept, func(a, b hub.Kept) int { return cmp.Or(b.Modified.Compare(a.Modified), cmp.Compare(a.Name, b.Name)) })
	taken := map[string]bool{}
	for _, k := range kept {
		name := strings.TrimSuffix(hub.Base(k.Name), ".gguf")
		switch {
		case !k.Whole:
			fmt.Fprintf(stderr, "not served: %s, which is here in part\n", k.Name)
		case !loads(k.Path):
			fmt.Fprintf(stderr, "not served: %s, which does not load on its own; name it to learn why\n", k.Name)
		case taken[name]:
			fmt.Fprintf(stderr, "not served: %s; another model is called %s, too\n", k.Name, name)
		default:
			taken[name] = true
			models = append(models, name+"="+k.Path)
		}
	}
	return models, nil
}

// loads reports whether a path is that of a model that loads. It reads no weights.
func loads(path string) bool {
	report, err := llama.Inspect(path)
	return err == nil && len(report.Problems) == 0
}
