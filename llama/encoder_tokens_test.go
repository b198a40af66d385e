package llama_test

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/internal/safetensors"
	"github.com/antigravity-go/antigravity/llama"
)

// goldenTokens returns the texts of an encoder's fixture, and the tokens that transformers made of each of them, or of each and the next
// one.
func goldenTokens(t *testing.T, name string) (texts []string, tokens [][]llama.Token) {
	t.Helper()
	folder := fixture.Path(t, "families/"+name)
	data, err := os.ReadFile(filepath.Join(folder, "texts.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &texts); err != nil {
		t.Fatal(err)
	}
	golden, err := os.ReadFile(filepath.Join(folder, "golden.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := safetensors.Parse(golden)
	if err != nil {
		t.Fatal(err)
	}
	for i := range texts {
		stored, ok := f.Tensor("ids." + strconv.Itoa(i))
		if !ok {
			t.Fatalf("%s has no tokens of text %d", name, i)
		}
		var ids []llama.Token
		for b := stored.Data; len(b) > 0; b = b[4:] {
			ids = append(ids, llama.Token(binary.LittleEndian.Uint32(b)))
		}
		tokens = append(tokens, ids)
	}
	return texts, tokens
}

// The tokens of encoders are those of transformers, and of rerankers those of two texts.
func TestTokensOfEncoders(t *testing.T) {
	for _, name := range []string{"enc-bert", "enc-gemma", "enc-modernbert", "enc-nomic", "enc-nomic-moe", "enc-qwen3", "enc-xlmr", "rank-bert", "rank-xlmr", "cls-bert", "cls-xlmr", "cls-modernbert", "cls-deberta", "tok-bert", "tok-modernbert", "tok-deberta", "enc-mpnet", "privacy-filter", "enc-gemma2"} {
		tokenizer, err := llama.LoadTokenizer(fixture.Path(t, "families/"+name))
		if err != nil {
			t.Fatal(err)
		}
		texts, want := goldenTokens(t, name)
		for i, text := range texts {
			got := tokenizer.EncodeWhole(text)
			if name[:4] == "rank" {
				var types []int32
				next := texts[(i+1)%len(texts)]
				got, types = tokenizer.EncodePair(text, next)
				second := len(tokenizer.Encode(next)) + 1
				for j, kind := range types {
					if in := kind == 1; in != (name == "rank-bert" && j >= len(got)-second) {
						t.Errorf("%s: token %d of %q with %q has the type %d", name, j, text, next, kind)
					}
				}
			}
			if !slices.Equal(got, want[i]) {
				t.Errorf("%s: %q\n got %v\nwant %v", name, text, got, want[i])
			}
		}
	}
}
