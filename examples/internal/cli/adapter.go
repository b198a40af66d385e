package cli

import (
	"context"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/antigravity-go/antigravity/llama"
)

// Adapters says what -adapter may be.
const Adapters = "a LoRA adapter, a folder of PEFT or a .gguf file, or its name on the Hugging Face Hub"

// Adapter is the choice of a LoRA adapter, and of how much of it.
type Adapter struct {
	Name string // PATH or PATH:SCALE; "": no adapter
}

// Flags defines the flag.
func (a *Adapter) Flags(f *Flags) {
	f.Group("Adapter", func() {
		f.StringVar(&a.Name, "adapter", "", "`PATH[:SCALE]`: "+Adapters+", which changes what the model says; SCALE, 1 unless given, is how much; none: no adapter")
	})
}

// Open fetches and loads the adapter for a model. Without a Name it returns nil. Closing the model does not close the adapter.
func (a *Adapter) Open(ctx context.Context, model *llama.Model, stderr io.Writer) (adapter *llama.Adapter, scale float32, err error) {
	if a.Name == "" {
		return nil, 0, nil
	}
	name, scale, err := scaled(a.Name)
	if err != nil {
		return nil, 0, err
	}
	path, err := Fetch(ctx, name, stderr)
	if err != nil {
		return nil, 0, err
	}
	adapter, err = model.LoadAdapterContext(ctx, path)
	return adapter, scale, err
}

// scaled takes PATH:SCALE apart. If the text after the last colon is no number, it is part of the path.
func scaled(text string) (name string, scale float32, err error) {
	i := strings.LastIndexByte(text, ':')
	if i < 0 {
		return text, 1, nil
	}
	number, err := strconv.ParseFloat(text[i+1:], 32)
	if err != nil {
		return text, 1, nil
	}
	if number == 0 || math.IsNaN(number) || math.IsInf(number, 0) {
		return "", 0, Usagef("-adapter %s: the scale must be a number other than 0", text)
	}
	return text[:i], float32(number), nil
}
