package llama_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/backendtest"
	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/pebble"
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

// dividedBetween loads Pebble or a family between the processor and further devices, each with as many layers as the others.
func dividedBetween(t testing.TB, family string, others ...backend.Backend) *llama.Model {
	t.Helper()
	o := &llama.LoadOptions{Devices: []llama.DeviceLayers{{}}}
	for _, b := range others {
		o.Devices = append(o.Devices, llama.DeviceLayers{Backend: b})
	}
	if family != "pebble" {
		return familyModel(t, family, o)
	}
	m, err := pebble.Load(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// TestSessionsOnSeveralDevices saves, restores, forks, cuts and moves sessions of models that are divided in two ways, with evictions too: at each point all is
// as it is on one device, to the last bit of the saved state.
func TestSessionsOnSeveralDevices(t *testing.T) {
	eachModel(t, states(t), func(t *testing.T, family string, m *llama.Model, _ string, options *llama.SessionOptions) {
		two, three := dividedBetween(t, family, cpu.New(1)), dividedBetween(t, family, cpu.New(1), cpu.New(1))
		whole, parts := newSession(t, m, options), newSession(t, two, options)
		for _, s := range []*llama.Session{whole, parts} {
			if err := s.Prefill(t.Context(), shortStream(230)); err != nil {
				t.Fatal(err)
			}
		}
		state := save(t, whole)
		if !bytes.Equal(save(t, parts), state) {
			t.Fatal("other states on two devices")
		}
		restored, err := three.Restore(bytes.NewReader(state), options)
		if err != nil {
			t.Fatal(err)
		}
		defer restored.Close()
		forked, moved := fork(t, parts), fork(t, parts)
		defer forked.Close()
		defer moved.Close()
		if _, err := moved.Move(t.Context(), three); err != nil {
			t.Fatal(err)
		}
		want := goOn(t, whole, 30)
		for name, s := range map[string]*llama.Session{"the session": parts, "a restored session": restored, "a fork": forked, "a session that was moved": moved} {
			if !slices.Equal(goOn(t, s, 30), want) {
				t.Errorf("%s gives other logits", name)
			}
		}
		if _, err := moved.Move(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(save(t, moved), save(t, parts)) || !slices.Equal(goOn(t, moved, 3), goOn(t, parts, 3)) {
			t.Error("a session that moved back is another one")
		}
		if err := errors.Join(whole.Truncate(0), parts.Truncate(0)); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(goOn(t, parts, 3), goOn(t, whole, 3)) {
			t.Error("begun anew, the session gives other logits")
		}
	})
}

// TestPoolOnSeveralDevices asks pools of sessions with and without an adapter the same questions, many at once, on one device and on three.
func TestPoolOnSeveralDevices(t *testing.T) {
	answers := func(m *llama.Model, adapter *llama.Adapter) []string {
		p := newPool(t, m, &llama.PoolOptions{Session: llama.SessionOptions{Adapter: adapter}})
		defer p.Close()
		list := make([]string, 6)
		group, ctx := errgroup.WithContext(t.Context())
		for i := range list {
			group.Go(func() error {
				piece, err := llama.Collect(p.Chat(ctx, user(fmt.Sprintf("What is %d + 4?", i)), llama.Params{MaxTokens: 12}))
				list[i] = piece.Text
				return err
			})
		}
		if err := group.Wait(); err != nil {
			t.Fatal(err)
		}
		return list
	}
	m, parts := pebbleModel(t), dividedBetween(t, "pebble", cpu.New(1), cpu.New(1))
	adapter := pebbleAdapter(t, m)
	before := parts.MemoryUsage().Weights
	for _, a := range []*llama.Adapter{nil, adapter} {
		if got, want := answers(parts, a), answers(m, a); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	var sum int64
	for _, d := range parts.Devices() {
		sum += d.Weights
	}
	if usage := parts.MemoryUsage().Weights; usage <= before || usage != sum {
		t.Errorf("%d bytes with an adapter, %d on the devices together, and %d without", usage, sum, before)
	}
}

// TestOneOfSeveralDevicesFails moves a session to a model on two devices. The first or the second fails after some calls. The session goes back,
// and its answer is what it would have been. A session that was not moved gets the error, is as it was, and goes on.
func TestOneOfSeveralDevicesFails(t *testing.T) {
	m := pebbleModel(t)
	want, text := answer(t, newSession(t, m, nil), func(int) {})
	for i, calls := range []int{0, 1, 2, 5, 9, 30} {
		for second := range 2 {
			if !effort.Share(i+second, 3) {
				continue
			}
			fault := &backendtest.Fault{Err: errDevice, Lost: i%2 == 0}
			o := &llama.LoadOptions{Devices: []llama.DeviceLayers{{}, {}}}
			o.Devices[second].Backend = backendtest.NewDevice(cpu.New(1), fault.Before)
			other, err := pebble.Load(o)
			if err != nil {
				t.Fatal(err)
			}
			s := newSession(t, m, nil)
			got, gotText := answer(t, s, func(i int) {
				if i == 4 {
					if _, err := s.Move(t.Context(), other); err != nil {
						t.Fatal(err)
					}
					fault.Arm(calls)
				}
			})
			if !slices.Equal(got, want) || gotText != text {
				t.Errorf("device %d failing after %d calls: %v, want %v", second, calls, got, want)
			}
			if b := s.DeviceErrors(); len(b) != 1 || !errors.Is(b[0], errDevice) {
				t.Errorf("device %d failing after %d calls: setbacks %v", second, calls, b)
			}
			fault.Disarm()
			alone, whole := newSession(t, other, nil), newSession(t, m, nil)
			if err := errors.Join(alone.Prefill(t.Context(), stream(40)), whole.Prefill(t.Context(), stream(40))); err != nil {
				t.Fatal(err)
			}
			fault.Once = true
			fault.Arm(calls)
			if err := alone.Prefill(t.Context(), stream(60)[40:]); fault.Struck() != errors.Is(err, errDevice) {
				t.Errorf("device %d failing after %d calls: %v", second, calls, err)
			}
			fault.Disarm()
			if alone.Position() == 40 {
				err = alone.Prefill(t.Context(), stream(60)[40:])
			}
			if err := errors.Join(err, whole.Prefill(t.Context(), stream(60)[40:])); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(goOn(t, alone, 3), goOn(t, whole, 3)) {
				t.Errorf("device %d has failed after %d calls: the session gives other logits", second, calls)
			}
			alone.Close()
			s.Close()
			other.Close()
		}
	}
}

// card returns a device with some memory.
func card(t testing.TB, bytes int64) *backendtest.Device {
	t.Helper()
	processor := cpu.New(1)
	t.Cleanup(func() { processor.Close() })
	d := backendtest.NewDevice(processor, never)
	d.Bytes = bytes
	return d
}

// TestModelLargerThanTheCard loads a model on cards of several sizes. Alone, a card that is too small is an error that says what would fit. With the processor
// it gets as many layers as fit with the caches that were asked for, and they do fit. Answers are the same.
func TestModelLargerThanTheCard(t *testing.T) {
	whole := pebbleModel(t)
	weights := whole.MemoryUsage().Weights
	_, err := pebble.Load(&llama.LoadOptions{Backend: card(t, weights/2)})
	if !errors.Is(err, tensor.ErrNoMemory) || !strings.Contains(err.Error(), "of its 8 layers would fit; the processor computes the others if LoadOptions.Devices is {{}, {Backend: cpu-test}}") {
		t.Error(err)
	}
	want, _ := answer(t, newSession(t, whole, nil), func(int) {})
	seen := map[int]bool{}
	for _, bytes := range []int64{1 << 20, 12 << 20, 14 << 20, 1 << 40} {
		const tokens = 300
		d := card(t, bytes)
		m, err := pebble.Load(&llama.LoadOptions{Devices: []llama.DeviceLayers{{}, {Backend: d}}, CacheTokens: tokens})
		if err != nil {
			t.Fatal(err)
		}
		list := m.Devices()
		on := 0
		if last := list[len(list)-1]; last.Device == d.Name() {
			on = last.Layers
		}
		seen[on] = true
		if got, _ := answer(t, newSession(t, m, nil), func(int) {}); !slices.Equal(got, want) {
			t.Errorf("a card of %d bytes gives another answer", bytes)
		}
		s := newSession(t, m, nil)
		if err := s.Prefill(t.Context(), stream(tokens)); err != nil {
			t.Errorf("a card of %d bytes with %d layers: %v", bytes, on, err)
		}
		m.Close()
	}
	if len(seen) < 3 {
		t.Errorf("%v layers on the cards", seen)
	}
}

// TestCardWithoutMemoryForCaches opens session after session until a card's memory for keys and values ends. The error says so and what helps, the sessions
// before it go on, and closing one makes room for another. A pool forgets idle conversations instead.
func TestCardWithoutMemoryForCaches(t *testing.T) {
	d := card(t, 0)
	m, err := pebble.Load(&llama.LoadOptions{Devices: []llama.DeviceLayers{{}, {Backend: d, Layers: 4}}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	prompt := stream(300)
	first := newSession(t, m, nil)
	if err := first.Prefill(t.Context(), prompt); err != nil {
		t.Fatal(err)
	}
	d.Bytes = d.Backend.Memory().Used() + 4<<20
	sessions := []*llama.Session{first}
	for err == nil && len(sessions) < 64 {
		s := newSession(t, m, nil)
		sessions = append(sessions, s)
		err = s.Prefill(t.Context(), prompt)
	}
	if !errors.Is(err, tensor.ErrNoMemory) || !strings.Contains(err.Error(), "fewer sessions at once") || len(sessions) < 3 {
		t.Fatalf("%d sessions: %v", len(sessions), err)
	}
	last := sessions[len(sessions)-1]
	if last.Position() != 0 && last.Position() != 256 {
		t.Errorf("the session without memory has %d tokens", last.Position())
	}
	want := goOn(t, newSession(t, pebbleModel(t), nil), 3)
	sessions[1].Close()
	last.Truncate(0)
	if got := goOn(t, last, 3); !slices.Equal(got, want) {
		t.Error("the session that had no memory gives other logits")
	}
	for _, s := range sessions {
		s.Close()
	}
	p := newPool(t, m, nil)
	for i := range 2 * len(sessions) {
		if _, err := llama.Collect(p.Generate(t.Context(), stream(1000)[20*i:][:300], llama.Params{MaxTokens: 1})); err != nil {
			t.Fatalf("conversation %d: %v", i, err)
		}
	}
	if p.Stats().Evicted == 0 {
		t.Error("the pool has forgotten nothing")
	}
}

// TestDevicesAreLogged says in the log which layers are on which device, of a model with layers' own inputs and shared caches too, and refuses what cannot be.
func TestDevicesAreLogged(t *testing.T) {
	var logged strings.Builder
	o := &llama.LoadOptions{Devices: []llama.DeviceLayers{{}, {Backend: card(t, 0), Layers: 6}}, Logger: slog.New(slog.NewTextHandler(&logged, nil))}
	m := familyModel(t, "gemma4-e", o)
	if text := fmt.Sprint(m.Devices()); !strings.Contains(logged.String(), text) || !strings.HasPrefix(text, "[cpu: layers 0 to 1, ") {
		t.Errorf("the log is %s, and the devices are %s", logged.String(), text)
	}
	s := newSession(t, m, nil)
	if err := s.Prefill(t.Context(), shortStream(9)); err != nil {
		t.Fatal(err)
	}
	one := []llama.Token{5}
	step := func() {
		if err := s.Prefill(t.Context(), one); err != nil {
			t.Fatal(err)
		}
	}
	for range 300 {
		step()
	}
	if n := testing.AllocsPerRun(100, step); n != 0 {
		t.Errorf("%v allocations a token", n)
	}
	for _, bad := range []*llama.LoadOptions{
		{Devices: []llama.DeviceLayers{}},
		{Devices: []llama.DeviceLayers{{Layers: -1}}},
		{Devices: []llama.DeviceLayers{{Layers: 3}, {Layers: 4}}},
		{Devices: []llama.DeviceLayers{{}, {Layers: 3}}}, // layers that share caches would be apart
		{Devices: []llama.DeviceLayers{{}}, Backend: card(t, 0)},
		{CacheTokens: -1},
	} {
		var param *llama.ParamError
		if _, err := llama.Load(fixture.Path(t, "families/gemma4-e"), bad); !errors.As(err, &param) {
			t.Errorf("%+v: %v", bad.Devices, err)
		}
	}
}
