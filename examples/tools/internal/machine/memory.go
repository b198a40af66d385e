package machine

import (
	"fmt"
	"unsafe"

	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/quant"
	"github.com/antigravity-go/antigravity/tensor"
)

// A thread reads stretch bytes in one step. The kernel of f32 weights reads them as stretchPanels panels with rows of stretchRow elements.
const (
	stretch       = 1 << 20
	stretchPanels = 4
	floatBytes    = 4
	stretchRow    = stretch / (stretchPanels * asm.PanelRows * floatBytes)
)

// memoryParts allocates span bytes in a part for each thread.
func memoryParts(threads, span int) (parts [][]byte, free func() error, err error) {
	size := span / threads / stretch * stretch
	if size == 0 {
		return nil, nil, fmt.Errorf("%d threads reading %d bytes: each needs at least %d", threads, span, stretch)
	}
	var memory tensor.Galloc
	buffer, err := memory.Alloc(size*threads, tensor.U8)
	if err != nil {
		return nil, nil, err
	}
	data := buffer.Bytes()
	clear(data) // a page that was never written is no memory yet
	for ; len(data) > 0; data = data[size:] {
		parts = append(parts, data[:size])
	}
	return parts, buffer.Free, nil
}

// readStep returns a step that reads the next stretch of a part.
func readStep(part []byte, read func([]byte)) step {
	at := 0
	return func() int {
		read(part[at : at+stretch])
		at = (at + stretch) % len(part)
		return stretch
	}
}

// readers returns the ways to read a stretch. Each is a function that makes a reader for one thread.
func readers(kernels *asm.Kernels) []func() func([]byte) {
	list := []func() func([]byte){func() func([]byte) {
		sink := uint64(0)
		return func(b []byte) { sink += touchLines(b) }
	}}
	panels := kernels.PanelsFor(quant.F32)
	if panels == nil {
		return list
	}
	return append(list, func() func([]byte) {
		p := asm.PanelProduct{
			Count: stretchPanels, Out: make([]float32, stretchPanels*asm.PanelRows), Stride: stretchPanels * asm.PanelRows,
			Acts: &quant.Activation{Form: quant.Float, Rows: 1, K: stretchRow, X: make([]float32, stretchRow)},
		}
		return func(b []byte) {
			p.Panels = b
			panels.Multiply(&p)
		}
	})
}

// touchLines reads a word of each cache line, in four places in turn: a core gets more out of memory in four streams than
// in one.
func touchLines(b []byte) uint64 {
	const line = 8 // words
	words := unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/8)
	quarter := len(words) / 4
	w, x, y, z := words[:quarter], words[quarter:2*quarter], words[2*quarter:3*quarter], words[3*quarter:4*quarter]
	var sum [4]uint64
	for len(w) >= line && len(x) >= line && len(y) >= line && len(z) >= line {
		sum[0] += w[0]
		sum[1] += x[0]
		sum[2] += y[0]
		sum[3] += z[0]
		w, x, y, z = w[line:], x[line:], y[line:], z[line:]
	}
	return sum[0] + sum[1] + sum[2] + sum[3]
}

// addStep returns a step that adds vectors which stay in the caches.
func addStep(kernels *asm.Kernels) step {
	const elements = 8 << 10 // of each vector, 64 KiB together
	x, y := make([]float32, elements), make([]float32, elements)
	return func() int {
		kernels.Add(x, y)
		return 3 * floatBytes * elements // x and y are read, and x is written
	}
}
