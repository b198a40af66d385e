//go:build opencl && (amd64 || arm64)

package opencl

import (
	"slices"
	"strings"
)

// dotWays are instructions that multiply four bytes with four and add up: the option that dot.cl knows one by, and what the
// device's extensions contain if it may have it.
var dotWays = []struct{ option, extension string }{
	{" -DDOT_KHR", "cl_khr_integer_dot_product"},
	{" -DDOT_ARM", "cl_arm_integer_dot_product_accumulate_int8"},
	{" -DDOT_NV", "cl_nv_"}, // from compute capability 6.1 on
}

// dotOption returns the option for a way that the device has, "" if no way compiles and computes what it should.
func dotOption(q *queue) (string, error) {
	for _, way := range dotWays {
		if !strings.Contains(q.device.Extensions, way.extension) {
			continue
		}
		if works, err := dotWorks(q, way.option); works || err != nil {
			return way.option, err
		}
	}
	return "", nil
}

// dotWorks tries a way on the device. That it does not compile is no error.
func dotWorks(q *queue, option string) (bool, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	const items = 256
	k, err := q.kernel(program{"common dot probe", "-DGROUP=128" + option}, "probe_dot")
	if err != nil {
		return false, nil
	}
	wrong, err := q.scratchOf(indexScratch, 4*items)
	if err != nil {
		return false, err
	}
	if err := q.runFlat("try integer products", k.Mem(wrong), items); err != nil {
		return false, err
	}
	counts := make([]byte, 4*items)
	if err := q.context.Read(wrong, 0, counts); err != nil {
		return false, q.fail("try integer products", err)
	}
	return !slices.ContainsFunc(counts, func(c byte) bool { return c != 0 }), nil
}
