package constrain_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/constrain"
)

// grownVocabulary writes Llama 3's tokenizer.json with more entries, up to size, and returns its path. Entry n is made of the texts of
// two others, as a larger vocabulary has longer tokens: a formula, so that every machine has the same one.
func grownVocabulary(t testing.TB, size int) string {
	t.Helper()
	f, err := os.Open(fixture.Path(t, "tokenizer/llama3-tokenizer.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var file, model map[string]json.RawMessage
	var vocab map[string]int
	if err := json.NewDecoder(z).Decode(&file); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(file["model"], &model); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(model["vocab"], &vocab); err != nil {
		t.Fatal(err)
	}
	texts := make([]string, len(vocab))
	for text, id := range vocab {
		texts[id] = text
	}
	const added = 256 // entries behind those of vocab
	for n, id := uint32(1), len(texts)+added; id < size; n++ {
		a, b := n*2654435761>>8, n*40503*2246822519>>8
		text := texts[256+a%8192] + texts[256+b%65536]
		if _, ok := vocab[text]; !ok {
			vocab[text] = id
			id++
		}
	}
	marshal := func(v any) json.RawMessage {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	model["vocab"] = marshal(vocab)
	file["model"] = marshal(model)
	path := filepath.Join(t.TempDir(), "tokenizer.json")
	if err := os.WriteFile(path, marshal(file), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// BenchmarkFirst makes the first constraint of a process for vocabularies of real sizes: the time, the heap that it keeps, and by how much
// the heap grew meanwhile.
func BenchmarkFirst(b *testing.B) {
	for _, size := range []int{4096, 128_256, 151_936, 262_144} {
		b.Run(fmt.Sprintf("%d entries", size), func(b *testing.B) {
			path := fixture.Path(b, "pebble/hf/tokenizer.json")
			if size > 4096 {
				path = grownVocabulary(b, size)
			}
			var kept, peak float64
			for b.Loop() {
				b.StopTimer()
				tokenizer, err := llama.LoadTokenizer(path)
				if err != nil {
					b.Fatal(err)
				}
				if tokenizer.VocabSize() != size {
					b.Fatalf("%d entries", tokenizer.VocabSize())
				}
				before := heap()
				done, most := make(chan struct{}), make(chan float64)
				go watch(done, most)
				b.StartTimer()
				c, err := constrain.Choice(tokenizer, "yes", "no")
				b.StopTimer()
				if err != nil {
					b.Fatal(err)
				}
				close(done)
				peak = max(peak, <-most-before)
				kept = max(kept, heap()-before)
				runtime.KeepAlive(c)
				runtime.KeepAlive(tokenizer)
				b.StartTimer()
			}
			b.ReportMetric(kept/1e6, "MB-kept")
			b.ReportMetric(peak/1e6, "MB-peak")
		})
	}
}

// heap returns the bytes of the objects that are in use.
func heap() float64 {
	runtime.GC()
	runtime.GC()
	return objects()
}

func objects() float64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	return float64(s[0].Value.Uint64())
}

// watch sends the most bytes that the heap had until done is closed.
func watch(done chan struct{}, most chan float64) {
	peak := 0.0
	for {
		peak = max(peak, objects())
		select {
		case <-done:
			most <- peak
			return
		case <-time.After(time.Millisecond):
		}
	}
}

// Masks of vocabularies of real sizes have the tokens that the grammar takes byte by byte, for answers of a schema in which texts are free,
// follow patterns and formats, or are nearly as long as they may be.
func TestLargestVocabularies(t *testing.T) {
	if !effort.Long() {
		t.Skip("reading vocabularies takes seconds")
	}
	const schema = `{"type": "object", "properties": {
		"name": {"type": "string"}, "words": {"type": "string", "pattern": "^(?:\\S+\\s+){0,9}\\S+$", "maxLength": 60},
		"mail": {"type": "string", "format": "email", "maxLength": 255}, "at": {"type": "string", "format": "date-time"},
		"tags": {"type": "array", "items": {"type": "string", "maxLength": 12}}, "any": {}},
		"required": ["name", "words", "mail", "at", "tags", "any"], "additionalProperties": false}`
	const answer = `{"name": "Ünïcode — 日本語 \n", "words": "a few words of a text near to its greatest-length-of-60!!!!", ` +
		`"mail": "some.body@mail.example.org", "at": "2026-02-28T12:30:00.25Z", "tags": ["eleven char", ""], "any": {"x": [1500.5, null]}}`
	for _, size := range []int{151_936, 262_144} {
		tokenizer, err := llama.LoadTokenizer(grownVocabulary(t, size))
		if err != nil {
			t.Fatal(err)
		}
		c, err := constrain.JSONSchema(tokenizer, []byte(schema))
		if err != nil {
			t.Fatal(err)
		}
		set, m := llama.NewTokenSet(size), c.Start()
		random := rand.New(rand.NewPCG(1, uint64(size)))
		document, checked := tokenizer.Encode(answer), 0
		for at := 0; ; at++ {
			if err := m.Allowed(set); err != nil {
				t.Fatal(err)
			}
			for id := llama.Token(random.IntN(97)); int(id) < size; id += 97 {
				if has, err := set.Has(id), m.Clone().Accept(id); has != (err == nil) {
					t.Errorf("%d entries: at token %d of the answer token %d, %q: allowed %v, accepted: %v", size, at, id, tokenizer.AppendBytes(nil, id), has, err)
				}
				checked++
			}
			if at == len(document) {
				break
			}
			if !set.Has(document[at]) {
				t.Fatalf("%d entries: token %d of the answer, %q, is not allowed", size, at, tokenizer.AppendBytes(nil, document[at]))
			}
			if err := m.Accept(document[at]); err != nil {
				t.Fatal(err)
			}
		}
		if !set.End() {
			t.Errorf("%d entries: the answer may not end", size)
		}
		t.Logf("%d entries: %d places, %d tokens", size, len(document)+1, checked)
	}
}
