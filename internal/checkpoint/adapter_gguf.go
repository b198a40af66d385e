package checkpoint

import (
	"fmt"
	"strings"

	"github.com/antigravity-go/antigravity/internal/checkpoint/families"
	"github.com/antigravity-go/antigravity/internal/checkpoint/storage"
	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/unsupported"
)

// What GGUF's metadata say of an adapter.
const (
	AdapterTypeKey  = "adapter.type"
	AdapterAlphaKey = "adapter.lora.alpha"
	invocationKey   = "adapter.alora.invocation_tokens"
	adapterFile     = "adapter" // the value of TypeKey
	loraAdapter     = "lora"    // the value of AdapterTypeKey
	loraSuffixA     = ".lora_a"
	loraSuffixB     = ".lora_b"
)

// IsAdapter reports whether a GGUF file is an adapter and no model.
func IsAdapter(f *gguf.File) bool {
	kind, _ := f.String(TypeKey)
	return kind == adapterFile
}

// AdapterMetadata describes an adapter of such a model in GGUF's keys: what it adds is alpha/rank·B·A.
func AdapterMetadata(c *model.Config, name string, alpha float32) []gguf.KeyValue {
	return []gguf.KeyValue{
		{Key: TypeKey, Value: gguf.ValueOf(adapterFile)},
		{Key: ArchitectureKey, Value: gguf.ValueOf(families.Architecture(c))},
		{Key: NameKey, Value: gguf.ValueOf(name)},
		{Key: AdapterTypeKey, Value: gguf.ValueOf(loraAdapter)},
		{Key: AdapterAlphaKey, Value: gguf.ValueOf(alpha)},
	}
}

// AdapterGGUF returns the names in GGUF's terms of the two matrices that an adapter has for a tensor of the model.
func (t *Tensor) AdapterGGUF() (a, b string) {
	return t.GGUF.Name + loraSuffixA, t.GGUF.Name + loraSuffixB
}

// AdapterOf reads a GGUF file that is an adapter of such a model. The Data of the result are the file's.
func AdapterOf(f *gguf.File, c *model.Config) (*Adapter, error) {
	if !IsAdapter(f) {
		kind, _ := f.String(TypeKey)
		return nil, unsupported.Errorf("%s is %.100q: the file is no adapter", TypeKey, kind)
	}
	if kind, _ := f.String(AdapterTypeKey); kind != loraAdapter {
		return nil, unsupported.Errorf("%s is %.100q; only adapters of the type %q are implemented", AdapterTypeKey, kind, loraAdapter)
	}
	if err := CheckWhole(f); err != nil {
		return nil, err
	}
	if got, want := architectureOf(f), families.Architecture(c); families.Adapts(got) != families.Adapts(want) {
		return nil, fmt.Errorf("%s is %.100q: the adapter is for another model than this one, which is %q", ArchitectureKey, got, want)
	}
	if _, ok := f.Value(invocationKey); ok {
		return nil, unsupported.Errorf("the file has %s: an adapter that works only after certain tokens is not implemented", invocationKey)
	}
	alpha, ok := f.Float(AdapterAlphaKey)
	if !ok {
		return nil, fmt.Errorf("%s is missing, or no number", AdapterAlphaKey)
	}
	found := map[string]*halves{}
	for _, t := range f.Tensors() {
		of, isA := strings.CutSuffix(t.Name, loraSuffixA)
		if !isA {
			var isB bool
			if of, isB = strings.CutSuffix(t.Name, loraSuffixB); !isB {
				return nil, unsupported.Errorf("the tensor %s is neither an A nor a B of a LoRA adapter", t.Name)
			}
		}
		h := found[of]
		if h == nil {
			h = &halves{}
			found[of] = h
		}
		*h.half(isA) = &AdapterTensor{t.Name, t.DType, t.Type.String(), t.Shape, t.Offset, t.Data}
	}
	pairs, err := joinHalves(found, Tensors(c), ggufNames, func(_ string, rank int) (float64, error) {
		if alpha == 0 { // llama.cpp's way of saying that the rank does not count
			return 1, nil
		}
		return alpha / float64(rank), nil
	})
	if err != nil {
		return nil, err
	}
	return &Adapter{pairs}, nil
}

func ggufNames(t *Tensor) (own string, within *storage.Within) { return t.GGUF.Name, &t.GGUF.Within }
