package llama_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/pebble"
	"github.com/antigravity-go/antigravity/tensor"
)

// states are sessions with something in them.
func states(t testing.TB) map[string]*llama.SessionOptions {
	options := map[string]*llama.SessionOptions{
		"reanchored":   {Eviction: policyOf(t, "sliding", 100), Positions: llama.ReanchorSinks},
		"after prompt": {Capacity: 400, Eviction: policyOf(t, "snapkv", 100), EvictAfterPrompt: true},
	}
	for _, kv := range []tensor.DType{tensor.F32, tensor.F16, tensor.Q8_0, tensor.Q4_0} {
		options[kv.String()] = &llama.SessionOptions{Capacity: 400, KV: kv}
	}
	for _, name := range []string{"h2o", "snapkv", "pyramidkv", "ada", "keydiff"} {
		options[name] = &llama.SessionOptions{Eviction: policyOf(t, name, 100)}
	}
	return options
}

// goOn computes tokens one by one and returns the logits after each.
func goOn(t testing.TB, s *llama.Session, n int) (logits []float32) {
	t.Helper()
	for _, token := range shortStream(n + 20)[20:] {
		if err := s.Prefill(t.Context(), []llama.Token{token}); err != nil {
			t.Fatal(err)
		}
		logits = append(logits, logitsOf(s)...)
	}
	return logits
}

func save(t testing.TB, s *llama.Session) []byte {
	t.Helper()
	var state bytes.Buffer
	if err := s.Save(&state); err != nil {
		t.Fatal(err)
	}
	return state.Bytes()
}

func TestRestoredAndForkedSessionsGoOnAlike(t *testing.T) {
	effort.Turn(t, 8)
	eachModel(t, states(t), func(t *testing.T, _ string, m *llama.Model, _ string, options *llama.SessionOptions) {
		s := newSession(t, m, options)
		if err := s.Prefill(t.Context(), shortStream(250)); err != nil {
			t.Fatal(err)
		}
		state := save(t, s)
		fork, err := s.Fork()
		if err != nil {
			t.Fatal(err)
		}
		defer fork.Close()
		want := goOn(t, s, 60)
		restored, err := m.Restore(bytes.NewReader(state), options)
		if err != nil {
			t.Fatal(err)
		}
		defer restored.Close()
		for which, other := range map[string]*llama.Session{"restored": restored, "forked": fork} {
			if !slices.Equal(goOn(t, other, 60), want) {
				t.Errorf("the %s session gives other logits", which)
			}
			if other.Position() != s.Position() || other.CacheLen() != s.CacheLen() || !slices.Equal(other.Tokens(), s.Tokens()) {
				t.Errorf("the %s session is at %d with %d slots, the first at %d with %d", which, other.Position(), other.CacheLen(), s.Position(), s.CacheLen())
			}
		}
		if !bytes.Equal(save(t, restored), save(t, s)) {
			t.Error("saved again, the restored session is another")
		}
	})
}

func TestRestoreWithoutOptions(t *testing.T) {
	m := pebbleModel(t)
	s := newSession(t, m, &llama.SessionOptions{Capacity: 300, KV: tensor.Q8_0, Eviction: policyOf(t, "h2o", 100)})
	if err := s.Prefill(t.Context(), stream(200)); err != nil {
		t.Fatal(err)
	}
	restored, err := m.Restore(bytes.NewReader(save(t, s)), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer restored.Close()
	if !slices.Equal(logitsOf(restored), logitsOf(s)) || restored.CacheLen() != s.CacheLen() || restored.Capacity() != 300 {
		t.Errorf("%d slots of %d, want %d of 300", restored.CacheLen(), restored.Capacity(), s.CacheLen())
	}
}

func TestRestoreRefuses(t *testing.T) {
	m := pebbleModel(t)
	other, err := pebble.Load(&llama.LoadOptions{Weights: tensor.Q8_0})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	s := newSession(t, m, &llama.SessionOptions{Capacity: 100})
	if err := s.Prefill(t.Context(), stream(40)); err != nil {
		t.Fatal(err)
	}
	state := save(t, s)
	mismatch := func(name string, m *llama.Model, o *llama.SessionOptions) {
		t.Helper()
		if _, err := m.Restore(bytes.NewReader(state), o); !errors.Is(err, llama.ErrStateMismatch) {
			t.Errorf("%s: %v, want ErrStateMismatch", name, err)
		}
	}
	if other.WeightType() != m.WeightType() {
		mismatch("another weight type", other, nil)
	}
	mismatch("another cache type", m, &llama.SessionOptions{KV: tensor.F32})
	mismatch("too small a cache", m, &llama.SessionOptions{Capacity: 39})
	mismatch("a policy that needs what was not recorded", m, &llama.SessionOptions{Eviction: policyOf(t, "h2o", 100)})

	before := sessionsMemory(m)
	damaged := func(name string, state []byte) {
		t.Helper()
		var format *llama.FormatError
		restored, err := m.Restore(bytes.NewReader(state), nil)
		if err == nil {
			restored.Close()
		}
		if !errors.As(err, &format) && !errors.Is(err, llama.ErrStateMismatch) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for n := 0; n < len(state); n += 1 + n/8 {
		damaged(fmt.Sprintf("the first %d bytes", n), state[:n])
		changed := slices.Clone(state)
		changed[n] ^= 0x41
		damaged(fmt.Sprintf("byte %d", n), changed)
	}
	if after := sessionsMemory(m); after != before {
		t.Errorf("failed restores left %+v, before %+v", after, before)
	}
	failing := io.MultiReader(bytes.NewReader(state[:1000]), brokenReader{})
	if _, err := m.Restore(failing, nil); !errors.Is(err, errBroken) {
		t.Errorf("a reader that fails: %v", err)
	}
}

var errBroken = errors.New("broken")

// TestRestoreIntoOtherOptions restores conversations that are longer than the new options would have let them become.
func TestRestoreIntoOtherOptions(t *testing.T) {
	effort.Turn(t, 8)
	m := pebbleModel(t)
	long := newSession(t, m, &llama.SessionOptions{Capacity: 400})
	endless := newSession(t, m, &llama.SessionOptions{Eviction: policyOf(t, "sliding", 64), Positions: llama.ReanchorSinks})
	for s, n := range map[*llama.Session]int{long: 340, endless: 2100} {
		if err := s.Prefill(t.Context(), stream(n)); err != nil {
			t.Fatal(err)
		}
	}
	bounded, err := m.Restore(bytes.NewReader(save(t, long)), &llama.SessionOptions{Eviction: policyOf(t, "sliding", 256)})
	if err != nil {
		t.Fatal(err)
	}
	defer bounded.Close()
	if bounded.CacheLen() != 256 || bounded.Position() != 340 || logitsOf(bounded) == nil {
		t.Errorf("%d slots at position %d", bounded.CacheLen(), bounded.Position())
	}
	if err := bounded.Prefill(t.Context(), stream(500)); err != nil {
		t.Errorf("within the budget: %v", err)
	}
	_, err = m.Restore(bytes.NewReader(save(t, long)), &llama.SessionOptions{Capacity: 339})
	if !errors.Is(err, llama.ErrStateMismatch) || !strings.Contains(err.Error(), "340 slots") {
		t.Errorf("into a shorter cache: %v", err)
	}
	strict, err := m.Restore(bytes.NewReader(save(t, endless)), &llama.SessionOptions{Eviction: policyOf(t, "sliding", 64)})
	if err != nil {
		t.Fatal(err)
	}
	defer strict.Close()
	if err := strict.Prefill(t.Context(), nil); err != nil {
		t.Errorf("nothing, beyond the context: %v", err)
	}
	for piece, err := range strict.Generate(t.Context(), nil, llama.Params{}) {
		if err != nil || piece.Stop != llama.ContextFull {
			t.Errorf("beyond the context: %v, %v", piece.Stop, err)
		}
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errBroken }

func (brokenReader) Write([]byte) (int, error) { return 0, errBroken }

func TestSaveReportsTheWriter(t *testing.T) {
	s := newSession(t, pebbleModel(t), nil)
	if err := s.Save(brokenReader{}); !errors.Is(err, errBroken) {
		t.Errorf("%v", err)
	}
}

func FuzzRestore(f *testing.F) {
	m := pebbleModel(f)
	s := newSession(f, m, &llama.SessionOptions{Capacity: 64, Eviction: policyOf(f, "h2o", 16)})
	if err := s.Prefill(f.Context(), stream(30)); err != nil {
		f.Fatal(err)
	}
	state := save(f, s)
	f.Add(state, uint16(0), byte(0))
	f.Add(state[:100], uint16(60), byte(9))
	f.Fuzz(func(t *testing.T, data []byte, at uint16, flip byte) {
		if len(data) > sha256.Size { // a sum that holds lets the rest be looked at
			data = slices.Clone(data)
			data[int(at)%len(data)] ^= flip
			sum := sha256.Sum256(data[:len(data)-sha256.Size])
			copy(data[len(data)-sha256.Size:], sum[:])
		}
		restored, err := m.Restore(bytes.NewReader(data), &llama.SessionOptions{Capacity: 64})
		if err != nil {
			return
		}
		defer restored.Close()
		if restored.CacheLen() > 64 || restored.Position() != len(restored.Tokens()) {
			t.Errorf("%d slots, position %d, %d tokens", restored.CacheLen(), restored.Position(), len(restored.Tokens()))
		}
		if restored.Position() < 60 {
			_ = restored.Prefill(t.Context(), []llama.Token{1})
		}
	})
}

func ExampleSession_Save() {
	model, err := pebble.Load(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer model.Close()
	session, err := model.NewSession(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := session.Prefill(context.Background(), model.Tokenizer().EncodeSpecial("A long document.", true)); err != nil {
		fmt.Println(err)
		return
	}
	path := filepath.Join(os.TempDir(), "antigravity-example.state")
	defer os.Remove(path)
	file, err := os.Create(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := session.Save(file); err != nil {
		fmt.Println(err)
	}
	file.Close()

	file, err = os.Open(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer file.Close()
	again, err := model.Restore(file, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(again.Position() == session.Position())
	// Output: true
}
