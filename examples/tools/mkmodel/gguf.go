package main

import (
	"context"
	"fmt"
	"io"

	"github.com/antigravity-go/antigravity/internal/atomicfile"
	"github.com/antigravity-go/antigravity/internal/bpe"
	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/format"
	"github.com/antigravity-go/antigravity/internal/gguf"
)

// infosOf describes planned tensors as a GGUF file does, and checks them.
func infosOf(tensors []planned) ([]gguf.TensorInfo, error) {
	infos := make([]gguf.TensorInfo, len(tensors))
	for i := range tensors {
		p := &tensors[i]
		if err := p.check(); err != nil {
			return nil, err
		}
		kind, ok := gguf.TypeOf(p.dtype)
		if !ok {
			return nil, fmt.Errorf("GGUF has no type for %v", p.dtype)
		}
		infos[i] = gguf.TensorInfo{Name: p.name, Type: kind, Shape: p.dims}
	}
	return infos, nil
}

// writeGGUF writes the model as llama.cpp's tools would.
func (m *randomModel) writeGGUF(ctx context.Context, files *atomicfile.Set, path string, progress func(done, total int64)) error {
	tensors, err := planGGUF(m.config, m.recipe)
	if err != nil {
		return err
	}
	infos, err := infosOf(tensors)
	if err != nil {
		return err
	}
	return m.writeFile(ctx, files, path, tensors, 0, counter(progress, size(tensors)), func(w io.Writer) (*format.TensorWriter, error) {
		return gguf.NewWriter(w, m.metadata(), infos)
	})
}

// metadata describes the model in GGUF's keys.
func (m *randomModel) metadata() []gguf.KeyValue {
	v := m.vocabulary
	list := checkpoint.Metadata(m.config, m.name,
		gguf.KeyValue{Key: checkpoint.DescriptionKey, Value: gguf.ValueOf("random weights, for benchmarks")},
		gguf.KeyValue{Key: checkpoint.FileTypeKey, Value: gguf.ValueOf(m.recipe.fileType())},
		gguf.KeyValue{Key: checkpoint.QuantizationVersionKey, Value: gguf.ValueOf(checkpoint.QuantizationVersion)})
	token := func(special int) gguf.Value { return gguf.ValueOf(uint32(v.id(special))) }
	return append(list, []gguf.KeyValue{
		{Key: checkpoint.TokenizerModelKey, Value: gguf.ValueOf(bpe.ByteLevelModel)},
		{Key: checkpoint.SplitRuleKey, Value: gguf.ValueOf(bpe.Llama3Rule)},
		{Key: checkpoint.TokensKey, Value: gguf.ArrayOf(v.tokens)},
		{Key: checkpoint.TokenTypesKey, Value: gguf.ArrayOf(v.types())},
		{Key: checkpoint.MergesKey, Value: gguf.ArrayOf(v.joinedMerges())},
		{Key: checkpoint.BOSKey, Value: token(beginOfText)},
		{Key: checkpoint.EOSKey, Value: token(endOfTurn)},
		{Key: checkpoint.EndOfTurnKey, Value: token(endOfTurn)},
		{Key: checkpoint.EndOfMessageKey, Value: token(endOfMsg)},
		{Key: checkpoint.PaddingKey, Value: token(padding)},
		{Key: checkpoint.AddBOSKey, Value: gguf.ValueOf(true)},
		{Key: checkpoint.TemplateKey, Value: gguf.ValueOf(chatTemplate)},
	}...)
}

// types returns each token's type.
func (v *vocabulary) types() []int32 {
	list := make([]int32, len(v.tokens))
	for i := range list {
		list[i] = bpe.TypeNormal
		if i >= len(list)-v.specials {
			list[i] = bpe.TypeControl
		}
	}
	return list
}

// joinedMerges writes each merge as "left right".
func (v *vocabulary) joinedMerges() []string {
	list := make([]string, len(v.merges))
	for i, m := range v.merges {
		list[i] = m[0] + " " + m[1]
	}
	return list
}
