package constrain_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"testing"
	"time"

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
