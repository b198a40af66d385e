package host_test

import (
	"math"
	"testing"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/backend/host"
)

// TestMask masks two rows, each by its own words, on every kind of backend.
func TestMask(t *testing.T) {
	s := newSource(t)
	c := cpu.New(2)
	defer c.Close()
	const n = 70
	allowed := []uint64{1<<3 | 1<<63, 1 << 5, math.MaxUint64, ^uint64(1<<6 - 1)} // of the second row's last 6 elements, 0
	for _, b := range []backend.Backend{host.NewReference(), c} {
		x := s.floats(2, n)
		before := copied(t, x)
		var call backend.Call[backend.Mask, *backend.Mask]
		if err := call.Run(b, backend.Mask{X: x, Allowed: allowed}); err != nil {
			t.Fatal(err)
		}
		for i, got := range values(t, x) {
			want := float32(math.Inf(-1))
			if i == 3 || i == 63 || i == 64+5 || i >= n && i < n+64 {
				want = before[i]
			}
			if got != want {
				t.Errorf("%s: element %d of row %d is %g, want %g", b.Name(), i%n, i/n, got, want)
			}
		}
		if allocated := testing.AllocsPerRun(20, func() {
			if err := call.Run(b, backend.Mask{X: x, Allowed: allowed}); err != nil {
				t.Fatal(err)
			}
		}); allocated != 0 {
			t.Errorf("%s: %v allocations", b.Name(), allocated)
		}
	}
}
