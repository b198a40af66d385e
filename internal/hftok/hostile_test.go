package hftok

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/effort"
)

// list returns n elements, separated by commas.
func list(n int, element func(i int) string) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(element(i))
	}
	return b.String()
}

// The files that take the most memory for their length. What reading one of them allocates, whether it is free again or not,
// is within 8 times the file and 64 MiB.
func TestHostileFiles(t *testing.T) {
	effort.Turn(t, 8)
	model := func(kind, vocab, more string) string {
		return `{"model":{"type":"` + kind + `","unk_token":"a","vocab":` + vocab + `}` + more + `}`
	}
	ids := func(n int, text func(i int) string) string {
		return "{" + list(n, func(i int) string { return fmt.Sprintf("%q:%d", text(i), i) }) + "}"
	}
	hex := func(i int) string { return fmt.Sprintf("%x", i) }
	const one = `{"a":0}`
	for name, file := range map[string]string{
		"a gap in the ids":      model("WordLevel", `{"a":65536}`, ""),
		"short tokens":          model("WordLevel", ids(100_000, hex), ""),
		"long tokens":           model("WordLevel", ids(4000, func(i int) string { return fmt.Sprintf("%01000d", i) }), ""),
		"long pieces":           model("WordPiece", ids(10_000, func(i int) string { return fmt.Sprintf("%0200d", i) }), ""),
		"scores":                model("Unigram", "["+list(100_000, func(i int) string { return fmt.Sprintf(`["%x",0]`, i) })+"]", ""),
		"scores that are lists": model("Unigram", "["+list(500_000, func(int) string { return `[]` })+"]", ""),
		"empty normalizers":     model("WordLevel", one, `,"normalizer":{"type":"Sequence","normalizers":[`+list(500_000, func(int) string { return "{}" })+`]}`),
		"nulls for decoders":    model("WordLevel", one, `,"decoder":{"type":"Sequence","decoders":[`+list(500_000, func(int) string { return "null" })+`]}`),
		"empty added tokens":    model("WordLevel", one, `,"added_tokens":[`+list(1_000_000, func(int) string { return "{}" })+`]`),
		"deep nesting":          model("WordLevel", one, `,"x":`+strings.Repeat("[", 2_000_000)),
		"a charsmap of zeros":   model("WordLevel", one, `,"normalizer":{"type":"Precompiled","precompiled_charsmap":"AAAAAQ`+strings.Repeat("A", 1_000_000)+`"}`),
		"repeated expressions":  model("WordLevel", one, `,"normalizer":{"type":"Sequence","normalizers":[`+list(30, func(int) string { return `{"type":"Replace","pattern":{"Regex":"((a|b){30}c){30}"},"content":"x"}` })+`]}`),
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if tok, err := ParseJSON([]byte(file)); err == nil {
				tok.EncodeSpecial(nil, "ab c", true)
			}
			runtime.ReadMemStats(&after)
			if got, limit := after.TotalAlloc-before.TotalAlloc, uint64(8*len(file)+64<<20); got > limit {
				t.Errorf("%d bytes of file took %d bytes of memory; at most %d would be right", len(file), got, limit)
			}
		})
	}
}
