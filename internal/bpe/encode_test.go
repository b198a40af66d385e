package bpe

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/antigravity-go/antigravity/internal/effort"
)

// bytesOf returns the bytes of tokens, put together.
func bytesOf(t *Tokenizer, ids []int32) []byte {
	var b []byte
	for _, id := range ids {
		b = t.AppendBytes(b, id)
	}
	return b
}

// FuzzEncode holds Encode to what its definition promises for every text: nothing is lost, and it makes no difference how
// merging is organised.
func FuzzEncode(f *testing.F) {
	for _, s := range []string{"", "Hello world", "  a  b ", "안녕 ▁🦙 <|eot_id|>", "\xff\xc3(", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "<s> a</s>\r\n"} {
		f.Add(s)
	}
	llama, spm := llama3(f), sentencePiece(f)
	whole := *spm
	whole.split = nil
	f.Fuzz(func(t *testing.T, s string) {
		ids := llama.Encode(nil, s)
		if got := bytesOf(llama, ids); string(got) != s {
			t.Errorf("Llama 3: %q encodes %q", got, s)
		}
		if got := llama.Decode(ids); utf8.ValidString(s) && got != s {
			t.Errorf("Llama 3: Decode(Encode(%q)) = %q", s, got)
		}
		if slices.ContainsFunc(ids, llama.IsSpecial) {
			t.Errorf("Llama 3: Encode(%q) has special tokens: %v", s, ids)
		}
		if !strings.Contains(s, "<|") {
			if got := llama.EncodeSpecial(nil, s, false); !slices.Equal(got, ids) {
				t.Errorf("Llama 3: EncodeSpecial(%q) = %v, Encode %v", s, got, ids)
			}
		}
		llama.split(s, func(_ int, piece string) { compareMerges(t, llama, piece) })
		ids = spm.Encode(nil, s)
		if got, want := string(bytesOf(spm, ids)), spm.normalize(s); got != want {
			t.Errorf("SentencePiece: %q encodes %q", got, want)
		}
		if got := spm.Decode(ids); utf8.ValidString(s) && got != strings.ReplaceAll(s, spaceMark, " ") {
			t.Errorf("SentencePiece: Decode(Encode(%q)) = %q", s, got)
		}
		if got := whole.Encode(nil, s); !slices.Equal(got, ids) {
			t.Errorf("SentencePiece: %q\n as a whole %v\nby the word %v", s, got, ids)
		}
		compareMerges(t, spm, s)
	})
}

// compareMerges merges a piece in the two ways that there are, and in a third that follows the definition.
func compareMerges(t *testing.T, tok *Tokenizer, piece string) {
	t.Helper()
	if piece == "" || len(piece) > 500 {
		return
	}
	e := encoder{Tokenizer: tok, merger: merger{pairs: tok.pairs}}
	if tok.vocab.codec == byteLevel {
		e.byteSymbols(piece)
	} else {
		e.charSymbols(piece)
	}
	want := slices.Clone(e.ids)
	for {
		best, rank, merged := 0, uint32(math.MaxUint32), int32(0)
		for i := range len(want) - 1 {
			if r, id := tok.pairs.get(want[i], want[i+1]); r < rank {
				best, rank, merged = i, r, id
			}
		}
		if rank == math.MaxUint32 {
			break
		}
		want[best] = merged
		want = slices.Delete(want, best+1, best+2)
	}
	if got := e.mergeLong(nil, e.ids); !slices.Equal(got, want) {
		t.Errorf("mergeLong of %q: got %v, want %v", piece, got, want)
	}
	if len(e.ids) <= maxShort {
		if got := e.mergeShort(nil, e.ids); !slices.Equal(got, want) {
			t.Errorf("mergeShort of %q: got %v, want %v", piece, got, want)
		}
	}
}

func TestEncodeLongRuns(t *testing.T) {
	effort.Turn(t, 8)
	for _, tok := range []struct {
		name string
		*Tokenizer
	}{{"Llama3", llama3(t)}, {"SentencePiece", sentencePiece(t)}} {
		for i, unit := range []string{"a", "ab", "한", "=", "\n", " ", "7", "\xff"} {
			if !effort.Share(i, 2) {
				continue
			}
			t.Run(fmt.Sprintf("%s/%q", tok.name, unit), func(t *testing.T) {
				text := strings.Repeat(unit, 1<<17/len(unit))
				ids := tok.Encode(nil, text)
				if got := bytesOf(tok.Tokenizer, ids); !bytes.HasSuffix(got, []byte(text)) || len(got) > len(text)+1 {
					t.Errorf("%d tokens do not make the text", len(ids))
				}
			})
		}
	}
}

// Encoding a second text of the same kind into the same memory allocates next to nothing.
func TestEncodeAllocates(t *testing.T) {
	tok := llama3(t)
	text := english(10_000)
	ids := tok.Encode(nil, text)
	if n := testing.AllocsPerRun(10, func() { ids = tok.Encode(ids[:0], text) }); n > 8 {
		t.Errorf("%v allocations for %d bytes", n, len(text))
	}
}

func TestConcurrentUse(t *testing.T) {
	tok := llama3(t)
	text := english(20_000)
	want := tok.Encode(nil, text)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if got := tok.Encode(nil, text); !slices.Equal(got, want) || tok.Decode(got) != text {
				t.Error("the tokens differ")
			}
		})
	}
	wg.Wait()
}

func TestEncodeSpecialAppends(t *testing.T) {
	tok := llama3(t)
	got := tok.EncodeSpecial([]int32{7}, "<|eot_id|>Hello", true)
	if want := []int32{7, 128000, 128009, 9906}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
