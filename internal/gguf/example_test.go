package gguf_test

import (
	"bytes"
	"fmt"
	"log"

	"github.com/antigravity-go/antigravity/internal/gguf"
)

// A file is written as a stream, header first, and read in place.
func Example() {
	var b bytes.Buffer
	w, err := gguf.NewWriter(&b,
		[]gguf.KeyValue{
			{Key: "general.architecture", Value: gguf.ValueOf("llama")},
			{Key: "llama.block_count", Value: gguf.ValueOf[uint32](16)},
		},
		[]gguf.TensorInfo{{Name: "output_norm.weight", Type: gguf.F32, Shape: []int{2}}})
	if err != nil {
		log.Fatal(err)
	}
	if err := w.Begin("output_norm.weight"); err != nil {
		log.Fatal(err)
	}
	for range 2 {
		if _, err := w.Write([]byte{0, 0, 0x80, 0x3f}); err != nil {
			log.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}

	f, err := gguf.Parse(b.Bytes())
	if err != nil {
		log.Fatal(err)
	}
	layers, _ := f.Uint("llama.block_count")
	norm, _ := f.Tensor("output_norm.weight")
	fmt.Println(layers, norm.DType, norm.Shape, norm.Data)
	// Output: 16 f32 [2] [0 0 128 63 0 0 128 63]
}
