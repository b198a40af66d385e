package bpe

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/antigravity-go/antigravity/internal/fixture"
)

// readGzip returns the content of a compressed fixture.
func readGzip(t testing.TB, name string) []byte {
	t.Helper()
	f, err := os.Open(fixture.Path(t, name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

var llama3Once struct {
	sync.Once
	*Tokenizer
}

// llama3 returns Llama 3's tokenizer, which is read once.
func llama3(t testing.TB) *Tokenizer {
	t.Helper()
	data := fixture.Path(t, "tokenizer/llama3-tokenizer.json.gz") // skips
	llama3Once.Do(func() {
		_ = data
		tok, err := ParseJSON(readGzip(t, "tokenizer/llama3-tokenizer.json.gz"))
		if err != nil {
			t.Fatal(err)
		}
		llama3Once.Tokenizer = tok
	})
	if llama3Once.Tokenizer == nil {
		t.Fatal("reading Llama 3's tokenizer failed before")
	}
	return llama3Once.Tokenizer
}

func TestLlama3Golden(t *testing.T) {
	tok := llama3(t)
	lines := bufio.NewScanner(strings.NewReader(string(readGzip(t, "tokenizer/encodings.jsonl.gz"))))
	lines.Buffer(nil, 1<<24)
	n := 0
	for lines.Scan() {
		var want struct {
			Text    string
			IDs     []int32
			Decoded string
		}
		if err := json.Unmarshal(lines.Bytes(), &want); err != nil {
			t.Fatal(err)
		}
		n++
		if got := tok.EncodeSpecial(nil, want.Text, true); !slices.Equal(got, want.IDs) {
			t.Errorf("line %d: EncodeSpecial(%q)\n got %v\nwant %v", n, want.Text, got, want.IDs)
		}
		if got := tok.Decode(want.IDs); got != want.Decoded {
			t.Errorf("line %d: Decode(%v)\n got %q\nwant %q", n, want.IDs, got, want.Decoded)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if n != 1464 {
		t.Errorf("%d texts; 1464 would be right", n)
	}
}

func TestSentencePieceGolden(t *testing.T) {
	tok, err := FromVocab(readVocab(t, "tokenizer/llama-spm-vocab.gguf"))
	if err != nil {
		t.Fatal(err)
	}
	inp, err := os.ReadFile(fixture.Path(t, "tokenizer/llama-spm.inp"))
	if err != nil {
		t.Fatal(err)
	}
	out, err := os.ReadFile(fixture.Path(t, "tokenizer/llama-spm.out"))
	if err != nil {
		t.Fatal(err)
	}
	texts := strings.Split(string(inp), "\n__ggml_vocab_test__\n")
	lines := strings.Split(string(out), "\n")
	for i, text := range texts {
		if i >= len(lines) || i == len(texts)-1 && text == "" {
			break
		}
		var want []int32
		for field := range strings.FieldsSeq(lines[i]) {
			id, err := strconv.Atoi(field)
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, int32(id))
		}
		got := tok.Encode(nil, text)
		if !slices.Equal(got, want) {
			t.Errorf("case %d: Encode(%q)\n got %v\nwant %v", i, text, got, want)
		}
		if back := tok.Decode(got); back != text {
			t.Errorf("case %d: Decode(Encode(%q)) = %q", i, text, back)
		}
	}
}

// pebbleJSON returns the tokenizer of Pebble's Hugging Face folder.
func pebbleJSON(t testing.TB) *Tokenizer {
	t.Helper()
	data, err := os.ReadFile(fixture.Path(t, "pebble/hf/tokenizer.json"))
	if err != nil {
		t.Fatal(err)
	}
	tok, err := ParseJSON(data)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

func TestChatGolden(t *testing.T) {
	tok := llama3(t)
	data, err := os.ReadFile(fixture.Path(t, "tokenizer/chat.json"))
	if err != nil {
		t.Fatal(err)
	}
	var chats []struct {
		Text string
		IDs  []int32
	}
	if err := json.Unmarshal(data, &chats); err != nil {
		t.Fatal(err)
	}
	for _, c := range chats {
		if got := tok.EncodeSpecial(nil, c.Text, false); !slices.Equal(got, c.IDs) {
			t.Errorf("EncodeSpecial(%q)\n got %v\nwant %v", c.Text, got, c.IDs)
		}
	}
}
