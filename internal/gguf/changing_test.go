package gguf

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/antigravity-go/antigravity/internal/format"
	"github.com/antigravity-go/antigravity/internal/mmap"
)

// TestParseOfAChangingFile parses a mapped file while its lengths change from one read to the next, as if another program wrote to
// it: whatever Parse accepts can be used.
func TestParseOfAChangingFile(t *testing.T) {
	words := make([]string, 5000) // to scan them takes as long as some dozens of writes
	for i := range words {
		words[i] = "some words of a vocabulary"[:i%20]
	}
	whole := encode(t, []KeyValue{{"words", ArrayOf(words)}, {"numbers", ArrayOf(make([]int32, 100))}}, []TensorInfo{{"a", F32, []int{8}}})
	path := filepath.Join(t.TempDir(), "changing.gguf")
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := mmap.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	writer, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	var stop atomic.Bool
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		defer writer.Close()
		const length = headerSize + 8 + len("words") + 4 + 4 + 8 // the place of the first string's length
		for i := 0; !stop.Load(); i++ {
			word := whole[length : length+8]
			if i/16%2 == 0 {
				word = binary.LittleEndian.AppendUint64(nil, 1<<20)
			}
			writer.WriteAt(word, int64(length))
		}
	}()
	accepted := 0
	for range 2000 {
		f, err := Parse(file.Bytes())
		var at *format.OffsetError
		if err != nil && !errors.As(err, &at) {
			t.Errorf("no OffsetError: %v", err)
		}
		if err == nil {
			accepted++
			f.Strings("words")
			f.Int32s("numbers")
		}
	}
	stop.Store(true)
	<-stopped
	t.Logf("%d of 2000 readings were well formed", accepted)
}

// TestCountsAreBounded makes headers of nothing but tiny entries.
func TestCountsAreBounded(t *testing.T) {
	var keys []KeyValue
	var tensors []TensorInfo
	for i := range 1<<16 + 1 {
		name := string(binary.LittleEndian.AppendUint32(nil, uint32(i)))
		keys = append(keys, KeyValue{name, ValueOf(uint8(0))})
		tensors = append(tensors, TensorInfo{name, F32, []int{0}})
	}
	for _, c := range []struct{ keys, tensors int }{{1 << 16, 1 << 16}, {1<<16 + 1, 0}, {0, 1<<16 + 1}} {
		_, err := Parse(encode(t, keys[:c.keys], tensors[:c.tensors]))
		if fits := c.keys <= maxKeys && c.tensors <= maxTensors; (err == nil) != fits {
			t.Errorf("%d keys and %d tensors: %v", c.keys, c.tensors, err)
		}
	}
}
