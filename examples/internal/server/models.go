package server

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/hub"
	"github.com/antigravity-go/antigravity/llama/serve"
)

// models returns the models of the command line, all on the same devices. What it opens is closed by closers.
func (c *command) models(ctx context.Context, closers *closers, stderr io.Writer) (models []serve.Model, err error) {
	devices, err := c.computing.OpenDevices()
	if err != nil {
		return nil, err
	}
	closers.add(devices.Close)
	paths := c.paths
	if len(paths) == 0 {
		paths = []string{"pebble", "flint", "opal"} // the first is what the page and Ollama's programs begin with
	}
	templates, err := c.chatTemplates(paths)
	if err != nil {
		return nil, err
	}
	for i, text := range paths {
		m, err := c.model(ctx, text, templates[i], devices, stderr)
		if err != nil {
			return nil, err
		}
		models = append(models, m)
	}
	if err := c.addDraft(ctx, models, closers, stderr); err != nil {
		return nil, err
	}
	if models, err = c.addAdapters(ctx, models, closers, stderr); err != nil {
		return nil, err
	}
	return models, c.addAliases(models)
}

// model returns a model that is loaded on demand. It is fetched at once, since no request would wait for that.
// template is the file of its chat template; "": its own.
func (c *command) model(ctx context.Context, text, template string, devices *cli.Devices, stderr io.Writer) (serve.Model, error) {
	name, path := nameOf(text)
	chosen := c.computing
	chosen.Path, chosen.ChatTemplate = path, template
	file, err := chosen.Fetch(ctx, stderr)
	if err != nil {
		return serve.Model{}, err
	}
	m := serve.File(name, file, nil)
	if chosen.Embedded() {
		files, file := chosen.EmbeddedFS()
		m.Inspect = func() (*llama.Report, error) { return llama.InspectFS(context.Background(), files, file) }
	}
	m.Load = func(ctx context.Context) (*llama.Model, error) { return chosen.LoadOn(ctx, devices, stderr) }
	return m, nil
}

// nameOf takes a -model apart. A model without a name has that of its file.
func nameOf(text string) (name, path string) {
	if name, path = named(text); name == "" {
		name = strings.TrimSuffix(hub.Base(path), ".gguf")
	}
	return name, path
}

// chatTemplates returns the file of each model's chat template, "" for its own.
func (c *command) chatTemplates(paths []string) ([]string, error) {
	files := make([]string, len(paths))
	for _, text := range c.templates {
		name, file := named(text)
		i := slices.IndexFunc(paths, func(path string) bool {
			other, _ := nameOf(path)
			return other == name || name == "" && len(paths) == 1
		})
		if i < 0 {
			return nil, cli.Usagef("-chat-template %s: it must be NAME=FILE, where NAME is the name of a -model, or FILE if there is only one", text)
		}
		files[i] = file
	}
	return files, nil
}

// named takes "NAME=VALUE" apart. Without a name, name is "". A name has no slash: the text before an equals sign may be a folder of a
// path.
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
		name, other, ok := strings.Cut(text, "=")
		if !ok && len(models) == 1 {
			other = models[0].Name
		}
		i := slices.IndexFunc(models, func(m serve.Model) bool { return m.Name == other })
		if name == "" || i < 0 {
			return cli.Usagef("-alias %s: it must be NAME=OTHER, where OTHER is the name of a -model, or NAME if there is only one", text)
		}
		models[i].Aliases = append(models[i].Aliases, name)
	}
	return nil
}

// addAdapters adds a model for each adapter: the only -model again, with the adapter. That model is loaded now and stays loaded.
func (c *command) addAdapters(ctx context.Context, models []serve.Model, closers *closers, stderr io.Writer) ([]serve.Model, error) {
	if len(c.adapters) == 0 {
		return models, nil
	}
	if len(models) > 1 {
		return nil, cli.Usagef("-adapter %s: adapters are for a single -model", c.adapters[0])
	}
	if err := load(ctx, &models[0], closers); err != nil {
		return nil, err
	}
	for _, text := range c.adapters {
		name, path := named(text)
		if name == "" {
			return nil, cli.Usagef("-adapter %s: it must be NAME=PATH or NAME=PATH:SCALE", text)
		}
		m := models[0]
		m.Name += ":" + name
		var err error
		if m.Adapter, m.AdapterScale, err = (&cli.Adapter{Name: path}).Open(ctx, m.Loaded, stderr); err != nil {
			return nil, err
		}
		closers.add(m.Adapter.Close)
		models = append(models, m)
	}
	return models, nil
}

// load loads a model that was to be loaded on demand. It is closed by closers.
func load(ctx context.Context, m *serve.Model, closers *closers) (err error) {
	if m.Loaded != nil {
		return nil
	}
	if m.Loaded, err = m.Load(ctx); err != nil {
		return err
	}
	closers.add(m.Loaded.Close)
	m.Load = nil
	return nil
}

// addDraft sets what proposes the tokens of answers. A smaller model proposes those of one model, which is loaded for that, since the
// vocabularies must agree.
func (c *command) addDraft(ctx context.Context, models []serve.Model, closers *closers, stderr io.Writer) (err error) {
	if _, ok := c.draft.Simple(); ok {
		for i := range models {
			models[i].Draft, _ = c.draft.Simple() // one for each model, which remembers the conversations with it
		}
		return nil
	}
	if len(models) > 1 {
		return cli.Usagef("-draft %s: a smaller model proposes the tokens of one -model; lookup does of several", c.draft.Name)
	}
	m := &models[0]
	if err := load(ctx, m, closers); err != nil {
		return err
	}
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
