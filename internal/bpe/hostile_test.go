package bpe

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/effort"
)

// checkAllocates fails if f allocates more than a file of n bytes may: 8 times as much and 64 MiB. All allocations count, those freed again
// as well.
func checkAllocates(t *testing.T, n int, f func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	if got, limit := after.TotalAlloc-before.TotalAlloc, uint64(8*n+64<<20); got > limit {
		t.Errorf("%d bytes of file took %d bytes of memory; at most %d would be right", n, got, limit)
	}
}

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

// byteLevelFile returns a tokenizer.json with this vocabulary, these merges and more members.
func byteLevelFile(vocab, merges, more string) string {
	return `{"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false},"decoder":{"type":"ByteLevel"},"model":{"type":"BPE","vocab":{` +
		vocab + `},"merges":[` + merges + `]}` + more + `}`
}

// The files that take the most memory for their length.
func TestHostileFiles(t *testing.T) {
	effort.Turn(t, 8)
	const abc = `"a":0,"b":1,"ab":2`
	nested := strings.Repeat(`{"type":"Sequence","normalizers":[`, 60) + list(100_000, func(int) string { return "{}" }) + strings.Repeat("]}", 60)
	letters := func(i int) string { return fmt.Sprintf("%c%c%c", 'a'+i/676%26, 'a'+i/26%26, 'a'+i%26) }
	files := map[string]string{
		"a gap in the ids":         byteLevelFile(`"a":65536`, "", ""),
		"gaps in the ids":          byteLevelFile(list(300_000, func(i int) string { return fmt.Sprintf(`"%x":%d`, i, 2*i) }), "", ""),
		"tokens of no alphabet":    byteLevelFile(list(200_000, func(i int) string { return fmt.Sprintf(`"字%x":%d`, i, i) }), "", ""),
		"one merge, many times":    byteLevelFile(abc, list(500_000, func(int) string { return `"a b"` }), ""),
		"pairs that are no lists":  byteLevelFile(abc, list(500_000, func(int) string { return `[]` }), ""),
		"empty normalizers":        byteLevelFile(abc, "", `,"normalizer":{"type":"Sequence","normalizers":[`+list(500_000, func(int) string { return "{}" })+`]}`),
		"nulls for normalizers":    byteLevelFile(abc, "", `,"normalizer":{"type":"Sequence","normalizers":[`+list(500_000, func(int) string { return "null" })+`]}`),
		"normalizers, deep":        byteLevelFile(abc, "", `,"normalizer":`+nested),
		"empty added tokens":       byteLevelFile(abc, "", `,"added_tokens":[`+list(2_000_000, func(int) string { return "{}" })+`]`),
		"added tokens of one byte": byteLevelFile(abc, "", `,"added_tokens":[`+list(1000, func(i int) string { return fmt.Sprintf(`{"id":%d,"content":%q}`, i+3, rune(i+0x4E00)) })+`]`),
		"a million added tokens": byteLevelFile(abc, "", `,"added_tokens":[`+list(1_000_000, func(i int) string {
			return fmt.Sprintf(`{"id":%d,"content":"%x"}`, i+3, i+0x1000)
		})+`]`),
		"long added tokens":    byteLevelFile(abc, "", `,"added_tokens":[`+list(2000, func(i int) string { return fmt.Sprintf(`{"id":%d,"content":"%01000d"}`, i+3, i) })+`]`),
		"members of the file":  byteLevelFile(abc, "", list(300_000, func(i int) string { return fmt.Sprintf(`%q:0`, letters(i)+fmt.Sprint(i)) })),
		"members of the model": strings.Replace(byteLevelFile(abc, "", ""), `"type":"BPE"`, `"type":"BPE",`+list(300_000, func(i int) string { return fmt.Sprintf(`"%d":0`, i) }), 1),
		"deep nesting":         byteLevelFile(abc, "", `,"x":`+strings.Repeat("[", 2_000_000)),
	}
	for i, name := range slices.Sorted(maps.Keys(files)) {
		if !effort.Share(i, 3) {
			continue
		}
		file := files[name]
		t.Run(name, func(t *testing.T) {
			checkAllocates(t, len(file), func() {
				if tok, err := ParseJSON([]byte(file)); err == nil {
					tok.EncodeSpecial(nil, "ab"+tok.Text(0), true)
				}
			})
		})
	}
	// A family of tokens, a, aa, aaa and so on, has the most merges for its length: every cut of each of them.
	v := Vocab{Model: "llama", BOS: -1, EOS: -1, Unknown: -1}
	size := 0
	for c := range 40 {
		for n := 1; n <= maxPieceLen; n++ {
			v.Tokens = append(v.Tokens, strings.Repeat(string(rune('A'+c)), n))
			size += 8 + n + 4 + 4 // length, text, score, type
		}
	}
	v.Scores = make([]float32, len(v.Tokens))
	t.Run("families of tokens in a GGUF file", func(t *testing.T) {
		checkAllocates(t, size, func() {
			if _, err := FromVocab(v); err == nil {
				t.Error("not refused")
			}
		})
	})
}
