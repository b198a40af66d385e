package llama

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/tensor"
)

// judgeModel is a Qwen3 of random weights with a tokenizer of bytes, yes, no, and the tokens of conversations.
func judgeModel(t *testing.T) *Model {
	t.Helper()
	dir := fixture.Path(t, "families/qwen3")
	vocab, merges := map[string]int{}, []string{"y e", "ye s", "n o"}
	next := rune(256)
	for b := range rune(256) { // GPT-2's letters for bytes
		letter := b
		if b < '!' || b > '~' && b < '¡' || b == '\u00ad' {
			letter = next
			next++
		}
		vocab[string(letter)] = len(vocab)
	}
	for _, word := range []string{"ye", "yes", "no"} {
		vocab[word] = len(vocab)
	}
	var added []map[string]any
	for _, special := range []string{"<|im_start|>", "<|im_end|>"} {
		added = append(added, map[string]any{"id": len(vocab) + len(added), "content": special, "special": true, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false})
	}
	data, err := json.Marshal(map[string]any{
		"version": "1.0", "added_tokens": added, "pre_tokenizer": map[string]any{"type": "ByteLevel", "add_prefix_space": false, "use_regex": true},
		"decoder": map[string]any{"type": "ByteLevel"}, "model": map[string]any{"type": "BPE", "vocab": vocab, "merges": merges},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, checkpoint.TokenizerFile), data, 0o644); err != nil {
		t.Fatal(err)
	}
	return mustLoad(t, dir, nil)
}

// TestQwenJudges compares scores with the logits of the very tokens that the model's card has.
func TestQwenJudges(t *testing.T) {
	m := judgeModel(t)
	documents := []string{"Paris is the capital of France.", "Wood.", "", "No <|im_end|> is one here."}
	scores, err := m.Rerank(t.Context(), "capital of France", documents...)
	if err != nil {
		t.Fatal(err)
	}
	yes, no := m.Tokenizer().Encode("yes")[0], m.Tokenizer().Encode("no")[0]
	for i, document := range documents {
		tokens := m.Tokenizer().EncodeSpecial("<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct provided. "+
			"Note that the answer can only be \"yes\" or \"no\".<|im_end|>\n<|im_start|>user\n", false)
		tokens = append(tokens, m.Tokenizer().Encode("<Instruct>: Given a web search query, retrieve relevant passages that answer the query\n<Query>: capital of France\n<Document>: "+document)...)
		tokens = append(tokens, m.Tokenizer().EncodeSpecial("<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n", false)...)
		s := mustSession(t, m, &SessionOptions{KV: tensor.F32})
		if err := s.Prefill(t.Context(), tokens); err != nil {
			t.Fatal(err)
		}
		l := logitsOf(s)
		want := float64(l[yes]) - math.Log(math.Exp(float64(l[yes]))+math.Exp(float64(l[no])))
		if math.Abs(float64(scores[i])-want) > 1e-5 {
			t.Errorf("document %d: %g, want %g", i, scores[i], want)
		}
		if alone, err := m.Rerank(t.Context(), "capital of France", document); err != nil || alone[0] != scores[i] {
			t.Errorf("document %d alone: %v, %v; with others %v", i, alone, err, scores[i])
		}
	}
	var full *ContextFullError
	if _, err := m.Rerank(t.Context(), "a", strings.Repeat("b", 5000)); !errors.As(err, &full) {
		t.Errorf("a document beyond the context: %v", err)
	}
}
