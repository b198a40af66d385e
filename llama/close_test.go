package llama_test

import (
	"bytes"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/backend/backendtest"
	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/pebble"
	"github.com/antigravity-go/antigravity/tensor"
)

// TestCloseAtAnyMoment closes a model and moves its sessions while they are made, copied, moved and computing.
func TestCloseAtAnyMoment(t *testing.T) {
	effort.Turn(t, 8)
	home := pebbleModel(t)
	seed := newSession(t, home, nil)
	if err := seed.Prefill(t.Context(), stream(40)); err != nil {
		t.Fatal(err)
	}
	state := save(t, seed)
	for _, c := range []struct {
		name string
		run  func(m *llama.Model) error // until something fails
	}{
		{"new", func(m *llama.Model) error {
			s, err := m.NewSession(nil)
			if err != nil {
				return err
			}
			return errors.Join(s.Prefill(t.Context(), stream(5)), s.Close())
		}},
		{"restore", func(m *llama.Model) error {
			s, err := m.Restore(bytes.NewReader(state), nil)
			if err != nil {
				return err
			}
			return errors.Join(s.Prefill(t.Context(), stream(2)), s.Close())
		}},
		{"fork", func(m *llama.Model) error {
			s, err := m.NewSession(nil)
			if err != nil {
				return err
			}
			defer s.Close()
			if err := s.Prefill(t.Context(), stream(9)); err != nil {
				return err
			}
			f, err := s.Fork()
			if err != nil {
				return err
			}
			return errors.Join(f.Prefill(t.Context(), stream(2)), f.Close())
		}},
		{"move there and back", func(m *llama.Model) error {
			s, err := home.NewSession(nil)
			if err != nil {
				return err
			}
			defer s.Close()
			for _, to := range []*llama.Model{m, home, m} {
				if err := s.Prefill(t.Context(), stream(9)); err != nil {
					return err
				}
				if _, err := s.Move(t.Context(), to); err != nil {
					return err
				}
			}
			return nil
		}},
		{"answer", func(m *llama.Model) error {
			s, err := m.NewSession(nil)
			if err != nil {
				return err
			}
			for _, err := range s.Generate(t.Context(), stream(9), llama.Params{MaxTokens: 50}) {
				if err != nil {
					return err
				}
				logitsOf(s)
			}
			return s.Close()
		}},
		{"moved from elsewhere", func(m *llama.Model) error {
			s, err := m.NewSession(nil)
			if err != nil {
				return err
			}
			defer s.Close()
			var others sync.WaitGroup
			defer others.Wait()
			others.Go(func() {
				for _, to := range []*llama.Model{home, m, home} {
					if _, err := s.Move(t.Context(), to); err != nil && !errors.Is(err, llama.ErrBusy) && !errors.Is(err, llama.ErrClosed) {
						t.Error(err)
					}
				}
			})
			for _, err := range s.Generate(t.Context(), stream(9), llama.Params{MaxTokens: 20}) {
				if err != nil {
					return err
				}
			}
			return nil
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for wait := range 4 {
				m, err := pebble.Load(nil)
				if err != nil {
					t.Fatal(err)
				}
				var running sync.WaitGroup
				for range 2 {
					running.Go(func() {
						for {
							if err := c.run(m); errors.Is(err, llama.ErrClosed) {
								return
							} else if err != nil {
								t.Error(err)
								return
							}
						}
					})
				}
				time.Sleep(time.Duration(wait*wait) * 3 * time.Millisecond)
				m.MemoryUsage()
				if err := m.Close(); err != nil {
					t.Error(err)
				}
				running.Wait()
				if usage := m.MemoryUsage(); usage.Caches != 0 || usage.Workspaces != 0 {
					t.Errorf("after Close: %+v", usage)
				}
			}
		})
	}
}

// TestCloseWaitsForTheDevice: a session that was forgotten is closed by nobody, and what the device still computes for it uses the
// weights that Close is about to free.
func TestCloseWaitsForTheDevice(t *testing.T) {
	waits := 0
	device := backendtest.NewDevice(cpu.New(1), func(call string, _ *tensor.Tensor) error {
		if call == "Synchronize" {
			waits++
		}
		return nil
	})
	m, err := pebble.Load(&llama.LoadOptions{Backend: device})
	if err != nil {
		t.Fatal(err)
	}
	if s, err := m.NewSession(nil); err != nil || s.Prefill(t.Context(), stream(9)) != nil {
		t.Fatal("a prompt failed")
	}
	for range 3 {
		runtime.GC() // so that the session is gone
	}
	before := waits
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if waits == before {
		t.Error("the weights were freed while the device may have been computing with them")
	}
}
