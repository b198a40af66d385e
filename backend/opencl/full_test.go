//go:build opencl && (amd64 || arm64)

package opencl

import (
	"errors"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/pebble"
	"github.com/antigravity-go/antigravity/tensor"
)

// TestFullDevice has a device with less memory than a model takes: the model is refused, and the error says how many layers would fit; with the processor it is
// loaded; and a buffer for which there is no room is tensor.ErrNoMemory.
func TestFullDevice(t *testing.T) {
	const has = 3 << 20
	b := openTest(t, Options{memory: has})
	o := &llama.LoadOptions{Backend: b, WarmUp: -1}
	if _, err := pebble.Load(o); !errors.Is(err, tensor.ErrNoMemory) || !strings.Contains(err.Error(), "layers would fit") {
		t.Error(err)
	}
	o.Backend, o.Devices = nil, []llama.DeviceLayers{{}, {Backend: b, Layers: 2}}
	m, err := pebble.Load(o)
	must(t, err)
	if used := b.Memory().Used(); used == 0 || used > has {
		t.Errorf("%d bytes in use of %d", used, has)
	}
	if _, err := b.Memory().Alloc(has, tensor.F32); !errors.Is(err, tensor.ErrNoMemory) {
		t.Error(err)
	}
	must(t, m.Close())
}
