package main

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/hub"
	"github.com/antigravity-go/antigravity/llama/serve"
)

// models returns the models of the command line, all on one backend. What it opens is closed by closers.
func (c *command) models(ctx context.Context, closers *closers, stderr io.Writer) (models []serve.Model, err error) {
	b, err := c.computing.OpenBackend()
	if err != nil {
		return nil, err
	}
	closers.add(b.Close)
	paths := c.paths
	if len(paths) == 0 {
		paths = []string{"flint"}
	}
	for _, text := range paths {
		m, err := c.model(ctx, text, b, stderr)
		if err != nil {
			return nil, err
		}
		models = append(models, m)
	}
	if err := c.addAliases(models); err != nil {
		return nil, err
	}
	return models, c.addDraft(ctx, models, closers, stderr)
}

// model returns a model that is loaded on demand. It is fetched at once, since no request would wait for that.
func (c *command) model(ctx context.Context, text string, b backend.Backend, stderr io.Writer) (serve.Model, error) {
	name, path := named(text)
	chosen := c.computing
	chosen.Path = path
	if name == "" {
		name = strings.TrimSuffix(hub.Base(path), ".gguf")
	}
	file, err := chosen.Fetch(ctx, stderr)
	if err != nil {
		return serve.Model{}, err
	}
	m := serve.File(name, file, nil)
	m.Load = func(ctx context.Context) (*llama.Model, error) { return chosen.LoadOn(ctx, b, stderr) }
	return m, nil
}

// named takes "NAME=VALUE" apart. Where there is no name it is "". A name has no slash: what stands before an equals sign may be a folder of a path.
func named(text string) (name, value string) {
	name, value, ok := strings.Cut(text, "=")
	if !ok || strings.ContainsAny(name, `/\`) {
		return "", text
	}
	return name, value
}

// addAliases gives models their other names.
func (c *command) addAliases(models []serve.Model) error {
	for _, text := range c.aliases {
		name, other := named(text)
		i := slices.IndexFunc(models, func(m serve.Model) bool { return m.Name == other })
		if name == "" || i < 0 {
			return cli.Usagef("-alias %s: it must be NAME=OTHER, where OTHER is the name of a -model", text)
		}
		models[i].Aliases = append(models[i].Aliases, name)
	}
	return nil
}

// addDraft sets what proposes the tokens of answers. A smaller model proposes those of one model, which is loaded for that, since the
// vocabularies must agree.
func (c *command) addDraft(ctx context.Context, models []serve.Model, closers *closers, stderr io.Writer) (err error) {
	switch {
	case c.draft.Name == "":
		return nil
	case c.draft.Lookup():
		for i := range models {
			models[i].Draft = llama.PromptLookup(llama.LookupOptions{})
		}
		return nil
	case len(models) > 1:
		return cli.Usagef("-draft %s: a smaller model proposes the tokens of one -model; lookup does of several", c.draft.Name)
	}
	m := &models[0]
	if m.Loaded, err = m.Load(ctx); err != nil {
		return err
	}
	closers.add(m.Loaded.Close)
	m.Load = nil
	capacity := c.memory.Capacity
	if capacity == 0 {
		capacity = m.Loaded.Config().ContextLength
	}
	drafter, closeDraft, err := c.draft.Open(ctx, &c.computing, m.Loaded, capacity, stderr)
	if err != nil {
		return err
	}
	closers.add(closeDraft)
	m.Draft = drafter
	return nil
}
