//go:build opencl && (amd64 || arm64)

package opencl

import (
	"encoding/binary"
	"strings"
)

// dotWays are instructions that multiply four bytes with four and add up: the option that dot.cl knows one by, and what the
// device's extensions contain where it may have it.
var dotWays = []struct{ option, extension string }{
	{" -DDOT_KHR", "cl_khr_integer_dot_product"},
	{" -DDOT_ARM", "cl_arm_integer_dot_product_accumulate_int8"},
	{" -DDOT_NV", "cl_nv_"}, // from compute capability 6.1 on
}

// dotOption returns the option for a way that the device has, "" where it has none that compiles and computes what it should.
func (b *Backend) dotOption() string {
	for _, way := range dotWays {
		if strings.Contains(b.device.Extensions, way.extension) && b.dotWorks(way.option) {
			return way.option
		}
	}
	return ""
}

// dotWorks tries a way on the device.
func (b *Backend) dotWorks(option string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	const items = 256
	k, err := b.kernel(program{"common dot probe", "-DGROUP=128" + option}, "probe_dot")
	if err != nil {
		return false
	}
	wrong, err := b.scratchOf(indexScratch, 4*items)
	if err != nil {
		return false
	}
	k.Mem(wrong)
	if b.runFlat("try integer products", k, items) != nil {
		return false
	}
	counts := make([]byte, 4*items)
	if b.context.Read(wrong, 0, counts) != nil {
		return false
	}
	for i := 0; i < len(counts); i += 4 {
		if binary.LittleEndian.Uint32(counts[i:]) != 0 {
			return false
		}
	}
	return true
}
