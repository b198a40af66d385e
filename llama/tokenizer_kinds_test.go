package llama_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/antigravity-go/antigravity/llama"
)

func tokenizerFrom(t *testing.T, text string) (*llama.Tokenizer, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tokenizer.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return llama.LoadTokenizer(path)
}

func TestWordPiece(t *testing.T) {
	tokenizer, err := tokenizerFrom(t, `{"version":"1.0","added_tokens":[],"normalizer":null,"pre_tokenizer":{"type":"Whitespace"},
		"post_processor":null,"decoder":{"type":"WordPiece","prefix":"##","cleanup":true},
		"model":{"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##","max_input_chars_per_word":100,
		"vocab":{"[UNK]":0,"play":1,"##ing":2,"chess":3}}}`)
	if err != nil {
		t.Fatal(err)
	}
	tokens := tokenizer.Encode("playing chess")
	if len(tokens) != 3 || tokens[0] != 1 || tokens[1] != 2 || tokens[2] != 3 {
		t.Errorf("tokens %v, want [1 2 3]", tokens)
	}
	if text := tokenizer.Decode(tokens...); text != "playing chess" {
		t.Errorf("decoded to %q", text)
	}
}

func TestUnknownKindsAreStillRefused(t *testing.T) {
	if _, err := tokenizerFrom(t, `{"version":"1.0","model":{"type":"Morse","vocab":{}}}`); !errors.Is(err, llama.ErrUnsupported) {
		t.Errorf("a made-up model: %v", err)
	}
}
