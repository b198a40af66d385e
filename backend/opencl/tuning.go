//go:build opencl && (amd64 || arm64)

package opencl

import "github.com/antigravity-go/antigravity/backend/opencl/internal/cl"

// tuning holds how the products of few rows are divided among work-items on this device.
type tuning struct {
	device   *cl.Device
	programs map[programVariant]program
}

type programVariant struct {
	macro string
	teams teams
}

func (t *tuning) init(d *cl.Device) {
	t.device, t.programs = d, map[programVariant]program{}
}

// program returns the program of a format's products, without making its options anew.
func (t *tuning) program(macro string, of teams) program {
	key := programVariant{macro, of}
	p, ok := t.programs[key]
	if !ok {
		p = matvecProgram(macro, of)
		t.programs[key] = p
	}
	return p
}

// teamsFor returns how a product with n rows of weights is divided: the more rows a team computes at once the fewer
// activations are loaded, but the device wants work-items enough to hide its memory's latency.
func (b *Backend) teamsFor(w *weights, n int) teams {
	enough := b.device.Units * 1024
	t := teams{group: 128, rows: 1}
	for t.rows < 4 && n*w.lanes/(2*t.rows) >= enough {
		t.rows *= 2
	}
	return t
}
