package llama

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/host"
	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/tensor"
)

const (
	adaptedBase = "families/lora-all/base"
	adapterDir  = "families/lora-all/adapter"
)

// mustAdapter loads an adapter.
func mustAdapter(t testing.TB, m *Model, path string) *Adapter {
	t.Helper()
	a, err := m.LoadAdapter(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

// inBothWays calls f with the fixture's model and options of sessions: with the adapter apart from the weights, and merged into them, on one device and on
// two.
func inBothWays(t *testing.T, f func(t *testing.T, m *Model, o SessionOptions)) {
	base, adapter := fixture.Path(t, adaptedBase), fixture.Path(t, adapterDir)
	t.Run("beside", func(t *testing.T) {
		m := mustLoad(t, base, nil)
		f(t, m, SessionOptions{Adapter: mustAdapter(t, m, adapter)})
	})
	t.Run("merged", func(t *testing.T) {
		f(t, mustLoad(t, base, &LoadOptions{Adapters: []AdapterFile{{Path: adapter}}}), SessionOptions{})
	})
	two := []DeviceLayers{{Layers: 1}, {}}
	if !effort.Share(0, 2) {
		return
	}
	t.Run("beside, on two devices", func(t *testing.T) {
		m := mustLoad(t, base, &LoadOptions{Devices: two})
		f(t, m, SessionOptions{Adapter: mustAdapter(t, m, adapter)})
	})
	t.Run("merged, on two devices", func(t *testing.T) {
		f(t, mustLoad(t, base, &LoadOptions{Devices: two, Adapters: []AdapterFile{{Path: adapter}}}), SessionOptions{})
	})
}

// TestAdaptedLogitsEqualPEFT compares with what PEFT computed.
func TestAdaptedLogitsEqualPEFT(t *testing.T) {
	const tolerance = 1e-5
	g := readGolden(t, filepath.Join(fixture.Path(t, adapterDir), "golden.safetensors"))
	inBothWays(t, func(t *testing.T, m *Model, o SessionOptions) {
		worst := 0.0
		for _, chunk := range []int{1, 5, 48} {
			o.KV, o.Chunk = tensor.F32, chunk
			for n := 1; n <= len(g.input); n++ {
				if chunk > 1 && n < len(g.input) && !effort.Share(n, 4) {
					continue
				}
				s := mustSession(t, m, &o)
				if err := s.Prefill(t.Context(), g.input[:n]); err != nil {
					t.Fatal(err)
				}
				e := relativeError(logitsOf(s), g.logits[n-1])
				if worst = max(worst, e); e > tolerance {
					t.Errorf("prefill of %d tokens in chunks of %d: relative error %.2g", n, chunk, e)
				}
				s.Close()
			}
		}
		t.Logf("largest relative error %.2g", worst)
		o.Adapter = nil
		s := mustSession(t, m, &o)
		if err := s.Prefill(t.Context(), g.input); err != nil {
			t.Fatal(err)
		}
		if e := relativeError(logitsOf(s), g.logits[len(g.input)-1]); (e > 0.05) != strings.Contains(t.Name(), "beside") {
			t.Errorf("without the adapter the relative error is %.2g: it makes no difference", e)
		}
	})
}

func TestAdaptedGreedyTokensEqualPEFT(t *testing.T) {
	const prompt = 8
	want := readGolden(t, filepath.Join(fixture.Path(t, adapterDir), "golden.safetensors")).greedy
	inBothWays(t, func(t *testing.T, m *Model, o SessionOptions) {
		s := mustSession(t, m, &o)
		if err := s.Prefill(t.Context(), want[:prompt]); err != nil {
			t.Fatal(err)
		}
		got := slices.Clone(want[:prompt])
		for len(got) < len(want) { // end-of-text is ignored, so not Generate
			logits := logitsOf(s)
			got = append(got, Token(slices.Index(logits, slices.Max(logits))))
			if err := s.Prefill(t.Context(), got[len(got)-1:]); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("greedy tokens %v, want %v", got, want)
		}
	})
}

// logitsWith returns the logits after some tokens.
func logitsWith(t testing.TB, m *Model, o *SessionOptions, tokens []Token) []float32 {
	t.Helper()
	s, err := m.NewSession(o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Prefill(context.Background(), tokens); err != nil {
		t.Fatal(err)
	}
	return logitsOf(s)
}

// someTokens returns n tokens of a vocabulary of 512.
func someTokens(n, from int) []Token {
	list := make([]Token, n)
	for i := range list {
		list[i] = Token((from + i) * 7919 % 512)
	}
	return list
}

// TestGGUFAdapterEqualsPEFT compares both formats of one adapter bit for bit, apart from the weights and merged.
func TestGGUFAdapterEqualsPEFT(t *testing.T) {
	base, peft := fixture.Path(t, adaptedBase), fixture.Path(t, adapterDir)
	m := mustLoad(t, base, nil)
	files := fstest.MapFS{"adapter.gguf": {Data: ggufAdapter(t, checkpoint.Tensors(m.config), readAdapter(t), checkpoint.AdapterMetadata(m.config, "all", 16), tensor.F32)}}
	a, err := m.LoadAdapterFS(t.Context(), files, "adapter.gguf")
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	tokens := someTokens(20, 3)
	want := logitsWith(t, m, &SessionOptions{Adapter: mustAdapter(t, m, peft)}, tokens)
	if got := logitsWith(t, m, &SessionOptions{Adapter: a}, tokens); !slices.Equal(got, want) {
		t.Error("the GGUF adapter gives other logits beside the weights")
	}
	path := filepath.Join(t.TempDir(), "adapter.gguf")
	mustWrite(t, path, files["adapter.gguf"].Data)
	want = logitsWith(t, mustLoad(t, base, &LoadOptions{Adapters: []AdapterFile{{Path: peft}}}), nil, tokens)
	if got := logitsWith(t, mustLoad(t, base, &LoadOptions{Adapters: []AdapterFile{{Path: path}}}), nil, tokens); !slices.Equal(got, want) {
		t.Error("the GGUF adapter gives other logits when it is merged")
	}
	for _, d := range []tensor.DType{tensor.F16, tensor.BF16, tensor.Q8_0} {
		files["adapter.gguf"].Data = ggufAdapter(t, checkpoint.Tensors(m.config), readAdapter(t), checkpoint.AdapterMetadata(m.config, "all", 16), d)
		b, err := m.LoadAdapterFS(t.Context(), files, "adapter.gguf")
		if err != nil {
			t.Fatal(err)
		}
		if e := relativeError(logitsWith(t, m, &SessionOptions{Adapter: b}, tokens), want); e > 0.1 {
			t.Errorf("%v: relative error %.2g", d, e)
		}
		b.Close()
	}
}

// TestAdapterOfAnyModel compares merged weights with adapters apart from them, for models of each type, because GGUF orders their q and k
// differently, and for ranks that no kernel likes.
func TestAdapterOfAnyModel(t *testing.T) {
	for _, name := range []string{"hf/llama32-tied-bf16", "hf/llama2-mha-f32"} {
		dir := fixture.Path(t, name)
		for _, w := range []tensor.DType{0, tensor.F32, tensor.Q8_0} {
			m := mustLoad(t, dir, &LoadOptions{Weights: w})
			tokens := someTokens(9, 1)
			plain := logitsWith(t, m, nil, tokens)
			for i, rank := range []int{1, 3, 16, 17} {
				if !effort.Share(i+int(w), 2) {
					continue
				}
				list := randomAdapter(m, uint64(rank), rank, "q_proj", "k_proj", "down_proj", "gate_proj")
				peft := peftFolder(t, plainConfig(t, map[string]any{"r": rank, "lora_alpha": 4, "use_rslora": true,
					"target_modules": []string{"q_proj", "k_proj", "down_proj", "gate_proj"}}), list)
				a := adapterIn(t, m, peft)
				beside := logitsWith(t, m, &SessionOptions{Adapter: a, AdapterScale: 0.5, KV: tensor.F32}, tokens)
				folder := t.TempDir()
				for file, content := range peft {
					mustWrite(t, filepath.Join(folder, file), content.Data)
				}
				merged := logitsWith(t, mustLoad(t, dir, &LoadOptions{Weights: w, Adapters: []AdapterFile{{folder, 0.5}}}), &SessionOptions{KV: tensor.F32}, tokens)
				limit := map[tensor.DType]float64{0: 0.05, tensor.F32: 1e-4, tensor.Q8_0: 0.1}[w]
				if e, far := relativeError(beside, merged), relativeError(plain, merged); e > limit || far < 2*e {
					t.Errorf("%s %v rank %d: relative error %.2g between beside and merged, %.2g without the adapter", name, w, rank, e, far)
				}
			}
		}
	}
}

// threeOptions returns options of sessions with the fixture's adapter, with another one that changes a few matrices, with that at another
// scale, and without an adapter.
func threeOptions(t testing.TB, m *Model) []SessionOptions {
	first := mustAdapter(t, m, fixture.Path(t, adapterDir))
	second := adapterIn(t, m, peftFolder(t, plainConfig(t, map[string]any{"r": 3, "target_modules": `.*\.(v_proj|up_proj|o_proj)`}),
		randomAdapter(m, 5, 3, "v_proj", "up_proj", "o_proj")))
	return []SessionOptions{{Adapter: first}, {}, {Adapter: second}, {Adapter: second, AdapterScale: -0.25}}
}

// TestAdaptersInOneBatch computes sessions with different adapters, and without, at once and alone: what they save, logits and cache
// included, is the same, and on every tier what the portable reference computes.
func TestAdaptersInOneBatch(t *testing.T) {
	effort.Turn(t, 8)
	const each, tokens = 3, 24
	dir := fixture.Path(t, adaptedBase)
	prompt := func(i int) []Token { return someTokens(5+7*(i%5), i) }
	run := func(s *Session, i int) ([]byte, error) {
		if err := s.Prefill(t.Context(), prompt(i)); err != nil {
			return nil, err
		}
		for range 2 {
			if _, err := Collect(s.Generate(t.Context(), []Token{Token(i)}, Params{MaxTokens: tokens / 2})); err != nil {
				return nil, err
			}
		}
		var state bytes.Buffer
		err := s.Save(&state)
		return state.Bytes(), err
	}
	reference := host.NewReference()
	var want [][]byte
	for _, b := range []backend.Backend{reference, nil} {
		var mixed atomic.Int64
		m := mustLoad(t, dir, &LoadOptions{Backend: b, Trace: &Trace{Pass: func(p PassInfo) {
			if p.Steps > 1 {
				mixed.Add(1)
			}
		}}})
		options := threeOptions(t, m)
		alone := make([][]byte, each*len(options))
		for i := range alone {
			var err error
			if alone[i], err = run(mustSession(t, m, &options[i%len(options)]), i); err != nil {
				t.Fatal(err)
			}
		}
		if want == nil {
			want = alone
		}
		for i := range alone {
			if !bytes.Equal(alone[i], want[i]) {
				t.Errorf("session %d differs from the reference", i)
			}
		}
		for range effort.Of(1, 3, 3) {
			var all sync.WaitGroup
			for i := range alone {
				s := mustSession(t, m, &options[i%len(options)])
				all.Go(func() {
					if got, err := run(s, i); err != nil || !bytes.Equal(got, alone[i]) {
						t.Errorf("session %d in company differs: %v", i, err)
					}
				})
			}
			all.Wait()
		}
		if mixed.Load() < 10 {
			t.Errorf("only %d passes had several sessions", mixed.Load())
		}
	}
}

// TestAdapterDoesNotDependOnChunks computes a prompt in chunks of any length.
func TestAdapterDoesNotDependOnChunks(t *testing.T) {
	m := mustLoad(t, fixture.Path(t, adaptedBase), nil)
	for i, o := range threeOptions(t, m) {
		var want []float32
		for _, chunk := range []int{40, 1, 3, 16, 17} {
			o.Chunk = chunk
			got := logitsWith(t, m, &o, someTokens(40, i))
			if want == nil {
				want = got
			}
			if !slices.Equal(got, want) {
				t.Errorf("options %d: chunks of %d give other logits", i, chunk)
			}
		}
	}
}

// TestAdaptedTokensDoNotAllocate computes tokens with adapters and without, of a model on two devices, which is no other than one on one device in this.
func TestAdaptedTokensDoNotAllocate(t *testing.T) {
	m := mustLoad(t, fixture.Path(t, adaptedBase), &LoadOptions{Devices: []DeviceLayers{{Layers: 1}, {}}})
	for i, o := range threeOptions(t, m) {
		s := mustSession(t, m, &o)
		one := []Token{5}
		step := func() {
			if err := s.Prefill(t.Context(), one); err != nil {
				t.Fatal(err)
			}
		}
		for range 300 {
			step()
		}
		if n := testing.AllocsPerRun(100, step); n != 0 {
			t.Errorf("options %d: %v allocations a token", i, n)
		}
	}
}

// TestAdapterStaysWithTheSession forks, moves, saves and restores sessions with an adapter.
func TestAdapterStaysWithTheSession(t *testing.T) {
	ctx := t.Context()
	dir := fixture.Path(t, adaptedBase)
	m := mustLoad(t, dir, nil)
	other := mustLoad(t, dir, &LoadOptions{Backend: host.NewReference()})
	options := threeOptions(t, m)
	tokens := someTokens(30, 2)
	for i := range options {
		o := &options[i]
		want := logitsWith(t, m, o, tokens)
		s := mustSession(t, m, o)
		if err := s.Prefill(ctx, tokens[:20]); err != nil {
			t.Fatal(err)
		}
		var state bytes.Buffer
		if err := s.Save(&state); err != nil {
			t.Fatal(err)
		}
		fork, err := s.Fork()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fork.Move(ctx, other); err != nil {
			t.Fatal(err)
		}
		restored, err := m.Restore(bytes.NewReader(state.Bytes()), o)
		if err != nil {
			t.Fatal(err)
		}
		for what, s := range map[string]*Session{"itself": s, "its copy, moved": fork, "restored": restored} {
			if err := s.Prefill(ctx, tokens[20:]); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(logitsOf(s), want) {
				t.Errorf("options %d: the session %s goes on differently", i, what)
			}
			s.Close()
		}
		for k := range options {
			if _, err := m.Restore(bytes.NewReader(state.Bytes()), &options[k]); k != i && !errors.Is(err, ErrStateMismatch) {
				t.Errorf("a state with options %d was restored with options %d: %v", i, k, err)
			}
		}
	}
	a, b := options[0].Adapter, options[2].Adapter
	printA, errA := a.Fingerprint()
	printB, errB := b.Fingerprint()
	if errA != nil || errB != nil || printA == printB || len(printA) != 16 {
		t.Errorf("fingerprints %q and %q, %v, %v", printA, printB, errA, errB)
	}
}

// TestPoolsOfAdapters has a pool for each adapter of one model: their answers are those of new sessions, whatever is cached.
func TestPoolsOfAdapters(t *testing.T) {
	m := mustLoad(t, fixture.Path(t, adaptedBase), nil)
	options := threeOptions(t, m)
	pools := make([]*Pool, len(options))
	for i := range options {
		var err error
		if pools[i], err = m.NewPool(&PoolOptions{Session: options[i], MaxBytes: 1 << 30}); err != nil {
			t.Fatal(err)
		}
		defer pools[i].Close()
	}
	prompt, seen := someTokens(40, 9), map[string]bool{}
	for range 2 {
		for i := range options {
			want, err := Collect(mustSession(t, m, &options[i]).Generate(t.Context(), prompt, Params{MaxTokens: 12}))
			if err != nil {
				t.Fatal(err)
			}
			got, err := Collect(pools[i].Generate(t.Context(), prompt, Params{MaxTokens: 12}))
			if err != nil || !slices.Equal(got.Tokens, want.Tokens) {
				t.Errorf("pool %d answers %v, a session %v: %v", i, got.Tokens, want.Tokens, err)
			}
			seen[fmt.Sprint(got.Tokens)] = true
		}
	}
	if len(seen) < 3 {
		t.Errorf("%d different answers of %d adapters", len(seen), len(options))
	}
}

// TestClosingAdapters closes adapters and models in every order, with sessions that use them.
func TestClosingAdapters(t *testing.T) {
	dir, path := fixture.Path(t, adaptedBase), fixture.Path(t, adapterDir)
	m := mustLoad(t, dir, nil)
	before := m.MemoryUsage()
	a, err := m.LoadAdapter(path)
	if err != nil {
		t.Fatal(err)
	}
	if m.MemoryUsage().Weights <= before.Weights {
		t.Error("the adapter takes no memory")
	}
	s, plain := mustSession(t, m, &SessionOptions{Adapter: a}), mustSession(t, m, nil)
	var running sync.WaitGroup
	running.Go(func() {
		for {
			if err := s.Prefill(context.Background(), []Token{1}); err != nil {
				if !errors.Is(err, ErrClosed) {
					t.Error(err)
				}
				return
			}
			runtime.Gosched()
			if s.Position() > 1000 {
				s.Truncate(0)
			}
		}
	})
	if err := errors.Join(a.Close(), a.Close()); err != nil {
		t.Error(err)
	}
	running.Wait()
	if m.MemoryUsage().Weights != before.Weights {
		t.Error("the adapter's memory was not given back")
	}
	if _, err := m.NewSession(&SessionOptions{Adapter: a}); !errors.Is(err, ErrClosed) {
		t.Errorf("a session with a closed adapter: %v", err)
	}
	if _, err := m.NewPool(&PoolOptions{Session: SessionOptions{Adapter: a}}); !errors.Is(err, ErrClosed) {
		t.Errorf("a pool with a closed adapter: %v", err)
	}
	if _, err := a.Fingerprint(); !errors.Is(err, ErrClosed) {
		t.Errorf("the fingerprint of a closed adapter: %v", err)
	}
	if err := plain.Prefill(t.Context(), []Token{1}); err != nil {
		t.Error(err)
	}

	if a, err = m.LoadAdapter(path); err != nil {
		t.Fatal(err)
	}
	s = mustSession(t, m, &SessionOptions{Adapter: a})
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Prefill(t.Context(), []Token{1}); !errors.Is(err, ErrClosed) {
		t.Errorf("a session of a closed model: %v", err)
	}
	if _, err := m.LoadAdapter(path); !errors.Is(err, ErrClosed) {
		t.Errorf("an adapter of a closed model: %v", err)
	}
	again := mustLoad(t, dir, nil) // an adapter outlives the model that loaded it
	logitsWith(t, again, &SessionOptions{Adapter: a}, []Token{1, 2})
	if err := errors.Join(again.Close(), a.Close()); err != nil {
		t.Error(err)
	}
}

// TestAdapterErrors damages adapters in every way that must be an error.
func TestAdapterErrors(t *testing.T) {
	m := mustLoad(t, fixture.Path(t, adaptedBase), nil)
	whole := readAdapter(t)
	config := func(key string, value any) []byte { return plainConfig(t, map[string]any{key: value}) }
	with := func(change func(list []matrix) []matrix) []matrix {
		list := slices.Clone(whole)
		for i := range list {
			list[i].shape = slices.Clone(list[i].shape)
		}
		return change(list)
	}
	for _, c := range []struct {
		config []byte
		list   []matrix
		want   string
	}{
		{config("use_dora", true), whole, "DoRA"},
		{config("bias", "all"), whole, "bias"},
		{config("modules_to_save", []string{"lm_head"}), whole, "modules_to_save"},
		{config("fan_in_fan_out", true), whole, "transposed"},
		{config("peft_type", "IA3"), whole, "only LORA"},
		{config("init_lora_weights", "pissa"), whole, "path_initial_model_for_weight_conversion"},
		{config("new_option", map[string]any{"x": 1}), whole, "new_option"},
		{config("r", 4), whole, "rank of 8"},
		{config("r", "many"), whole, "cannot unmarshal"},
		{config("target_modules", 5), whole, "target_modules"},
		{config("rank_pattern", map[string]any{"q_proj": 4}), whole, `"q_proj"`},
		{config("alpha_pattern", map[string]any{"(": 4}), whole, "expression"},
		{config("lora_alpha", 1e300), whole, "multiplied"},
		{config("lora_bias", true), whole, "lora_bias"},
		{config("target_parameters", []string{"mlp.experts.gate_up_proj"}), whole, "target_parameters"},
		{config("trainable_token_indices", []int{1}), whole, "trainable_token_indices"},
		{config("layer_replication", [][]int{{0, 2}}), whole, "layer_replication"},
		{config("alora_invocation_tokens", []int{1}), whole, "alora_invocation_tokens"},
		{config("use_qalora", true), whole, "use_qalora"},
		{config("use_bdlora", map[string]any{"nblocks": 2}), whole, "use_bdlora"},
		{config("arrow_config", map[string]any{"top_k": 3}), whole, "arrow_config"},
		{config("init_lora_weights", "loftq"), whole, "loftq"},
		{config("r", 8)[1:], whole, "adapter_config.json"},
		{config("r", 8), whole[2:], "no tensors for"},
		{config("r", 8), whole[1:], "not the A"},
		{config("r", 8), nil, "no tensors"},
		{config("r", 8), with(func(l []matrix) []matrix { l[0].shape = []int{l[0].shape[1], l[0].shape[0]}; return l }), "asks for [rank"},
		{config("r", 8), with(func(l []matrix) []matrix { l[1].shape = []int{l[1].shape[1], l[1].shape[0]}; return l }), "ask for"},
		{config("r", 8), with(func(l []matrix) []matrix { l[0].shape = []int{len(l[0].values)}; return l }), "asks for"},
		{config("r", 8), with(func(l []matrix) []matrix {
			l[0].name = strings.Replace(l[0].name, "layers.0", "layers.7", 1)
			l[1].name = strings.Replace(l[1].name, "layers.0", "layers.7", 1)
			return l
		}), "the model does not have"},
		{config("r", 8), append(slices.Clone(whole), matrix{"base_model.model.lm_head.weight", []int{1}, []float32{0}}), "nothing else of an adapter"},
		{config("r", 8), append(slices.Clone(whole), matrix{"base_model.model.model.embed_tokens.lora_A.weight", []int{1, 128}, make([]float32, 128)},
			matrix{"base_model.model.model.embed_tokens.lora_B.weight", []int{512, 1}, make([]float32, 512)}), "embeddings"},
	} {
		_, err := m.LoadAdapterFS(t.Context(), peftFolder(t, c.config, c.list), ".")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("want an error with %q: %v", c.want, err)
		}
	}
	for _, c := range []struct {
		metadata []gguf.KeyValue
		want     string
	}{
		{nil, "no adapter"},
		{checkpoint.AdapterMetadata(m.config, "x", 16)[:3], "adapter.type"},
		{checkpoint.AdapterMetadata(m.config, "x", 16)[:4], "adapter.lora.alpha"},
		{append(checkpoint.AdapterMetadata(m.config, "x", 16), gguf.KeyValue{Key: "adapter.alora.invocation_tokens", Value: gguf.ArrayOf([]uint32{1})}), "certain tokens"},
	} {
		_, err := m.LoadAdapterFS(t.Context(), fstest.MapFS{"a": {Data: ggufAdapter(t, checkpoint.Tensors(m.config), whole, c.metadata, tensor.F32)}}, "a")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("want an error with %q: %v", c.want, err)
		}
	}
	for path, want := range map[string]string{
		"absent": "absent", fixture.Path(t, adaptedBase): checkpoint.AdapterConfigFile,
		filepath.Join(fixture.Path(t, adaptedBase), checkpoint.ConfigFile): "JSON",
	} {
		if _, err := m.LoadAdapter(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: want an error with %q: %v", path, want, err)
		}
		if _, err := Load(fixture.Path(t, adaptedBase), &LoadOptions{Adapters: []AdapterFile{{Path: path}}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("merging %s: want an error with %q: %v", path, want, err)
		}
	}
	path := filepath.Join(t.TempDir(), "adapter.gguf")
	mustWrite(t, path, ggufAdapter(t, checkpoint.Tensors(m.config), whole, checkpoint.AdapterMetadata(m.config, "x", 16), tensor.F32))
	for _, path := range []string{path, fixture.Path(t, adapterDir)} {
		if _, err := Load(path, nil); err == nil || !strings.Contains(err.Error(), "LoadAdapter") {
			t.Errorf("an adapter loaded as a model: %v", err)
		}
	}
	other := mustLoad(t, fixture.Path(t, "hf/llama2-mha-f32"), nil)
	if _, err := other.LoadAdapter(fixture.Path(t, adapterDir)); err == nil || !strings.Contains(err.Error(), "where the model's") {
		t.Errorf("an adapter of another model: %v", err)
	}
	var param *ParamError
	if _, err := other.NewSession(&SessionOptions{Adapter: mustAdapter(t, m, fixture.Path(t, adapterDir))}); !errors.As(err, &param) {
		t.Errorf("a session with an adapter of another model: %v", err)
	}
	if _, err := m.NewSession(&SessionOptions{AdapterScale: 2}); !errors.As(err, &param) {
		t.Errorf("a scale without an adapter: %v", err)
	}
}

// TestNumbersByModule reads rank_pattern and alpha_pattern.
func TestNumbersByModule(t *testing.T) {
	m := mustLoad(t, fixture.Path(t, adaptedBase), nil)
	list := append(randomAdapter(m, 1, 4, "layers.0.self_attn.q_proj", "layers.2.self_attn.q_proj"), randomAdapter(m, 2, 6, "layers.1.self_attn.q_proj")...)
	a := adapterIn(t, m, peftFolder(t, plainConfig(t, map[string]any{"r": 4, "lora_alpha": 8, "target_modules": []string{"q_proj"},
		"rank_pattern": map[string]any{"model.layers.1.self_attn.q_proj": 6}, "alpha_pattern": map[string]any{`layers\.[12]\..*`: 24}}), list))
	want := map[int]float64{0: 2, 1: 4, 2: 6}
	for i := range a.file.Pairs {
		if p := &a.file.Pairs[i]; p.Of.Part != model.Query || p.Scale != want[p.Of.Layer] {
			t.Errorf("%s: scale %g, want %g", p.Of.HuggingFace.Name, p.Scale, want[p.Of.Layer])
		}
		delete(want, a.file.Pairs[i].Of.Layer)
	}
	if len(want) > 0 {
		t.Errorf("layers without a scale: %v", want)
	}
	list = list[:2]
	adapterIn(t, m, peftFolder(t, plainConfig(t, map[string]any{"r": 4, "target_modules": []string{"q_proj"}, "layers_to_transform": 0}), list))
}
