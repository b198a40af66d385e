package cli

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/constrain"
)

// Form is the form that an answer must have.
type Form struct {
	Schema  string // a JSON Schema's file, or anyJSON
	Grammar string // a GBNF file
	Regexp  string
}

// anyJSON stands in place of a schema's file for JSON of any form.
const anyJSON = "json"

// Flags defines the flags.
func (c *Form) Flags(f *Flags) {
	f.Group("Form of the answer", func() {
		f.StringVar(&c.Schema, "schema", "", "`file` with a JSON Schema that the answer fits; json: any JSON")
		f.StringVar(&c.Grammar, "grammar", "", "`file` with a grammar in GBNF, llama.cpp's notation, that the answer follows")
		f.StringVar(&c.Regexp, "regexp", "", "regular `expression` that the whole answer matches, in Go's syntax")
	})
}

// maxForm bounds the files, in bytes.
const maxForm = 16 << 20

// Constraint returns the constraint, nil if the answer is free. Parts of a schema that cannot be promised are named on stderr.
func (c *Form) Constraint(t *llama.Tokenizer, stderr io.Writer) (llama.Constraint, error) {
	given := 0
	for _, s := range []string{c.Schema, c.Grammar, c.Regexp} {
		if s != "" {
			given++
		}
	}
	if given > 1 {
		return nil, Usagef("an answer has one form: -schema, -grammar or -regexp")
	}
	switch {
	case c.Schema == anyJSON:
		return constrain.JSON(t)
	case c.Schema != "":
		schema, err := readForm(c.Schema)
		if err != nil {
			return nil, flagError("schema", c.Schema, err)
		}
		k, left, err := constrain.JSONSchemaWith(t, schema, constrain.SchemaOptions{Lossy: true})
		for _, u := range left {
			fmt.Fprintf(stderr, "%s: not kept: %v\n", c.Schema, u)
		}
		return k, flagError("schema", c.Schema, err)
	case c.Grammar != "":
		grammar, err := readForm(c.Grammar)
		if err != nil {
			return nil, flagError("grammar", c.Grammar, err)
		}
		k, err := constrain.Grammar(t, string(grammar))
		return k, flagError("grammar", c.Grammar, err)
	case c.Regexp != "":
		k, err := constrain.Regexp(t, c.Regexp)
		return k, flagError("regexp", c.Regexp, err)
	}
	return nil, nil
}

// flagError says which flag an error is about, and its value unless the error names it.
func flagError(flag, value string, err error) error {
	switch {
	case err == nil:
		return nil
	case strings.Contains(err.Error(), value):
		return fmt.Errorf("-%s: %w", flag, err)
	}
	return fmt.Errorf("-%s %s: %w", flag, value, err)
}

// readForm reads a file.
func readForm(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxForm+1))
	if err == nil && len(data) > maxForm {
		err = fmt.Errorf("%s: it must be no longer than %d bytes", path, maxForm)
	}
	return data, err
}
