package queue

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// join takes one position, or ends the test.
func join(t *testing.T, q *Queue, client string) *Place {
	t.Helper()
	return joinAll(t, q, client, 1)[0]
}

// joinAll takes n positions, or ends the test.
func joinAll(t *testing.T, q *Queue, client string, n int) []*Place {
	t.Helper()
	places, err := q.Join(client, n)
	if err != nil {
		t.Fatalf("Join(%q, %d): %v", client, n, err)
	}
	if len(places) != n {
		t.Fatalf("Join(%q, %d) gave %d positions", client, n, len(places))
	}
	return places
}

// has reports whether p has a place, without waiting for one.
func has(p *Place) bool {
	p.queue.mu.Lock()
	defer p.queue.mu.Unlock()
	return p.state == placed
}

func TestFreePlacesAreTakenAtOnce(t *testing.T) {
	q := New(3, 0)
	places := joinAll(t, q, "a", 3)
	for _, p := range places {
		if err := p.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := q.Join("b", 1); !errors.As(err, new(*FullError)) {
		t.Fatalf("a fourth: %v, want a *FullError", err)
	}
	places[1].Leave()
	places[1].Leave() // must not free another place
	join(t, q, "b")
	if _, err := q.Join("b", 1); !errors.As(err, new(*FullError)) {
		t.Fatalf("a place was given back twice: %v", err)
	}
	if s := q.Stats(); s.InUse != 3 || s.Waiting != 0 || s.Refused != 2 || s.Waited != 0 {
		t.Fatalf("%+v", s)
	}
}

func TestWhoseTurnItIs(t *testing.T) {
	for _, c := range []struct {
		name   string
		places int
		joins  []string // in the order in which they come
		want   []string // in the order in which they get a place; places are given back in the same order
	}{
		{"within a client, first come first served", 1, []string{"a1", "a2", "a3"}, []string{"a1", "a2", "a3"}},
		{"clients take turns", 1, []string{"a1", "a2", "a3", "b1", "b2", "b3"}, []string{"a1", "b1", "a2", "b2", "a3", "b3"}},
		{"a newcomer waits for one answer", 1, []string{"a1", "a2", "a3", "a4", "b1"}, []string{"a1", "b1", "a2", "a3", "a4"}},
		{"whoever holds fewest", 2, []string{"a1", "a2", "a3", "b1", "b2"}, []string{"a1", "a2", "b1", "a3", "b2"}},
		{"three clients", 2, []string{"a1", "a2", "a3", "b1", "b2", "c1"}, []string{"a1", "a2", "b1", "c1", "a3", "b2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := New(c.places, 100)
			waiting := map[string]*Place{}
			var got []string
			var held []*Place
			look := func() {
				for _, name := range c.joins {
					if p := waiting[name]; p != nil && has(p) {
						delete(waiting, name)
						held = append(held, p)
						got = append(got, name)
					}
				}
			}
			for _, name := range c.joins {
				waiting[name] = join(t, q, name[:1])
				look()
			}
			for len(held) > 0 {
				held[0].Leave()
				held = held[1:]
				look()
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("served %v, want %v", got, c.want)
			}
		})
	}
}

func TestOneClientCannotFillTheLine(t *testing.T) {
	fill := func(q *Queue, client string) (n int) {
		for {
			if _, err := q.Join(client, 1); err != nil {
				return n
			}
			n++
		}
	}
	for _, c := range []struct {
		waiting int
		want    []int // positions that clients get who take as many as they can, one after the other
	}{
		{0, []int{0, 0}},
		{1, []int{1, 0}},
		{2, []int{1, 1, 0}},
		{3, []int{2, 1, 0}},
		{64, []int{32, 16, 8, 4, 2, 1, 1, 0}},
	} {
		q := New(1, c.waiting)
		join(t, q, "holder")
		for i, want := range c.want {
			if got := fill(q, fmt.Sprint(i)); got != want {
				t.Errorf("of a line of %d, client %d got %d positions, want %d", c.waiting, i, got, want)
			}
		}
	}
}

func TestClientsThatShareTheLineGetTheSame(t *testing.T) {
	const waiting = 90
	q := New(1, waiting)
	join(t, q, "holder")
	got := map[string]int{}
	for range waiting {
		for _, client := range []string{"a", "b"} {
			if _, err := q.Join(client, 1); err == nil {
				got[client]++
			}
		}
	}
	if got["a"] != waiting/3 || got["b"] != waiting/3 {
		t.Errorf("got %v, want a third of %d each", got, waiting)
	}
}

func TestAllOrNone(t *testing.T) {
	q := New(2, 8)
	a := joinAll(t, q, "a", 4) // two places, two positions
	var full *FullError
	if _, err := q.Join("a", 3); !errors.As(err, &full) || full.Waiting != 2 {
		t.Fatalf("a with five of eight positions: %v, want a *FullError with two that wait", err)
	}
	if s := q.Stats(); s.InUse != 2 || s.Waiting != 2 {
		t.Fatalf("a refused Join changed the queue: %+v", s)
	}
	joinAll(t, q, "a", 2)
	var many *TooManyError
	if _, err := q.Join("b", 7); !errors.As(err, &many) || many.Most != 6 {
		t.Fatalf("seven at once: %v, want a *TooManyError that says six", err)
	}
	if places, err := q.Join("b", 0); places != nil || err != nil {
		t.Fatalf("Join of none: %v, %v", places, err)
	}
	for _, p := range a {
		p.Leave()
	}
	if s := q.Stats(); s.InUse != 2 || s.Waiting != 0 {
		t.Fatalf("%+v", s)
	}
}

func TestWaitEnds(t *testing.T) {
	cause := errors.New("the client left")
	for _, c := range []struct {
		name string
		end  func(q *Queue, first, p *Place, cancel context.CancelCauseFunc)
		want error
		held int // places taken afterwards
	}{
		{"with a place", func(_ *Queue, first, _ *Place, _ context.CancelCauseFunc) { first.Leave() }, nil, 1},
		{"with its context", func(_ *Queue, _, _ *Place, cancel context.CancelCauseFunc) { cancel(cause) }, cause, 1},
		{"with its context and a place", func(_ *Queue, first, _ *Place, cancel context.CancelCauseFunc) {
			cancel(cause)
			first.Leave()
		}, cause, 0},
		{"when somebody gives the position back", func(_ *Queue, _, p *Place, _ context.CancelCauseFunc) { p.Leave() }, ErrLeft, 1},
		{"when the queue is closed", func(q *Queue, _, _ *Place, _ context.CancelCauseFunc) { q.Close() }, ErrClosed, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := New(1, 4)
				first, p := join(t, q, "a"), join(t, q, "b")
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				errs := make(chan error, 1)
				go func() { errs <- p.Wait(ctx) }()
				synctest.Wait()
				select {
				case err := <-errs:
					t.Fatalf("Wait returned %v before there was a place", err)
				default:
				}
				c.end(q, first, p, cancel)
				if err := <-errs; err != c.want {
					t.Errorf("Wait: %v, want %v", err, c.want)
				}
				if s := q.Stats(); s.InUse != c.held || s.Waiting != 0 || s.Waited != 1 {
					t.Errorf("afterwards: %+v", s)
				}
				p.Leave()
				first.Leave()
				if err := q.Idle(t.Context()); err != nil {
					t.Error(err)
				}
				if len(q.clients) != 0 {
					t.Errorf("%d clients are remembered", len(q.clients))
				}
			})
		})
	}
}

func TestAPlaceIsNotGivenToWhoHasLeft(t *testing.T) {
	q := New(1, 4)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := join(t, q, "a").Wait(ctx); err != context.Canceled {
		t.Fatalf("Wait: %v", err)
	}
	if s := q.Stats(); s.InUse != 0 {
		t.Fatalf("%+v", s)
	}
}

func TestCloseAndIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(2, 4)
		a := joinAll(t, q, "a", 4)
		q.Close()
		q.Close()
		if _, err := q.Join("b", 1); err != ErrClosed {
			t.Errorf("Join: %v, want ErrClosed", err)
		}
		if err := a[0].Wait(t.Context()); err != nil {
			t.Errorf("who had a place: %v", err)
		}
		if err := a[2].Wait(t.Context()); err != ErrClosed {
			t.Errorf("who waited: %v, want ErrClosed", err)
		}
		short, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.ErrUnsupported)
		defer cancel()
		if err := q.Idle(short); err != errors.ErrUnsupported {
			t.Errorf("Idle: %v, want the context's cause", err)
		}
		var leaving sync.WaitGroup
		defer leaving.Wait()
		leaving.Go(func() {
			for _, p := range a {
				time.Sleep(time.Second)
				p.Leave()
			}
		})
		began := time.Now()
		if err := q.Idle(t.Context()); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("idle after %v, want 2s", took)
		}
		if len(q.clients) != 0 {
			t.Errorf("%d clients are remembered", len(q.clients))
		}
	})
}

func TestRetryAfter(t *testing.T) {
	for _, c := range []struct {
		held            time.Duration // each place
		places, waiting int
		want            time.Duration
	}{
		{0, 1, 0, time.Second},
		{100 * time.Millisecond, 4, 8, time.Second},
		{2 * time.Second, 4, 7, 4 * time.Second},
		{time.Hour, 1, 64, time.Minute},
		{1000 * time.Hour, 1, 1 << 16, time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			q := New(c.places, c.waiting)
			if c.held > 0 {
				for range 5 {
					p := join(t, q, "a")
					time.Sleep(c.held)
					p.Leave()
				}
			}
			n := 0
			for ; ; n++ {
				_, err := q.Join(fmt.Sprint(n), 1)
				if err == nil {
					continue
				}
				var full *FullError
				if !errors.As(err, &full) {
					t.Fatal(err)
				}
				if full.Waiting != c.waiting || full.RetryAfter != c.want {
					t.Errorf("%v held by each of %d places, %d wait: %v, want to try again in %v", c.held, c.places, c.waiting, err, c.want)
				}
				return
			}
		})
	}
}

// reference is a queue as its documentation describes it, without any care for speed.
type reference struct {
	places, most int
	turn         int
	last         map[string]int // of clients that have something
	held         map[string]int
	line         []*Place // those that wait, in the order in which they came
	taken        []*Place
	names        map[*Place]string
}

func (r *reference) count(name string) (n int) {
	for _, p := range r.line {
		if r.names[p] == name {
			n++
		}
	}
	return n
}

func (r *reference) admits(name string, n int) bool {
	later := max(n-(r.places-len(r.taken)), 0)
	return later == 0 || len(r.line)+later <= r.most && r.count(name)+later <= r.most-len(r.line)-later+1
}

func (r *reference) join(name string, places []*Place) {
	if r.held[name] == 0 && r.count(name) == 0 {
		r.turn++
		r.last[name] = r.turn
	}
	for _, p := range places {
		r.names[p] = name
		r.line = append(r.line, p)
	}
	r.serve()
}

func (r *reference) leave(p *Place) {
	name := r.names[p]
	if i := slices.Index(r.taken, p); i >= 0 {
		r.taken = slices.Delete(r.taken, i, i+1)
		r.held[name]--
		r.turn++
		r.last[name] = r.turn
	} else if i := slices.Index(r.line, p); i >= 0 {
		r.line = slices.Delete(r.line, i, i+1)
	}
	r.serve()
}

// serve gives free places away.
func (r *reference) serve() {
	for len(r.taken) < r.places && len(r.line) > 0 {
		best := slices.MinFunc(r.line, func(a, b *Place) int {
			a1, b1 := r.names[a], r.names[b]
			if d := r.held[a1] - r.held[b1]; d != 0 {
				return d
			}
			return r.last[a1] - r.last[b1]
		})
		r.line = slices.Delete(r.line, slices.Index(r.line, best), slices.Index(r.line, best)+1)
		r.taken = append(r.taken, best)
		name := r.names[best]
		r.turn++
		r.held[name]++
		r.last[name] = r.turn
	}
}

// overtakers counts, for each client that waits and holds nothing, the places that each other client got meanwhile.
type overtakers map[string]map[string]int

// TestQueueIsAsDocumented compares the queue with the reference after each of many random steps, and checks invariants and the
// promise about fairness.
func TestQueueIsAsDocumented(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 14))
		places, most, clients := 1+r.IntN(5), r.IntN(20), 1+r.IntN(8)
		q := New(places, most)
		ref := &reference{places: places, most: most, last: map[string]int{}, held: map[string]int{}, names: map[*Place]string{}}
		over := overtakers{}
		var all []*Place
		for step := range 2000 {
			before := slices.Clone(ref.taken)
			what := ""
			if r.IntN(2) == 0 {
				name, n := string(rune('a'+r.IntN(clients))), 1+r.IntN(3)
				what = fmt.Sprintf("%s joins %d times", name, n)
				ps, err := q.Join(name, n)
				if n > places+(most+1)/2 {
					if !errors.As(err, new(*TooManyError)) {
						t.Fatalf("seed %d step %d: %s: %v, want a *TooManyError", seed, step, what, err)
					}
					continue
				}
				if admitted := ref.admits(name, n); (err == nil) != admitted {
					t.Fatalf("seed %d step %d: %s: %v, want it admitted: %v", seed, step, what, err, admitted)
				}
				if err == nil {
					ref.join(name, ps)
					all = append(all, ps...)
				}
			} else if len(all) > 0 {
				i := r.IntN(len(all))
				p := all[i]
				what = ref.names[p] + " leaves"
				p.Leave()
				ref.leave(p)
				if r.IntN(4) > 0 { // otherwise it leaves once more later
					all = slices.Delete(all, i, i+1)
				}
			}
			check(t, fmt.Sprintf("seed %d step %d: %s", seed, step, what), q, ref)
			// Whoever waits with empty hands is overtaken at most once by each other client.
			waiting := map[string]bool{}
			for _, p := range ref.line {
				if name := ref.names[p]; ref.held[name] == 0 {
					waiting[name] = true
				}
			}
			for name := range over {
				if !waiting[name] {
					delete(over, name)
				}
			}
			for name := range waiting {
				if over[name] == nil {
					over[name] = map[string]int{}
					continue
				}
				for _, p := range ref.taken {
					if other := ref.names[p]; !slices.Contains(before, p) {
						if over[name][other]++; over[name][other] > 1 {
							t.Fatalf("seed %d step %d: %s waits with empty hands, and %s got a second place", seed, step, name, other)
						}
					}
				}
			}
		}
	}
}

// check compares a queue with the reference and checks its invariants.
func check(t *testing.T, what string, q *Queue, ref *reference) {
	t.Helper()
	for _, p := range ref.taken {
		if !has(p) {
			t.Fatalf("%s: a position of %s should have got a place", what, ref.names[p])
		}
	}
	for _, p := range ref.line {
		if has(p) {
			t.Fatalf("%s: a position of %s should still wait", what, ref.names[p])
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.taken != len(ref.taken) || q.waiting != len(ref.line) || q.taken > q.places || q.waiting > q.most || q.waiting > 0 && q.taken < q.places {
		t.Fatalf("%s: %d of %d places taken, %d of %d wait, want %d and %d", what, q.taken, q.places, q.waiting, q.most, len(ref.taken), len(ref.line))
	}
	taken, waiting, lines := 0, 0, 0
	for name, c := range q.clients {
		if c.held == 0 && c.line.len == 0 || c.name != name {
			t.Fatalf("%s: client %q is remembered as %+v", what, name, c)
		}
		if c.line.len > 0 {
			lines++
			if q.next[c.rank] != c {
				t.Fatalf("%s: client %q is not where it says", what, name)
			}
		}
		n := 0
		for p := c.line.first; p != nil; p = p.next {
			n++
		}
		if n != c.line.len {
			t.Fatalf("%s: client %q has %d positions, says %d", what, name, n, c.line.len)
		}
		taken, waiting = taken+c.held, waiting+n
	}
	if taken != q.taken || waiting != q.waiting || lines != len(q.next) {
		t.Fatalf("%s: clients hold %d and wait for %d in %d lines, the queue says %d, %d and %d", what, taken, waiting, lines, q.taken, q.waiting, len(q.next))
	}
}

// TestManyGoroutines lets clients come, wait, lose patience and leave at the same time.
func TestManyGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const places, clients, requests = 4, 60, 50
		q := New(places, 100)
		var inUse, served, refused, left atomic.Int64
		var all sync.WaitGroup
		for i := range clients {
			all.Go(func() {
				r := rand.New(rand.NewPCG(uint64(i), 7))
				var own sync.WaitGroup
				for range requests {
					time.Sleep(time.Duration(r.IntN(40)) * time.Millisecond)
					n := 1 + r.IntN(3)
					ps, err := q.Join(fmt.Sprint(i%20), n)
					if err != nil {
						refused.Add(int64(n))
						if !errors.As(err, new(*FullError)) {
							t.Error(err)
						}
						continue
					}
					patience, work := time.Duration(r.IntN(100))*time.Millisecond, time.Duration(r.IntN(10))*time.Millisecond
					early := r.IntN(5) == 0
					for _, p := range ps {
						own.Go(func() {
							ctx, cancel := context.WithTimeout(t.Context(), patience)
							defer cancel()
							defer p.Leave()
							if early {
								time.AfterFunc(patience/2, p.Leave)
							}
							switch err := p.Wait(ctx); err {
							case nil:
								if !early { // it may have lost the place since
									if now := inUse.Add(1); now > places {
										t.Errorf("%d places are taken", now)
									}
									time.Sleep(work)
									inUse.Add(-1)
								}
								served.Add(1)
							case context.DeadlineExceeded, ErrLeft:
								left.Add(1)
							default:
								t.Error(err)
							}
						})
					}
				}
				own.Wait()
			})
		}
		all.Wait()
		if err := q.Idle(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(q.clients) != 0 || len(q.next) != 0 {
			t.Errorf("%d clients are remembered", len(q.clients))
		}
		t.Logf("%d served, %d refused, %d left: %+v", served.Load(), refused.Load(), left.Load(), q.Stats())
		if served.Load() == 0 || refused.Load() == 0 || left.Load() == 0 {
			t.Error("the test shows nothing: each of the three should happen")
		}
	})
}

func TestWhoWaitsCostsLittle(t *testing.T) {
	const n = 10_000
	q := New(1, 2*n)
	join(t, q, "holder")
	kept := make([]*Place, 0, n)
	goroutines := runtime.NumGoroutine()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range n {
		kept = append(kept, join(t, q, fmt.Sprint(i%1000)))
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if each := (after.HeapAlloc - before.HeapAlloc) / n; each > 400 {
		t.Errorf("a position that waits takes %d bytes, want 400 at most", each)
	}
	if now := runtime.NumGoroutine(); now > goroutines {
		t.Errorf("%d goroutines, %d before", now, goroutines)
	}
	runtime.KeepAlive(kept)
}

// BenchmarkTurns measures a client that comes, gets the place of the one before it and leaves, with clients other clients there.
func BenchmarkTurns(b *testing.B) {
	for _, clients := range []int{1, 100, 10_000} {
		b.Run(fmt.Sprint(clients), func(b *testing.B) {
			q := New(1, 4*clients)
			names := make([]string, clients)
			held, err := q.Join("holder", 1)
			if err != nil {
				b.Fatal(err)
			}
			line := make([]*Place, 0, clients+1)
			for i := range names {
				names[i] = fmt.Sprint(i)
				p, err := q.Join(names[i], 1)
				if err != nil {
					b.Fatal(err)
				}
				line = append(line, p...)
			}
			holder, i := held[0], 0
			b.ReportAllocs()
			for b.Loop() {
				holder.Leave()
				holder = line[i] // with one position each, clients are served in the order of their names
				p, err := q.Join(names[i], 1)
				if err != nil {
					b.Fatal(err)
				}
				line[i] = p[0]
				i = (i + 1) % clients
			}
		})
	}
}
