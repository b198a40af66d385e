package infer

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// quick is flintModel, given back soon.
var quick = Model{Path: "flint", Sessions: 3, Idle: 20 * time.Millisecond}

// Users share one model; it is closed when it has been idle, and loaded again for the next user.
func TestModelIsHeldOnce(t *testing.T) {
	m := models{open: map[Model]*modelEntry{}}
	var wg sync.WaitGroup
	var mu sync.Mutex
	seen, loads := map[*loaded]int{}, 0
	for range 16 {
		wg.Go(func() {
			l, release, first, err := m.use(context.Background(), quick)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			seen[l]++
			if first {
				loads++
			}
			mu.Unlock()
			if _, _, err := (Request{Input: Input{Prompt: "Hi."}, MaxTokens: 2}).compute(context.Background(), l); err != nil {
				t.Error(err)
			}
			release()
			release() // harmless
		})
	}
	wg.Wait()
	if len(seen) != 1 || loads != 1 {
		t.Errorf("%d models were loaded, %d times", len(seen), loads)
	}
	m.await(t, 0)
	l, release, first, err := m.use(context.Background(), quick)
	if err != nil || !first || seen[l] != 0 {
		t.Errorf("after it was idle: loaded %v, error %v", first, err)
	}
	other := quick
	other.Sessions++
	_, releaseOther, first, err := m.use(context.Background(), other)
	if err != nil || !first {
		t.Errorf("with other options: loaded %v, error %v", first, err)
	}
	m.await(t, 2)
	release()
	releaseOther()
	m.await(t, 0)
}

// await waits until as many models are open.
func (m *models) await(t *testing.T, want int) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		m.mu.Lock()
		n := len(m.open)
		m.mu.Unlock()
		if n == want {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d models are open, and %d must be", n, want)
		}
	}
}

// A model that cannot be loaded is an error for all who wait for it, and is tried again by the next.
func TestModelThatCannotBeLoaded(t *testing.T) {
	m := models{open: map[Model]*modelEntry{}}
	file := filepath.Join(t.TempDir(), "model.gguf")
	spec := Model{Path: file}
	if _, _, _, err := m.use(t.Context(), spec); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), file) {
		t.Errorf("no file: %v", err)
	}
	if err := os.WriteFile(file, []byte("nonsense"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := m.use(t.Context(), spec); err == nil || errors.Is(err, os.ErrNotExist) {
		t.Errorf("a damaged file: %v", err)
	}
	if _, _, _, err := m.use(t.Context(), Model{Path: "flint", Weights: "q9"}); err == nil || !strings.Contains(err.Error(), "Weights") {
		t.Errorf("no such type: %v", err)
	}
	m.await(t, 0)
}

// The end of the context of whoever loads ends his wait alone.
func TestLoadingThatIsInterrupted(t *testing.T) {
	m := models{open: map[Model]*modelEntry{}}
	for range 20 {
		ctx, cancel := context.WithCancel(context.Background())
		var wg sync.WaitGroup
		wg.Go(func() {
			_, release, _, err := m.use(ctx, quick)
			if err == nil {
				release()
			} else if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
		wg.Go(func() {
			runtime.Gosched()
			_, release, _, err := m.use(context.Background(), quick)
			if err != nil {
				t.Error(err)
				return
			}
			release()
		})
		cancel()
		wg.Wait()
	}
	m.await(t, 0)
}
