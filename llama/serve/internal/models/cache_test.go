package models

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/antigravity-go/antigravity/llama/serve/internal/queue"
)

// fakes is a machine without models: it counts the memory of resources, which are loaded in time that passes only in the test.
type fakes struct {
	t      *testing.T
	budget int64 // never to be exceeded; 0: not looked at

	mu   sync.Mutex
	used int64
	most int64 // the most that was used at once
}

// take adds bytes to the used ones.
func (f *fakes) take(bytes int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.used += bytes
	f.most = max(f.most, f.used)
	if f.budget > 0 && f.used > f.budget {
		f.t.Errorf("%d bytes are used, the budget is %d", f.used, f.budget)
	}
}

// fake is what a slot of the test loads.
type fake struct {
	fakes *fakes
	name  string
	size  atomic.Int64
	shut  atomic.Bool
	took  time.Duration // by close
	err   error         // of close
	once  func()        // called when it is closed
}

func (f *fake) bytes() int64 {
	if f.shut.Load() {
		f.fakes.t.Errorf("%s: asked for its size after it was closed", f.name)
	}
	return f.size.Load()
}

func (f *fake) close() error {
	if f.shut.Swap(true) {
		f.fakes.t.Errorf("%s was closed twice", f.name)
	}
	time.Sleep(f.took)
	f.fakes.take(-f.size.Load())
	f.once()
	return f.err
}

// kind describes what a slot of the test loads.
type kind struct {
	name  string
	said  int64         // the size that the cache is given before
	size  int64         // the bytes that it takes
	load  time.Duration // how long loading takes
	shut  time.Duration // how long closing takes, and giving up a load
	fails func() error  // called by each load; nil: it never fails
	deaf  bool          // loading does not look at its context

	loads atomic.Int32 // how many there were
	open  atomic.Int32 // 1 from the beginning of a load to the end of close
}

// slot makes the slot.
func (k *kind) slot(f *fakes) *slot {
	return &slot{name: k.name, size: k.said, load: func(ctx context.Context) (resource, error) {
		k.loads.Add(1)
		if k.open.Add(1) != 1 {
			f.t.Errorf("%s is loaded while it is there", k.name)
		}
		f.take(k.size)
		undo := func(err error) (resource, error) {
			time.Sleep(k.shut)
			f.take(-k.size)
			k.open.Add(-1)
			return nil, err
		}
		wait := time.NewTimer(k.load)
		defer wait.Stop()
		if k.deaf {
			<-wait.C
		} else {
			select {
			case <-wait.C:
			case <-ctx.Done():
				return undo(context.Cause(ctx))
			}
		}
		if k.fails != nil {
			if err := k.fails(); err != nil {
				return undo(err)
			}
		}
		resource := &fake{fakes: f, name: k.name, took: k.shut, once: func() { k.open.Add(-1) }}
		resource.size.Store(k.size)
		return resource, nil
	}}
}

// cacheOf makes a cache of kinds, and closes it at the end of the test.
func cacheOf(t *testing.T, budget int64, f *fakes, kinds ...*kind) *cache {
	t.Helper()
	slots := make([]*slot, len(kinds))
	for i, k := range kinds {
		slots[i] = k.slot(f)
	}
	s, err := newCache(budget, slots, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// end closes a cache and checks that nothing is left.
func end(t *testing.T, s *cache, f *fakes) {
	t.Helper()
	if err := s.drain(context.Background()); err != nil {
		t.Error(err)
	}
	if err := s.closeAll(); err != nil {
		t.Error(err)
	}
	if f.used != 0 {
		t.Errorf("%d bytes are still used", f.used)
	}
	checkCache(t, s)
}

// checkCache checks the invariants of a cache.
func checkCache(t *testing.T, s *cache) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	waiting := slices.ContainsFunc(s.slots, func(o *slot) bool { return o.state == absent && o.waiters.Len() > 0 })
	for _, o := range s.slots {
		switch {
		case (o.state == loaded) != (o.resource != nil):
			t.Errorf("%s: state %d and thing %v", o.name, o.state, o.resource)
		case o.state == loaded && !o.leaving && o.waiters.Len() > 0:
			t.Errorf("%s: %d ask for what is there", o.name, o.waiters.Len())
		case o.leaving && (o.state != loaded || !waiting):
			t.Errorf("%s: leaving in state %d, though nobody needs its room", o.name, o.state)
		case o.state == absent && o.charged != 0:
			t.Errorf("%s: absent and holds %d bytes", o.name, o.charged)
		case s.closed && o.waiters.Len() > 0, o.leases < 0:
			t.Errorf("%s: closed %v, %d ask, %d leases", o.name, s.closed, o.waiters.Len(), o.leases)
		}
	}
}

func TestLoadsOnceForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakes{t: t}
		k := &kind{name: "a", load: time.Minute}
		s := cacheOf(t, 0, f, k)
		var all sync.WaitGroup
		for i := range 100 {
			all.Go(func() {
				time.Sleep(time.Duration(i) * time.Second)
				if _, err := s.acquire(t.Context(), s.slots[0]); err != nil {
					t.Error(err)
					return
				}
				time.Sleep(time.Hour)
				s.release(s.slots[0])
			})
		}
		all.Wait()
		if n := k.loads.Load(); n != 1 {
			t.Errorf("loaded %d times", n)
		}
		end(t, s, f)
	})
}

func TestWhoLeavesDoesNotSpoilIt(t *testing.T) {
	for _, c := range []struct {
		name     string
		patience []time.Duration // of those who ask, one second apart; loading takes ten seconds
		shut     time.Duration   // how long it takes to give up the load
		deaf     bool            // it is not given up at all
		want     []bool          // who gets it
		loads    int32
	}{
		{"one of two leaves", []time.Duration{5 * time.Second, time.Hour}, 0, false, []bool{false, true}, 1},
		{"all leave", []time.Duration{3 * time.Second, 3 * time.Second}, 0, false, []bool{false, false}, 1},
		{"one comes after all have left", []time.Duration{500 * time.Millisecond, time.Hour}, 0, false, []bool{false, true}, 2},
		{"one comes while the load is given up", []time.Duration{500 * time.Millisecond, time.Hour}, time.Second, false, []bool{false, true}, 2},
		{"one comes after all have left, while the load goes on", []time.Duration{500 * time.Millisecond, time.Hour}, 0, true, []bool{false, true}, 1},
		{"no time at all", []time.Duration{0}, 0, false, []bool{false}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fakes{t: t}
				k := &kind{name: "a", load: 10 * time.Second, shut: c.shut, deaf: c.deaf, size: 1}
				s := cacheOf(t, 0, f, k)
				var all sync.WaitGroup
				left := errors.New("left")
				for i, patience := range c.patience {
					all.Go(func() {
						time.Sleep(time.Duration(i) * time.Second)
						ctx, cancel := context.WithTimeoutCause(t.Context(), patience, left)
						defer cancel()
						_, err := s.acquire(ctx, s.slots[0])
						if got := err == nil; got != c.want[i] || !got && err != left {
							t.Errorf("asker %d: %v, want it served: %v", i, err, c.want[i])
						}
						if err == nil {
							s.release(s.slots[0])
						}
					})
				}
				all.Wait()
				if n := k.loads.Load(); n != c.loads {
					t.Errorf("loaded %d times, want %d", n, c.loads)
				}
				end(t, s, f)
			})
		})
	}
}

func TestAFailedLoadIsToldToAllAndTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakes{t: t}
		broken := errors.New("the file is broken")
		k := &kind{name: "a", load: time.Second, size: 5}
		k.fails = func() error {
			if k.loads.Load() == 1 {
				return broken
			}
			return nil
		}
		s := cacheOf(t, 10, f, k)
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				if _, err := s.acquire(t.Context(), s.slots[0]); !errors.Is(err, broken) || !strings.Contains(err.Error(), `"a"`) {
					t.Errorf("%v, want one that wraps %v and names the model", err, broken)
				}
			})
		}
		all.Wait()
		if _, err := s.acquire(t.Context(), s.slots[0]); err != nil {
			t.Error(err)
		}
		s.release(s.slots[0])
		end(t, s, f)
	})
}

func TestTheLeastRecentlyUsedGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakes{t: t, budget: 30}
		var kinds []*kind
		for _, name := range []string{"a", "b", "c", "d"} {
			kinds = append(kinds, &kind{name: name, said: 10, size: 10, load: time.Second, shut: time.Second})
		}
		s := cacheOf(t, f.budget, f, kinds...)
		there := func() (names string) {
			synctest.Wait()
			for _, o := range s.slots {
				if o.state == loaded {
					names += o.name
				}
			}
			return names
		}
		for _, step := range []struct {
			use  int
			want string
		}{{0, "a"}, {1, "ab"}, {2, "abc"}, {0, "abc"}, {3, "acd"}, {1, "abd"}, {0, "abd"}, {2, "abc"}} {
			if _, err := s.acquire(t.Context(), s.slots[step.use]); err != nil {
				t.Fatal(err)
			}
			if got := there(); got != step.want {
				t.Errorf("after %s was used, %s are there, want %s", s.slots[step.use].name, got, step.want)
			}
			s.release(s.slots[step.use])
		}
		end(t, s, f)
	})
}

func TestWhatDoesNotFitIsAnError(t *testing.T) {
	for _, c := range []struct {
		name                    string
		budget, fix, said, size int64
		loads                   int32 // in two requests
		want                    TooLargeError
	}{
		{"as the caller said", 100, 0, 101, 101, 0, TooLargeError{"a", 101, 100, 0}},
		{"as loading showed", 100, 0, 0, 101, 1, TooLargeError{"a", 101, 100, 0}},
		{"beside what stays", 100, 60, 41, 41, 0, TooLargeError{"a", 41, 100, 60}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fakes{t: t}
				k := &kind{name: "a", said: c.said, size: c.size}
				stays := &fake{fakes: f, name: "stays", once: func() {}}
				stays.size.Store(c.fix)
				f.take(c.fix)
				s, err := newCache(c.budget, []*slot{{name: "stays", resource: stays}, k.slot(f)}, slog.New(slog.DiscardHandler))
				if err != nil {
					t.Fatal(err)
				}
				for range 2 {
					_, err := s.acquire(t.Context(), s.slots[1])
					if large := new(TooLargeError); !errors.As(err, &large) || *large != c.want {
						t.Errorf("%v, want %v", err, &c.want)
					}
				}
				if n := k.loads.Load(); n != c.loads {
					t.Errorf("loaded %d times, want %d", n, c.loads)
				}
				end(t, s, f)
			})
		})
	}
	if _, err := newCache(10, []*slot{{name: "stays", resource: &fixedThing{11}}}, nil); err == nil {
		t.Error("what stays takes more than the budget: no error")
	}
}

// fixedThing has a size, and nothing else.
type fixedThing struct{ size int64 }

func (f *fixedThing) bytes() int64 { return f.size }
func (f *fixedThing) close() error { return nil }

// TestAStreamOfRequestsKeepsNobodyWaiting keeps two models in use without a pause, and asks for a third one, which needs the room of
// one of them or of both.
func TestAStreamOfRequestsKeepsNobodyWaiting(t *testing.T) {
	for _, size := range []int64{10, 20} {
		synctest.Test(t, func(t *testing.T) {
			f := &fakes{t: t, budget: 25}
			a := &kind{name: "a", said: 10, size: 10, load: time.Second, shut: time.Second}
			b := &kind{name: "b", said: 10, size: 10, load: time.Second, shut: time.Second}
			c := &kind{name: "c", said: size, size: size, load: time.Second, shut: time.Second}
			s := cacheOf(t, f.budget, f, a, b, c)
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour) // otherwise a test that fails would not end
			defer cancel()
			stop := make(chan struct{})
			var served [2]atomic.Int32
			var all sync.WaitGroup
			for i := range 6 { // of each of the two there are always two or three leases
				all.Go(func() {
					o := s.slots[i%2]
					time.Sleep(time.Duration(i) * 300 * time.Millisecond)
					for {
						select {
						case <-stop:
							return
						default:
						}
						if _, err := s.acquire(ctx, o); err != nil {
							t.Error(err)
							return
						}
						time.Sleep(2 * time.Second)
						s.release(o)
						served[i%2].Add(1)
					}
				})
			}
			for range 5 {
				before := [2]int32{served[0].Load(), served[1].Load()}
				time.Sleep(time.Minute)
				for i := range served {
					if n := served[i].Load() - before[i]; n < 30 {
						t.Errorf("while the third was not wanted, model %d served %d requests in a minute", i, n)
					}
				}
				began := time.Now()
				if _, err := s.acquire(ctx, s.slots[2]); err != nil {
					t.Error(err)
					break
				}
				if took := time.Since(began); took > 5*time.Second { // the leases that there are, closing, and loading
					t.Errorf("the third one, of %d bytes, came after %v", size, took)
				}
				checkCache(t, s)
				s.release(s.slots[2])
			}
			close(stop)
			all.Wait()
			end(t, s, f)
		})
	}
}

func TestWhatStopsBeingNeededStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakes{t: t, budget: 10}
		a := &kind{name: "a", said: 10, size: 10, load: time.Second}
		b := &kind{name: "b", said: 10, size: 10, load: time.Second}
		s := cacheOf(t, f.budget, f, a, b)
		if _, err := s.acquire(t.Context(), s.slots[0]); err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		all.Go(func() { // wants b, and loses patience
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if _, err := s.acquire(ctx, s.slots[1]); err != context.DeadlineExceeded {
				t.Error(err)
			}
		})
		all.Go(func() { // asks for a meanwhile, has to wait, and gets it as soon as b is not wanted
			time.Sleep(time.Second)
			began := time.Now()
			if _, err := s.acquire(t.Context(), s.slots[0]); err != nil {
				t.Error(err)
			}
			if took := time.Since(began); took != 59*time.Second {
				t.Errorf("got what was there after %v, want 59s", took)
			}
			s.release(s.slots[0])
		})
		all.Wait()
		if a.loads.Load() != 1 || b.loads.Load() != 0 {
			t.Errorf("%d and %d loads, want 1 and 0", a.loads.Load(), b.loads.Load())
		}
		s.release(s.slots[0])
		end(t, s, f)
	})
}

func TestNotAllMayWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakes{t: t}
		s := cacheOf(t, 15, f, &kind{name: "a", size: 10, said: 10, load: 4500 * time.Millisecond}, &kind{name: "b", size: 10, said: 10})
		s.slots[0].maxWaiters = 3
		var all sync.WaitGroup
		for _, want := range []time.Duration{time.Second, 5 * time.Second} { // it is not known how long loading takes, and then it is
			for range 3 {
				all.Go(func() {
					if _, err := s.acquire(t.Context(), s.slots[0]); err != nil {
						t.Error(err)
						return
					}
					s.release(s.slots[0])
				})
			}
			synctest.Wait()
			_, err := s.acquire(t.Context(), s.slots[0])
			if full := new(queue.FullError); !errors.As(err, &full) || full.Waiting != 3 || full.RetryAfter != want {
				t.Errorf("a fourth: %v, want a *queue.FullError that says 3 and %v", err, want)
			}
			all.Wait()
			if _, err := s.acquire(t.Context(), s.slots[1]); err != nil { // drives the other one out
				t.Error(err)
			}
			s.release(s.slots[1])
		}
		end(t, s, f)
	})
}

func TestAPanicOfLoadIsAnError(t *testing.T) {
	s, err := newCache(0, []*slot{{name: "a", load: func(context.Context) (resource, error) { panic("oh") }}}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.acquire(t.Context(), s.slots[0]); err == nil || !strings.Contains(err.Error(), "panic: oh") {
		t.Errorf("%v, want an error that tells of the panic", err)
	}
}

func TestWhatShrinksInTimeStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakes{t: t}
		a, b := &kind{name: "a", said: 10, size: 10}, &kind{name: "b", said: 10, size: 10}
		s := cacheOf(t, 15, f, a, b)
		got, err := s.acquire(t.Context(), s.slots[0])
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for _, i := range []int{1, 0} { // there is no room for the first, and the second waits behind it
			all.Go(func() {
				if _, err := s.acquire(t.Context(), s.slots[i]); err != nil {
					t.Error(err)
					return
				}
				s.release(s.slots[i])
			})
			synctest.Wait()
		}
		got.(*fake).size.Store(5)
		f.take(-5)
		s.release(s.slots[0])
		all.Wait()
		if a.loads.Load() != 1 {
			t.Error("what had become small enough was given back")
		}
		end(t, s, f)
	})
}

func TestUnknownSizesAreLearnt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakes{t: t}
		a := &kind{name: "a", size: 10, load: time.Second}
		b := &kind{name: "b", size: 10, load: time.Second}
		s := cacheOf(t, 15, f, a, b)
		if _, err := s.acquire(t.Context(), s.slots[0]); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Minute, func() { s.release(s.slots[0]) })
		began := time.Now()
		if _, err := s.acquire(t.Context(), s.slots[1]); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != 61*time.Second {
			t.Errorf("b came after %v, want 61s: as soon as a was free", took)
		}
		if b.loads.Load() != 2 {
			t.Errorf("b was loaded %d times, want twice: its size was not known at first", b.loads.Load())
		}
		s.release(s.slots[1])
		f.budget = 15 // from now on all sizes are known
		for i := range 10 {
			if _, err := s.acquire(t.Context(), s.slots[i%2]); err != nil {
				t.Fatal(err)
			}
			s.release(s.slots[i%2])
		}
		end(t, s, f)
	})
}

func TestWhatGrowsMakesOthersGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakes{t: t}
		a := &kind{name: "a", said: 10, size: 10}
		b := &kind{name: "b", said: 10, size: 10}
		s := cacheOf(t, 25, f, a, b)
		for _, o := range s.slots {
			if _, err := s.acquire(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			s.release(o)
		}
		got, err := s.acquire(t.Context(), s.slots[0])
		if err != nil {
			t.Fatal(err)
		}
		got.(*fake).size.Store(30)
		f.take(20)
		s.release(s.slots[0])
		synctest.Wait()
		if s.slots[1].state != absent || s.slots[0].state != loaded {
			t.Errorf("states %d and %d: the one that nobody used should be gone, and the last one stay", s.slots[0].state, s.slots[1].state)
		}
		if _, err := s.acquire(t.Context(), s.slots[1]); err != nil {
			t.Fatal(err)
		}
		if s.slots[0].state == loaded {
			t.Error("there was no room, and still both are loaded")
		}
		s.release(s.slots[1])
		end(t, s, f)
	})
}

func TestCloseOfAShelf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakes{t: t}
		a := &kind{name: "a", size: 1}
		b := &kind{name: "b", size: 1, load: time.Hour}
		deaf := &kind{name: "deaf", size: 1, load: time.Minute, deaf: true}
		s := cacheOf(t, 0, f, a, b, deaf)
		if _, err := s.acquire(t.Context(), s.slots[0]); err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for i := 1; i < 3; i++ {
			all.Go(func() {
				if _, err := s.acquire(t.Context(), s.slots[i]); err != ErrClosed {
					t.Errorf("who waits for a load: %v, want ErrClosed", err)
				}
			})
		}
		synctest.Wait()
		cause := errors.New("enough")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, cause)
		defer cancel()
		if err := s.drain(ctx); err != cause {
			t.Errorf("drain: %v, want the context's cause", err)
		}
		all.Wait()
		if _, err := s.acquire(t.Context(), s.slots[0]); err != ErrClosed {
			t.Errorf("acquire: %v, want ErrClosed", err)
		}
		if err := s.closeAll(); err != nil {
			t.Error(err)
		}
		if a.open.Load() != 0 {
			t.Error("what was in use is open after clear")
		}
		s.release(s.slots[0])
		time.Sleep(2 * time.Minute)
		if deaf.open.Load() != 0 {
			t.Error("what came too late is open")
		}
		end(t, s, f) // once more
	})
}

func TestErrorsOfCloseAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad := errors.New("the device does not answer")
		f := &fakes{t: t}
		s := cacheOf(t, 0, f, &kind{name: "a"})
		got, err := s.acquire(t.Context(), s.slots[0])
		if err != nil {
			t.Fatal(err)
		}
		got.(*fake).err = bad
		s.release(s.slots[0])
		if err := s.drain(t.Context()); err != nil {
			t.Error(err)
		}
		if err := s.closeAll(); !errors.Is(err, bad) {
			t.Errorf("clear: %v, want %v", err, bad)
		}
	})
}

// TestNothingDeadlocks lets many goroutines ask for any of several models of any size at random: everybody who has patience is served, the
// budget is kept, and the test ends. If goroutines deadlocked, synctest would fail.
func TestNothingDeadlocks(t *testing.T) {
	for seed := range uint64(60) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 3))
			f := &fakes{t: t, budget: int64(10 + r.IntN(30))}
			broken := errors.New("broken")
			kinds := make([]*kind, 2+r.IntN(5))
			flaky := r.IntN(2) == 0
			for i := range kinds {
				size := 1 + r.Int64N(f.budget)
				k := &kind{
					name: fmt.Sprint(i), said: size, size: size, deaf: r.IntN(2) == 0,
					load: time.Duration(r.IntN(100)) * time.Millisecond, shut: time.Duration(r.IntN(30)) * time.Millisecond,
				}
				if flaky && i%2 == 0 {
					k.fails = func() error {
						if k.loads.Load()%3 == 1 {
							return broken
						}
						return nil
					}
				}
				kinds[i] = k
			}
			s := cacheOf(t, f.budget, f, kinds...)
			var served, failed, left atomic.Int32
			var all sync.WaitGroup
			for i := range 20 {
				all.Go(func() {
					r := rand.New(rand.NewPCG(seed, uint64(i)))
					for range 15 {
						patience, impatient := time.Hour, r.IntN(3) == 0
						if impatient {
							patience = time.Duration(r.IntN(150)) * time.Millisecond
						}
						ctx, cancel := context.WithTimeout(t.Context(), patience)
						o := s.slots[r.IntN(len(s.slots))]
						got, err := s.acquire(ctx, o)
						switch {
						case err == nil:
							served.Add(1)
							time.Sleep(time.Duration(r.IntN(40)) * time.Millisecond)
							if got.(*fake).shut.Load() {
								t.Errorf("seed %d: %s was closed while it was in use", seed, o.name)
							}
							s.release(o)
						case impatient && err == context.DeadlineExceeded:
							left.Add(1)
						case errors.Is(err, broken):
							failed.Add(1)
						default:
							t.Errorf("seed %d: %v", seed, err)
						}
						cancel()
						checkCache(t, s)
						time.Sleep(time.Duration(r.IntN(20)) * time.Millisecond)
					}
				})
			}
			all.Wait()
			if n := served.Load() + failed.Load() + left.Load(); n != 300 || served.Load() == 0 {
				t.Errorf("seed %d: %d served, %d failed, %d left", seed, served.Load(), failed.Load(), left.Load())
			}
			end(t, s, f)
		})
	}
}
