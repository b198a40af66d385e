package bpe

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/fixture"
)

// english returns about n bytes of text with the word lengths, capitals and punctuation of English prose.
func english(n int) string {
	words := strings.Fields(`the of and to in is that it was for on with as his they be at one have this from or had by hot
		but some what there we can out other were all your when up use word how said an each she which do their time if will
		way about many then them would write like so these her long make thing see him two has look more day could go come did
		my sound no most number who over know water than call first people may down side been now find any new work part take
		get place made live where after back little only round man year came show every good me give our under name very
		through just form much great think say help low line before turn cause same mean differ move right boy old too does
		tell sentence set three want air well also play small end put home read hand port large spell add even land here must
		big high such follow act why ask men change went light kind off need house picture try us again animal point mother
		world near build self earth father responsibility characteristically notwithstanding interoperability photosynthesis
		sugarcoating quixotically thermoregulation parliamentarians`)
	rng := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	for b.Len() < n {
		for i := range 4 + rng.IntN(12) {
			w := words[min(rng.IntN(len(words)), rng.IntN(len(words)))]
			if i == 0 {
				w = strings.ToUpper(w[:1]) + w[1:]
			} else {
				b.WriteString(" ")
			}
			b.WriteString(w)
			if rng.IntN(15) == 0 {
				b.WriteString(",")
			}
		}
		b.WriteString([]string{". ", ". ", "? ", ".\n\n", fmt.Sprintf(" in %d. ", rng.IntN(3000)), `." `}[rng.IntN(6)])
	}
	return b.String()
}

func benchmarkEncode(b *testing.B, t *Tokenizer, text string) {
	var ids []int32
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		ids = t.Encode(ids[:0], text)
	}
	b.ReportMetric(float64(len(text))/float64(len(ids)), "bytes/token")
}

func sentencePiece(t testing.TB) *Tokenizer {
	t.Helper()
	tok, err := FromVocab(readVocab(t, "tokenizer/llama-spm-vocab.gguf"))
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

func BenchmarkEncode(b *testing.B) {
	merging := *llama3(b)
	merging.ignoreMerges = false
	whole := *sentencePiece(b)
	whole.split = nil
	texts := []struct{ name, text string }{
		{"English", english(1 << 20)},
		{"Korean", strings.Repeat("안드로이드 휴대폰에서 언어 모델을 실행하는 방법을 설명해 주세요. ", 8000)},
		{"Run", strings.Repeat("a", 1<<20)},
		{"Chat", "What is the capital of France?"},
	}
	for _, tok := range []struct {
		name string
		*Tokenizer
	}{
		{"Llama3", llama3(b)},
		{"Llama3Merging", &merging},
		{"SentencePiece", sentencePiece(b)},
		{"SentencePieceWhole", &whole},
	} {
		for _, text := range texts {
			b.Run(tok.name+"/"+text.name, func(b *testing.B) { benchmarkEncode(b, tok.Tokenizer, text.text) })
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	for _, tok := range []struct {
		name string
		*Tokenizer
	}{{"Llama3", llama3(b)}, {"SentencePiece", sentencePiece(b)}} {
		text := english(1 << 20)
		ids := tok.Encode(nil, text)
		b.Run(tok.name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				tok.Decode(ids)
			}
		})
	}
}

func BenchmarkLoad(b *testing.B) {
	for _, name := range []string{"tokenizer/llama3-tokenizer.json.gz"} {
		data := readGzip(b, name)
		b.Run("Llama3JSON", func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ParseJSON(data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	for _, c := range []struct{ name, file string }{
		{"SentencePieceGGUF", "tokenizer/llama-spm-vocab.gguf"},
		{"PebbleGGUF", "pebble/gguf/pebble-Q4_K_M.gguf"},
	} {
		fixture.Path(b, c.file)
		v := readVocab(b, c.file)
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := FromVocab(v); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
