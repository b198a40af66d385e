//go:build opencl && (amd64 || arm64)

package opencl

import (
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/backendtest"
)

// TestGroupedExperts multiplies the pairs of an expert together, in tiles: for each type of weights the bits are those of the reference. A device
// with instructions for matrices does it with them, and without.
func TestGroupedExperts(t *testing.T) {
	gpu := openTest(t, Options{})
	gpu.tuning.forced = &tiled
	matrix := gpu.products.matrix
	for name, way := range map[string]*matrixWay{"blocks": nil, "matrices": matrix} {
		if name == "matrices" && matrix == nil {
			continue
		}
		t.Run(name, func(t *testing.T) {
			gpu.products.matrix = way
			s := &backendtest.Suite{Backend: gpu, Exact: backend.BitExact(gpu), Seed: 3, Timeout: 5 * time.Minute}
			seen := map[string]bool{}
			for _, c := range backendtest.Checks(true) {
				kind := c.Type + c.Shape
				if c.Operation != "MatMulExperts" || !c.Prepared || seen[kind] || s.Stuck() {
					continue
				}
				seen[kind] = true
				if r, err := s.Do(t.Context(), c); err != nil || r.Verdict.Bad() {
					t.Errorf("%v: %v, %+v", c, err, r)
				}
			}
		})
	}
	gpu.products.matrix = matrix
}
