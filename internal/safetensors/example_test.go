package safetensors_test

import (
	"bytes"
	"fmt"
	"log"

	"github.com/antigravity-go/antigravity/internal/safetensors"
)

// A file is written as a stream, header first, and read in place.
func Example() {
	var b bytes.Buffer
	w, err := safetensors.NewWriter(&b, nil, []safetensors.TensorInfo{{Name: "model.norm.weight", DType: "BF16", Shape: []int{2}}})
	if err != nil {
		log.Fatal(err)
	}
	if err := w.WriteTensor("model.norm.weight", []byte{0x80, 0x3f, 0, 0x40}); err != nil {
		log.Fatal(err)
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}

	f, err := safetensors.Parse(b.Bytes())
	if err != nil {
		log.Fatal(err)
	}
	norm, _ := f.Tensor("model.norm.weight")
	dtype, err := norm.ElementType()
	fmt.Println(dtype, norm.Shape, norm.Data, err)
	// Output: bf16 [2] [128 63 0 64] <nil>
}
