package cli

import (
	"context"
	"embed"
	"io/fs"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/flint"
	"github.com/antigravity-go/antigravity/llama/hub"
	"github.com/antigravity-go/antigravity/llama/opal"
	"github.com/antigravity-go/antigravity/llama/pebble"
)

// embedded is a model that is part of the programs.
type embedded struct {
	path  string // what -model calls it
	title string
	files embed.FS
	file  string // in files
	does  string // what a person may try
	load  func(context.Context, *llama.LoadOptions) (*llama.Model, error)
}

// embeddedModels returns the embedded models. The first is the one that programs run if no model is named.
func embeddedModels() []embedded {
	return []embedded{
		{"pebble", "Pebble", pebble.FS, pebble.Name, "ask it for sums, capitals, opposites, spellings, or a story", pebble.LoadContext},
		{"opal", "Opal", opal.FS, opal.Name, "show it a picture with words, numbers, or coloured shapes, and ask what is there", opal.LoadContext},
		{"flint", "Flint", flint.FS, flint.Name, "let it edit a text, call functions, or answer in the JSON of a schema", flint.LoadContext},
	}
}

// embedded returns the embedded model that is chosen, or nil.
func (m *Model) embedded() *embedded {
	list := embeddedModels()
	if m.Path == "" {
		return &list[0]
	}
	for i, e := range list {
		if e.path == m.Path {
			return &list[i]
		}
	}
	return nil
}

// Embedded reports whether the model is part of the program.
func (m *Model) Embedded() bool { return m.embedded() != nil }

// EmbeddedFS returns the file system with the GGUF file of an embedded model, and the file's name there.
func (m *Model) EmbeddedFS() (fs.FS, string) {
	e := m.embedded()
	return e.files, e.file
}

// Name is the model's path or name, or the name of an embedded one's file.
func (m *Model) Name() string {
	if e := m.embedded(); e != nil {
		return e.file
	}
	return m.Path
}

// Introduction returns what to call the model, and for an embedded one also what to try with it.
func (m *Model) Introduction() (title, does string) {
	if e := m.embedded(); e != nil {
		return e.title + ", an embedded model", e.does
	}
	return hub.Base(m.Path), ""
}
