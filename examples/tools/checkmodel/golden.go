package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"

	"github.com/antigravity-go/antigravity/internal/safetensors"
	"github.com/antigravity-go/antigravity/llama"
)

// golden is what a reference computed.
type golden struct {
	cases  []goldenCase
	greedy []llama.Token // a prompt and its greedy continuation; nil: nothing to compare
}

// goldenCase is a text and logits after some of its tokens.
type goldenCase struct {
	ids    []llama.Token
	logits map[int][]float32 // by the position of the token that they follow
}

// readGolden reads a golden file.
func readGolden(path string) (*golden, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the golden file: %w", err)
	}
	f, err := safetensors.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("read the golden file %s: %w", path, err)
	}
	g, err := parseGolden(f)
	if err != nil {
		return nil, fmt.Errorf("golden file %s: %w", path, err)
	}
	return g, nil
}

func parseGolden(f *safetensors.File) (g *golden, err error) {
	g = &golden{}
	if _, ok := f.Tensor("input_ids"); ok {
		if err := g.add(f, "input_ids", "logits"); err != nil {
			return nil, err
		}
	}
	for i := 0; ; i++ {
		ids, logits := fmt.Sprintf("ids.%d", i), fmt.Sprintf("logits.%d", i)
		if _, ok := f.Tensor(ids); !ok {
			break
		}
		if err := g.add(f, ids, logits); err != nil {
			return nil, err
		}
	}
	if len(g.cases) == 0 {
		return nil, fmt.Errorf("it has neither input_ids and logits nor ids.0 and logits.0")
	}
	if _, ok := f.Tensor("greedy_ids"); ok {
		g.greedy, err = tokenTensor(f, "greedy_ids")
	}
	return g, err
}

// add reads one case: one row of logits for each token, or only the last one's.
func (g *golden) add(f *safetensors.File, ids, logits string) error {
	tokens, err := tokenTensor(f, ids)
	if err != nil {
		return err
	}
	t, ok := f.Tensor(logits)
	if !ok || t.DType != "F32" || len(t.Shape) < 1 || len(t.Shape) > 2 {
		return fmt.Errorf("%s must be a row of F32 for each of %s, or the last one's", logits, ids)
	}
	vocab := t.Shape[len(t.Shape)-1]
	if vocab == 0 || len(tokens) == 0 {
		return fmt.Errorf("%s or %s is empty", ids, logits)
	}
	rows := len(t.Data) / 4 / vocab
	if rows != 1 && rows != len(tokens) {
		return fmt.Errorf("%s has %d rows for the %d tokens of %s", logits, rows, len(tokens), ids)
	}
	c := goldenCase{ids: tokens, logits: map[int][]float32{}}
	for i := range rows {
		row := make([]float32, vocab)
		for j := range row {
			row[j] = math.Float32frombits(binary.LittleEndian.Uint32(t.Data[4*(i*vocab+j):]))
		}
		c.logits[len(tokens)-rows+i] = row
	}
	g.cases = append(g.cases, c)
	return nil
}

// tokenTensor reads token ids.
func tokenTensor(f *safetensors.File, name string) ([]llama.Token, error) {
	t, _ := f.Tensor(name)
	size, ok := map[string]int{"I32": 4, "I64": 8}[t.DType]
	if !ok {
		return nil, fmt.Errorf("%s has elements of type %q; I32 or I64 would be right", name, t.DType)
	}
	list := make([]llama.Token, len(t.Data)/size)
	for i := range list {
		list[i] = llama.Token(binary.LittleEndian.Uint32(t.Data[i*size:])) // ids of 64 bits are small: the lower half
	}
	return list, nil
}
