package llama_test

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/backendtest"
	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/tensor"
)

// never lets every call of a backendtest.Device succeed.
func never(string, *tensor.Tensor) error { return nil }

// oneEach returns devices for a model of up to n layers, in turn the processor and a device that is another one, each with as few layers as possible.
func oneEach(t testing.TB, n int) *llama.LoadOptions {
	t.Helper()
	processor := cpu.New(1)
	t.Cleanup(func() { processor.Close() })
	backends := []backend.Backend{processor, backendtest.NewDevice(processor, never)}
	o := &llama.LoadOptions{}
	for i := range n {
		o.Devices = append(o.Devices, llama.DeviceLayers{Backend: backends[i%2]})
	}
	return o
}

// TestDevicesGiveTheSameBits divides models of all families between as many devices as they can be divided between, and compares their logits, vectors and labels
// with the digests of TestDigests. Layers that share caches stay together.
func TestDevicesGiveTheSameBits(t *testing.T) {
	raw, err := os.ReadFile("testdata/digests.json")
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]string
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatal(err)
	}
	check := func(key, got string, m *llama.Model) {
		t.Logf("%s: %v", key, m.Devices())
		if got != want[key] {
			t.Errorf("%s on %d devices: the digest is %s, want %s", key, len(m.Devices()), got, want[key])
		}
	}
	always := []string{"gemma3n", "gemma4-e", "granite4h", "qwen35moe", "deepseek-v2-lite"}
	for i, name := range families {
		if effort.Share(i, 4) || slices.Contains(always, name) {
			m := familyModel(t, name, oneEach(t, 12))
			check(name+", cache f16", digest(t, m, tensor.F16), m)
			m.Close()
		}
	}
	for i, name := range []string{"enc-bert", "enc-modernbert", "enc-mpnet", "rank-xlmr", "cls-deberta", "tok-bert", "privacy-filter"} {
		if effort.Share(i, 4) {
			m := familyModel(t, name, oneEach(t, 12))
			check(name, textDigest(t, m), m)
			m.Close()
		}
	}
	for i, name := range []string{"vl-qwen3vl", "vl-gemma4-e", "vl-gemma3"} {
		if effort.Share(i, 2) {
			dir := fixture.Path(t, "families/"+name)
			m := familyModel(t, name, oneEach(t, 12))
			check(name, imageDigest(t, m, dir), m)
			m.Close()
		}
	}
	for i, weights := range []tensor.DType{0, tensor.Q8_0} {
		o := oneEach(t, 3)
		o.Weights = weights
		m, err := llama.Load(fixture.Path(t, "hf/llama32-tied-bf16"), o)
		if err != nil {
			t.Fatal(err)
		}
		check([]string{"llama32-tied-bf16", "llama32-tied-bf16 as q8_0"}[i]+", cache f16", digest(t, m, tensor.F16), m)
		m.Close()
	}

}

// TestDevicesGiveMemoryBack closes models on several devices, one of them before all of its weights were there.
func TestDevicesGiveMemoryBack(t *testing.T) {
	for _, name := range []string{"families/gemma4-e", "hf/llama32-tied-bf16", "hf/llama32-sharded-f16"} {
		for fails := range 2 {
			fault := &backendtest.Fault{Err: errDevice, In: []string{"Prepare", "CopyFrom"}}
			if fails > 0 {
				fault.Arm(3)
			}
			first, second := cpu.New(1), cpu.New(1)
			defer first.Close()
			defer second.Close()
			o := &llama.LoadOptions{Devices: []llama.DeviceLayers{{Backend: first, Layers: 1}, {Backend: backendtest.NewDevice(second, fault.Before)}}}
			m, err := llama.Load(fixture.Path(t, name), o)
			if fails > 0 != errors.Is(err, errDevice) {
				t.Fatalf("%s: %v", name, err)
			}
			if err == nil {
				s := newSession(t, m, nil)
				if err := s.Prefill(t.Context(), shortStream(20)); err != nil {
					t.Fatal(err)
				}
				if err := m.Close(); err != nil {
					t.Error(err)
				}
				for _, d := range m.Devices() {
					if d.Weights != 0 || d.Mapped != 0 || d.Caches != 0 {
						t.Errorf("%s: closed, %+v", name, d)
					}
				}
			}
			if a, b := first.Memory().Used(), second.Memory().Used(); a != 0 || b != 0 {
				t.Errorf("%s, failing %d: %d and %d bytes stay", name, fails, a, b)
			}
		}
	}
}
