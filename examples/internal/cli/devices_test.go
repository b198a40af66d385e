package cli

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/backendtest"
	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/tensor"
)

// TestDivision opens devices as flags say, and refuses flags that make no sense. The cards of the
// test compute on the processor, with memory that ends.
func TestDivision(t *testing.T) {
	backend.Register("zcards", func(o backend.Options) (backend.Backend, error) {
		d := backendtest.NewDevice(cpu.New(1), func(string, *tensor.Tensor) error { return nil })
		if d.Bytes = 1 << 30; o.Device == "small" {
			d.Bytes = 1 << 20
		}
		return d, nil
	})
	for line, want := range map[string]string{
		"":                                             "cpu: 8",
		"-backend zcards":                              "cpu-test: 8",
		"-backend zcards -gpu-layers all":              "cpu-test: 8",
		"-backend zcards -gpu-layers 0":                "cpu: 8",
		"-backend zcards -gpu-layers 4":                "cpu: 4, cpu-test: 4",
		"-backend zcards -gpu-layers 99":               "cpu-test: 8",
		"-backend zcards -devices cpu,big:5":           "cpu: 3, cpu-test: 5",
		"-backend zcards -devices big:2,cpu":           "cpu-test: 2, cpu: 6",
		"-backend zcards -devices 0,1 -cache-tokens 9": "cpu-test: 7, cpu-test: 1",
		"-backend zcards -devices small":               "has 1.0 MB free",
		"-backend zcards -devices small,small":         "bytes of the devices' memory",
		"-devices cpu:3,cpu":                           "cpu: 3, cpu: 5",
		"-devices cpu:3,cpu:4":                         "LoadOptions.Devices is [3 4]: it must be",
		"-gpu-layers 3":                                "-gpu-layers 3 with -backend cpu",
		"-backend zcards -gpu-layers many":             "-gpu-layers many: it must be a number",
		"-backend zcards -gpu-layers -1":               "-gpu-layers -1: it must be a number",
		"-backend zcards -gpu-layers 3 -devices cpu":   "one of the two",
		"-backend zcards -devices cpu:many":            `"cpu:many" must be a device`,
		"-backend zcards -devices cpu,":                `"" must be cpu`,
		"-devices 0":                                   `"0" must be cpu`,
	} {
		var m Model
		f := NewFlags("test", "")
		m.Flags(f)
		err := f.Parse(strings.Fields(line), io.Discard)
		var loaded *llama.Model
		var closeAll func() error
		if err == nil {
			loaded, closeAll, err = m.Load(t.Context(), io.Discard)
		}
		var got []string
		if err != nil {
			got = append(got, err.Error())
		} else {
			for _, d := range loaded.Devices() {
				got = append(got, fmt.Sprintf("%s: %d", d.Device, d.Layers))
			}
			if err := closeAll(); err != nil {
				t.Error(err)
			}
		}
		if text := strings.Join(got, ", "); text != want && (err == nil || !strings.Contains(text, want)) {
			t.Errorf("%s: %s, want %s", line, text, want)
		}
	}
}
