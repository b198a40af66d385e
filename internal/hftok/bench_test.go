package hftok

import (
	"strings"
	"testing"
)

func BenchmarkEncode(b *testing.B) {
	for _, c := range []struct{ name, file string }{{"WordPiece", wordPieceFile}, {"Unigram", unigramFile}} {
		tok, err := ParseJSON([]byte(c.file))
		if err != nil {
			b.Fatal(err)
		}
		for _, text := range []struct{ name, text string }{
			{"Words", strings.Repeat("hello world unaffable ", 750)},
			{"Letters", strings.Repeat("hel", 16<<10/3)},
		} {
			b.Run(c.name+"/"+text.name, func(b *testing.B) {
				b.SetBytes(int64(len(text.text)))
				b.ReportAllocs()
				var ids []int32
				for b.Loop() {
					ids = tok.Encode(ids[:0], text.text)
				}
			})
		}
	}
}
