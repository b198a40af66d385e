package backend

import (
	"unsafe"

	"github.com/antigravity-go/antigravity/tensor"
)

// ReadFloats waits for an F32 tensor and copies its elements to the host; len(dst) is how many there are.
func ReadFloats(b Backend, t *tensor.Tensor, dst []float32) error {
	if err := needF32("ReadFloats", t); err != nil {
		return err
	}
	return b.ReadBuffer(t, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(dst))), 4*len(dst)))
}
