package llama

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/cost"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/internal/mutate"
	"github.com/antigravity-go/antigravity/tensor"
)

// adapterMutants makes adapters that are damaged at one place: a function of the seed.
type adapterMutants struct {
	model  *Model
	config string
	list   []matrix
	peft   []byte
	gguf   []byte
}

func newAdapterMutants(t testing.TB) *adapterMutants {
	m := mustLoad(t, fixture.Path(t, adaptedBase), &LoadOptions{Threads: 1})
	list := randomAdapter(m, 3, 2, "layers.0.self_attn.q_proj", "layers.1.mlp.up_proj")
	config := plainConfig(t, map[string]any{"r": 2, "target_modules": []string{"q_proj", "up_proj"}, "layers_to_transform": nil,
		"rank_pattern": map[string]any{"layers.0.self_attn.q_proj": 2}, "alpha_pattern": map[string]any{"up_.*": 7}, "exclude_modules": "x"})
	return &adapterMutants{
		model: m, config: string(config), list: list, peft: peftFolder(t, config, list)[checkpoint.AdapterWeightsFile].Data,
		gguf: ggufAdapter(t, checkpoint.Tensors(m.config), list, checkpoint.AdapterMetadata(m.config, "x", 4), tensor.F32),
	}
}

// files returns the files of a mutant, and its path among them.
func (a *adapterMutants) files(t testing.TB, seed uint64) (fstest.MapFS, string) {
	r := rand.New(rand.NewPCG(seed, 11))
	switch r.IntN(4) {
	case 0:
		return fstest.MapFS{"x": {Data: damaged(a.gguf, r)}}, "x"
	case 1: // the header of safetensors is JSON
		n := binary.LittleEndian.Uint64(a.peft)
		header := mutate.JSON(r, string(a.peft[8:8+n]))
		data := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
		data = append(append(data, header...), a.peft[8+n:]...)
		return fstest.MapFS{checkpoint.AdapterConfigFile: {Data: []byte(a.config)}, checkpoint.AdapterWeightsFile: {Data: data}}, "."
	case 2: // shapes, names and numbers of tensors that fit each other in a file, and perhaps not the model
		list := make([]matrix, len(a.list))
		copy(list, a.list)
		for range 1 + r.IntN(2) {
			m := &list[r.IntN(len(list))]
			switch r.IntN(4) {
			case 0:
				m.name = strings.Replace(m.name, "0", fmt.Sprint(r.IntN(9)), 1)
			case 1:
				m.name = strings.Replace(m.name, "q_proj", []string{"k_proj", "embed_tokens", "", "x"}[r.IntN(4)], 1)
			case 2:
				m.shape = []int{m.shape[1], m.shape[0]}
			case 3:
				n := []int{0, 1, 3, 1000}[r.IntN(4)]
				m.shape, m.values = []int{n, m.shape[1]}, make([]float32, n*m.shape[1])
			}
		}
		names := map[string]bool{}
		for i := range list {
			names[list[i].name] = true
		}
		if len(names) < len(list) { // the format does not allow that
			list = a.list
		}
		return peftFolder(t, []byte(a.config), list), "."
	}
	return fstest.MapFS{checkpoint.AdapterConfigFile: {Data: []byte(mutate.JSON(r, a.config))}, checkpoint.AdapterWeightsFile: {Data: a.peft}}, "."
}

// damaged returns a copy with some bytes changed, or cut off.
func damaged(data []byte, r *rand.Rand) []byte {
	data = bytes.Clone(data)
	at := r.IntN(min(len(data)-8, 1+r.IntN(3000)))
	switch r.IntN(4) {
	case 0:
		return data[:r.IntN(len(data))]
	case 1:
		data[at] ^= 1 << r.IntN(8)
	case 2:
		binary.LittleEndian.PutUint64(data[at:], []uint64{0, 1, 1 << 31, 1 << 40, 1<<64 - 1}[r.IntN(5)])
	case 3:
		data[at] = byte(r.Uint32())
	}
	return data
}

// try loads and uses a mutant, and reports whether that worked.
func (a *adapterMutants) try(t testing.TB, seed uint64) bool {
	files, path := a.files(t, seed)
	began := cost.Seconds()
	adapter, err := a.model.LoadAdapterFS(context.Background(), files, path)
	if err != nil {
		if text := err.Error(); strings.Contains(text, "internal error") || strings.Contains(text, "runtime error") || len(text) > 2*maxMessage {
			t.Errorf("mutant %d: %v", seed, err)
		}
		return false
	}
	defer adapter.Close()
	logitsWith(t, a.model, &SessionOptions{Adapter: adapter}, []Token{1, 2, 3})
	if _, err := adapter.Fingerprint(); err != nil {
		t.Errorf("mutant %d: %v", seed, err)
	}
	if units := cost.InUnits(cost.Seconds() - began); units > 50 {
		t.Errorf("mutant %d takes %.1f units of processor time", seed, units)
	}
	return true
}

// TestAdapterMutants loads damaged adapters: loading never panics, and an adapter that loads can be used.
func TestAdapterMutants(t *testing.T) {
	effort.Turn(t, 8)
	mutants := effort.Of(500, 1500, 10000)
	a, loaded := newAdapterMutants(t), 0
	for seed := range uint64(mutants) {
		if a.try(t, seed) {
			loaded++
		}
	}
	t.Logf("%d of %d mutants were loaded", loaded, mutants)
	if loaded < mutants/20 {
		t.Error("so few were loaded that what comes after loading is not tested")
	}
}

// FuzzAdapter is for the fuzzer, which chooses seeds, or the files of an adapter, without end.
func FuzzAdapter(f *testing.F) {
	a := newAdapterMutants(f)
	f.Add(uint64(1), []byte(a.config), a.peft, a.gguf)
	f.Fuzz(func(t *testing.T, seed uint64, config, weights, gguf []byte) {
		a.try(t, seed)
		for path, files := range map[string]fstest.MapFS{
			".": {checkpoint.AdapterConfigFile: {Data: config}, checkpoint.AdapterWeightsFile: {Data: weights}}, "x": {"x": {Data: gguf}},
		} {
			adapter, err := a.model.LoadAdapterFS(context.Background(), files, path)
			if err != nil {
				if strings.Contains(err.Error(), "runtime error") {
					t.Error(err)
				}
				continue
			}
			logitsWith(t, a.model, &SessionOptions{Adapter: adapter}, []Token{1})
			if err := adapter.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}
