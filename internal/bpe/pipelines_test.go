package bpe

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/bytefallback"
)

// pipelines is testdata/pipelines.json.gz: what Hugging Face's library makes of texts with small vocabularies and the pipelines that
// families of models have. testdata/golden.mjs wrote it.
type pipelines struct {
	Texts    []string
	Byte, SP struct {
		Vocab  []string
		Merges [][2]string
	}
	Families map[string]struct {
		SP      bool
		File    document
		IDs     [][]int32
		Decoded []string
	}
	Rules map[string][][]int32 // tokens by rule, of the vocabulary Byte
}

func readPipelines(t testing.TB) *pipelines {
	t.Helper()
	data, err := os.ReadFile("testdata/pipelines.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	p := &pipelines{}
	if err := json.NewDecoder(z).Decode(p); err != nil {
		t.Fatal(err)
	}
	return p
}

// files returns each family's tokenizer.json.
func (p *pipelines) files(t testing.TB) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for name, f := range p.Families {
		model := f.File["model"].(map[string]any)
		from := p.Byte
		if f.SP {
			from = p.SP
		}
		vocab := map[string]int{}
		for id, text := range from.Vocab {
			vocab[text] = id
		}
		model["vocab"], model["merges"] = vocab, from.Merges
		files[name] = f.File.text(t)
	}
	return files
}

func TestFamilies(t *testing.T) {
	p := readPipelines(t)
	for name, file := range p.files(t) {
		t.Run(name, func(t *testing.T) {
			tok, err := ParseJSON(file)
			if err != nil {
				t.Fatal(err)
			}
			if rule, _ := tok.Rule(); rule != rulesOfFamilies[name] {
				t.Errorf("the rule is %q, want %q", rule, rulesOfFamilies[name])
			}
			for i, text := range p.Texts {
				want := p.Families[name].IDs[i]
				if got := tok.EncodeSpecial(nil, text, true); !slices.Equal(got, want) {
					t.Errorf("EncodeSpecial(%q)\n got %v %q\nwant %v %q", text, got, texts(tok, got), want, texts(tok, want))
				}
				if got, want := tok.Decode(want), p.Families[name].Decoded[i]; got != want {
					t.Errorf("Decode of %q's tokens\n got %q\nwant %q", text, got, want)
				}
				// However a trusted text is cut into segments, the tokens are the same.
				got := tok.EncodeSegments(nil, func(yield func(string, bool) bool) {
					for at := 0; at < len(text); at += 5 {
						if !yield(text[at:min(at+5, len(text))], true) {
							return
						}
					}
				})
				if want := tok.EncodeSpecial(nil, text, false); !slices.Equal(got, want) {
					t.Errorf("EncodeSegments(%q)\n got %v\nwant %v", text, got, want)
				}
			}
		})
	}
}

// rulesOfFamilies are the families' split rules by GGUF's names; families that are missing have no rule.
var rulesOfFamilies = map[string]string{
	"qwen": "qwen2", "smollm2": "refact", "granite3": "refact", "olmo2": "dbrx", "olmo": "gpt-2", "gpt-2": "gpt-2", "command-r": "refact", "nemo": "tekken",
	"phi-4-mini": "gpt-4o", "deepseek-v3": "deepseek-v3", "compatibility": "qwen2", "decomposed": "gpt-2",
}

func texts(t *Tokenizer, ids []int32) (list []string) {
	for _, id := range ids {
		list = append(list, t.Text(id))
	}
	return list
}

// The split rules of GGUF files, each under its first name.
func TestRules(t *testing.T) {
	p := readPipelines(t)
	vocab := Vocab{Model: ByteLevelModel, Tokens: p.Byte.Vocab, BOS: -1, EOS: -1, Unknown: -1}
	for _, m := range p.Byte.Merges {
		vocab.Merges = append(vocab.Merges, m[0]+" "+m[1])
	}
	for _, rule := range rules {
		name := rule.names[0]
		want, ok := p.Rules[name]
		if !ok && name == "granite-embed-multi-97m" { // is gpt-4o, but for ignoreMerges
			continue
		}
		if !ok {
			t.Errorf("no tokens are known for the rule %q", name)
		}
		for _, name := range rule.names {
			vocab.Pre = name
			tok, err := FromVocab(vocab)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for i, text := range p.Texts {
				if got := tok.Encode(nil, text); !slices.Equal(got, want[i]) {
					t.Errorf("%s: Encode(%q)\n got %q\nwant %q", name, text, texts(tok, got), texts(tok, want[i]))
				}
			}
			if name != rule.names[0] && rule.names[0] != "" {
				break // the other names are the same rule
			}
		}
		if name, ok := RuleFor(rule.ignoreMerges, rule.steps...); !ok || name != rule.names[0] {
			t.Errorf("the rule of %s is called %q", rule.names[0], name)
		}
		if got := AddsBOS(ByteLevelModel, name); got != rule.addBOS {
			t.Errorf("AddsBOS(%q) = %v", name, got)
		}
	}
	seen := map[string]bool{}
	for _, r := range rules {
		for _, name := range r.names {
			if seen[name] {
				t.Errorf("%q is two rules", name)
			}
			seen[name] = true
		}
	}
	vocab.Pre = "kimi-k2"
	if _, err := FromVocab(vocab); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "llama-bpe, llama-v3") {
		t.Errorf("an unknown rule: %v", err)
	}
}

// Phi-3's tokens take the white space after them.
func TestRStripGGUF(t *testing.T) {
	vocab := Vocab{Model: SentencePieceModel, BOS: 1, EOS: 2, Unknown: 0, RStrip: true}
	vocab.Tokens = []string{"<unk>", "<s>", "<|end|>", "<|endoftext|>", "a", "▁", "<0x0A>"}
	vocab.Types = []int32{TypeUnknown, TypeControl, TypeControl, TypeControl, TypeNormal, TypeNormal, TypeByte}
	vocab.Scores = make([]float32, len(vocab.Tokens))
	tok, err := FromVocab(vocab)
	if err != nil {
		t.Fatal(err)
	}
	got := tok.EncodeSpecial(nil, "<|end|>\n a<|endoftext|>\na<s> a", false)
	if want := []int32{2, 4, 3, 6, 4, 1, 5, 4}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A SentencePiece vocabulary is the same from both kinds of file.
func TestGemmaGGUF(t *testing.T) {
	p := readPipelines(t)
	hf, err := ParseJSON(p.files(t)["gemma"])
	if err != nil {
		t.Fatal(err)
	}
	vocab := Vocab{Model: SentencePieceModel, BOS: 1, EOS: 2, Unknown: 0, AddBOS: true}
	for id := range int32(hf.VocabSize()) {
		text, kind := hf.Text(id), int32(TypeNormal)
		switch _, isByte := bytefallback.Byte([]byte(text)); {
		case id == 0:
			kind = TypeUnknown
		case hf.IsSpecial(id):
			kind = TypeControl
		case slices.Contains(hf.Added(), text) && text != "▁▁": // which is written in the file, and no text has
			kind = TypeUserDefined
		case isByte:
			kind = TypeByte
		}
		vocab.Tokens = append(vocab.Tokens, text)
		vocab.Types = append(vocab.Types, kind)
		vocab.Scores = append(vocab.Scores, -float32(id))
	}
	gguf, err := FromVocab(vocab)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range p.Texts {
		if strings.Contains(text, "▁▁") {
			continue
		}
		if got, want := gguf.EncodeSpecial(nil, text, true), hf.EncodeSpecial(nil, text, true); !slices.Equal(got, want) {
			t.Errorf("EncodeSpecial(%q)\n          GGUF %q\ntokenizer.json %q", text, texts(gguf, got), texts(hf, want))
		}
	}
}
