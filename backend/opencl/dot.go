//go:build opencl && (amd64 || arm64)

package opencl

import (
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/backend/opencl/internal/compiler"
)

// dotWays are instructions that multiply four bytes with four and add up: the option that dot.cl knows one by, and what the
// device's extensions contain if it may have it.
var dotWays = []struct{ option, extension string }{
	{" -DDOT_KHR", "cl_khr_integer_dot_product"},
	{" -DDOT_ARM", "cl_arm_integer_dot_product_accumulate_int8"},
	{" -DDOT_NV", "cl_nv_"}, // from compute capability 6.1 on
}

// dotProbe returns the program that tries a way.
func dotProbe(option string) program { return compiler.Of("common dot probe", "-DGROUP=128"+option) }

// dotOption returns the option for a way that the device has, "" if no way compiles and computes what it should.
func dotOption(q *queue) (string, error) {
	for _, way := range dotWays {
		if !strings.Contains(q.device.Extensions, way.extension) {
			continue
		}
		const items = 256
		if works, err := wayWorks(q, dotProbe(way.option), "probe_dot", groupSize, items); works || err != nil {
			return way.option, err
		}
	}
	return "", nil
}

// wayWorks tries a way on the device by a kernel on a number of work-items, in groups of a size, which count wrong results. A kernel that
// does not compile is no error.
func wayWorks(q *queue, p program, name string, size, items int) (bool, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	k, err := q.kernel(p, name)
	if err != nil {
		return false, nil
	}
	wrong, err := q.scratchOf(indexScratch, 4*items)
	if err != nil {
		return false, err
	}
	if err := q.run("try "+name, k.Mem(wrong), size, groups(items, size), 1, 1); err != nil {
		return false, err
	}
	counts := make([]byte, 4*items)
	if err := q.context.Read(wrong, 0, counts); err != nil {
		return false, q.fail("try "+name, err)
	}
	return !slices.ContainsFunc(counts, func(c byte) bool { return c != 0 }), nil
}
