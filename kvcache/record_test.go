package kvcache_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/backend"

	"github.com/antigravity-go/antigravity/backend/backendtest"
	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/kvcache"
	"github.com/antigravity-go/antigravity/tensor"
)

// heads is the number of query heads: two share a KV head.
const heads, group = 4, heads / kvHeads

// angles is the RoPE of the tests.
func angles(row []float32, position int) {
	for i := range headDim / 2 {
		sin, cos := math.Sincos(float64(position) / float64(1+i*i))
		row[i], row[i+headDim/2] = float32(cos), float32(sin)
	}
}

// slot is what the plain account of a cache knows of a slot in one head.
type slot struct {
	position   int
	key, value []float32
	received   float64
}

// account is a cache, and a plain list of slots for each KV head, which compare holds the cache against.
type account struct {
	testing.TB
	backend *cpu.Backend
	cache   *kvcache.Cache
	random  *rand.Rand
	track   kvcache.Tracking
	seen    int
	slots   [kvHeads][]slot
	queries [][]float32 // [..][heads·headDim], the latest last
}

func newAccount(t testing.TB, d tensor.DType, capacity int, track kvcache.Tracking) *account {
	t.Helper()
	a := &account{TB: t, backend: cpu.New(1), random: rand.New(rand.NewPCG(3, 4)), track: track}
	t.Cleanup(func() { a.backend.Close() })
	var err error
	if a.cache, err = kvcache.NewPlain(a.backend, d, capacity, heads, kvHeads, headDim); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.cache.Free() })
	if err := a.cache.Track(track, heads, angles); err != nil {
		t.Fatal(err)
	}
	return a
}

// normal makes a tensor of random numbers.
func (a *account) normal(n, heads int) (*tensor.Tensor, []float32) {
	a.Helper()
	x := make([]float32, n*heads*headDim)
	for i := range x {
		x[i] = float32(a.random.NormFloat64())
	}
	return a.tensor(x, n, heads), x
}

// dtype returns the type of the cache.
func (a *account) dtype() tensor.DType { return a.cache.DType() }

func (a *account) tensor(x []float32, n, heads int) *tensor.Tensor {
	a.Helper()
	t, err := tensor.FromFloats(x, n, heads, headDim)
	if err != nil {
		a.Fatal(err)
	}
	return t
}

// add appends tokens by chunks of a size.
func (a *account) add(n, chunk int) {
	a.Helper()
	for ; n > 0; n -= chunk {
		a.chunk(min(n, chunk))
	}
}

// chunk appends a chunk of tokens.
func (a *account) chunk(n int) {
	a.Helper()
	k, keys := a.normal(n, kvHeads)
	v, values := a.normal(n, kvHeads)
	q, queries := a.normal(n, heads)
	a.ok(a.cache.Anchor(k))
	a.ok(a.cache.Update(k, v))
	a.ok(a.cache.Observe(q))
	for h := range kvHeads {
		a.ok(a.cache.Each(h, func(slot int, key, value []float32) { // as the cache's type has them
			if i := slot - a.cache.HeadLen(h) + n; i >= 0 && a.dtype() != tensor.F32 {
				copy(keys[(i*kvHeads+h)*headDim:], key)
				copy(values[(i*kvHeads+h)*headDim:], value)
			}
		}))
	}
	for i := range n {
		for h := range a.slots {
			at := (i*kvHeads + h) * headDim
			a.slots[h] = append(a.slots[h], slot{position: a.seen, key: keys[at:][:headDim], value: values[at:][:headDim]})
		}
		a.seen++
		query := queries[i*heads*headDim:][:heads*headDim]
		a.queries = append(a.queries, query)
		for h := range heads {
			a.attend(query[h*headDim:][:headDim], a.slots[h/group])
		}
	}
}

// attend adds a query's attention to what the slots have received.
func (a *account) attend(q []float32, slots []slot) {
	for i, w := range weights(q, slots) {
		slots[i].received += w
	}
}

// weights returns the attention that a query gives to slots.
func weights(q []float32, slots []slot) []float64 {
	w, total := make([]float64, len(slots)), 0.0
	for i, s := range slots {
		for j, v := range q {
			w[i] += float64(v) * float64(s.key[j])
		}
		w[i] = math.Exp(w[i] / math.Sqrt(headDim))
		total += w[i]
	}
	for i := range w {
		w[i] /= total
	}
	return w
}

// keep forgets all but some slots, each head its own.
func (a *account) keep(lists ...[]int) {
	for h := range a.slots {
		var kept []slot
		for _, i := range lists[min(h, len(lists)-1)] {
			kept = append(kept, a.slots[h][i])
		}
		a.slots[h] = kept
	}
}

// truncate forgets the tokens of all slots but the first n, and lets the cache do so. Of the queries those remain that the record was asked to
// keep.
func (a *account) truncate(n int) {
	a.Helper()
	gone := a.longest() - n
	a.ok(a.cache.Truncate(a.seen - gone))
	if gone == 0 {
		return
	}
	for h := range a.slots {
		a.slots[h] = a.slots[h][:max(0, len(a.slots[h])-gone)]
		for i := range a.slots[h] {
			s := &a.slots[h][i]
			s.received *= float64(a.seen-gone-s.position) / float64(a.seen-s.position)
		}
	}
	a.queries = a.queries[max(len(a.queries)-a.track.Queries, 0):]
	a.queries = a.queries[:max(len(a.queries)-gone, 0)]
	a.seen -= gone
}

// longest returns the number of slots of the head that has most, shortest that of the head that has fewest.
func (a *account) longest() int { return max(len(a.slots[0]), len(a.slots[1])) }

func (a *account) shortest() int { return min(len(a.slots[0]), len(a.slots[1])) }

// reset forgets everything.
func (a *account) reset() {
	a.seen, a.slots, a.queries = 0, [kvHeads][]slot{}, nil
}

func (a *account) ok(err error) {
	a.Helper()
	if err != nil {
		a.Fatal(err)
	}
}

// compare holds the cache against the account.
func (a *account) compare() {
	a.Helper()
	n := a.longest()
	if a.cache.Len() != n || a.cache.Seen() != a.seen {
		a.Fatalf("%d slots of %d tokens, want %d of %d", a.cache.Len(), a.cache.Seen(), n, a.seen)
	}
	for h, slots := range a.slots {
		positions := a.cache.Positions(h)
		if len(positions) != len(slots) || a.cache.HeadLen(h) != len(slots) {
			a.Fatalf("head %d: %d positions for %d slots, want %d", h, len(positions), a.cache.HeadLen(h), len(slots))
		}
		for i, s := range slots {
			if int(positions[i]) != s.position {
				a.Fatalf("head %d: positions %v; slot %d is of token %d", h, positions, i, s.position)
			}
		}
	}
	a.compareRows()
	if a.track.Attention {
		a.compareReceived()
	}
	if a.track.Queries > 0 {
		for _, window := range []int{1, a.track.Queries, a.track.Queries + 1} {
			a.compareQueries(window)
		}
	}
}

func (a *account) compareRows() {
	a.Helper()
	for h, slots := range a.slots {
		read := 0
		a.ok(a.cache.Each(h, func(i int, key, value []float32) {
			if i != read {
				a.Errorf("head %d: slot %d comes as number %d", h, i, read)
			}
			read++
			if s := slots[i]; !slices.Equal(key, s.key) || !slices.Equal(value, s.value) {
				a.Errorf("head %d: slot %d does not hold the key and the value of token %d", h, i, s.position)
			}
		}))
		if read != a.cache.HeadLen(h) || read != len(slots) {
			a.Errorf("head %d: there were %d slots of %d, want %d", h, read, a.cache.HeadLen(h), len(slots))
		}
	}
}

func (a *account) compareReceived() {
	a.Helper()
	sums, err := a.cache.Received()
	a.ok(err)
	tolerance := 1e-5
	if a.dtype().Quantized() {
		tolerance = 0.03 // queries are rounded to 8 bits then
	}
	for h, row := range sums {
		if len(row) != len(a.slots[h]) {
			a.Fatalf("head %d: %d sums for %d slots", h, len(row), len(a.slots[h]))
		}
		for i, got := range row {
			if want := a.slots[h][i].received; math.Abs(float64(got)-want) > tolerance*(1+want) {
				a.Errorf("head %d: slot %d received %g, want %g", h, i, got, want)
			}
		}
	}
}

func (a *account) compareQueries(window int) {
	a.Helper()
	n := min(window, a.track.Queries, len(a.queries), a.shortest())
	q, err := a.cache.RecentQueries(window)
	a.ok(err)
	if !slices.EqualFunc(q, a.queries[len(a.queries)-n:], slices.Equal) {
		a.Errorf("the %d latest queries are others", n)
	}
}

// every returns each step-th of n.
func every(step, n int) (list []int) {
	for i := 0; i < n; i += step {
		list = append(list, i)
	}
	return list
}

// TestRecord plays a conversation for every type and by chunks of different sizes.
func TestRecord(t *testing.T) {
	const w = 5
	for _, d := range []tensor.DType{tensor.F32, tensor.F16, tensor.Q8_0, tensor.Q4_0} {
		for _, chunk := range []int{1, 3, w, w + 1, 2*w + 1, 40} {
			t.Run(fmt.Sprintf("%v/chunk %d", d, chunk), func(t *testing.T) {
				a := newAccount(t, d, 100, kvcache.Tracking{Queries: w, Attention: true})
				a.compare()
				a.add(40, chunk)
				a.compare()
				a.ok(a.cache.PrunePrefix(7))
				a.keep(every(1, 40)[7:])
				a.compare()
				a.add(4, 1)
				a.compare()
				a.ok(a.cache.Keep([][]int{append(every(3, 30), 35, 36)}))
				a.keep(append(every(3, 30), 35, 36))
				a.compare()
				a.add(20, chunk)
				a.ok(a.cache.Keep([][]int{every(2, 32), every(1, 16)}))
				a.keep(every(2, 32), every(1, 16))
				a.compare()
				a.add(3, chunk)
				a.truncate(17)
				a.compare()
				a.add(30, chunk)
				a.compare()
				a.truncate(0) // evicted tokens stay seen
				a.compare()
				a.add(3, chunk)
				a.compare()
				a.ok(a.cache.Truncate(0))
				a.reset()
				a.compare()
				a.add(9, chunk)
				a.compare()
				a.ok(a.cache.Keep([][]int{nil}))
				a.keep(nil)
				a.compare()
				a.add(2, chunk)
				a.compare()
			})
		}
	}
}

// TestKeepByHead reads keys and values of every type after heads have kept different slots.
func TestKeepByHead(t *testing.T) {
	for _, d := range []tensor.DType{tensor.F32, tensor.F16, tensor.Q8_0, tensor.Q4_0} {
		t.Run(d.String(), func(t *testing.T) {
			a := newAccount(t, d, 50, kvcache.Tracking{})
			x := rows(t, 0, 50)
			a.ok(a.cache.Update(x, x))
			var before [kvHeads][50][]float32
			read := func(f func(head, slot int, x []float32)) {
				for h := range kvHeads {
					a.ok(a.cache.Each(h, func(slot int, key, value []float32) {
						if !slices.Equal(key, value) {
							t.Errorf("head %d: slot %d has the key of one token and the value of another", h, slot)
						}
						f(h, slot, key)
					}))
				}
			}
			read(func(head, slot int, x []float32) { before[head][slot] = slices.Clone(x) })
			lists := [][]int{{0, 1, 2, 3, 40, 41, 49}, {7, 8, 20, 21, 22, 30, 31}}
			bytes := a.cache.MemoryUsage()
			a.ok(a.cache.Keep(lists))
			if a.cache.Len() != 7 || a.cache.MemoryUsage() != bytes/50*7 || a.cache.Seen() != 50 {
				t.Errorf("%d slots of %d tokens in %d bytes", a.cache.Len(), a.cache.Seen(), a.cache.MemoryUsage())
			}
			read(func(h, slot int, x []float32) {
				was := lists[h][slot]
				if !slices.Equal(x, before[h][was]) {
					t.Errorf("head %d: slot %d is not what slot %d was", h, slot, was)
				}
				if p := a.cache.Positions(h)[slot]; int(p) != was {
					t.Errorf("head %d: slot %d has the position %d, want %d", h, slot, p, was)
				}
			})
		})
	}
}

// TestReceivedByChunks checks that sums have the same bits however the tokens came, evictions between them or not.
func TestReceivedByChunks(t *testing.T) {
	for _, d := range []tensor.DType{tensor.F32, tensor.F16, tensor.Q8_0, tensor.Q4_0} {
		var first [][]float32
		for _, chunk := range []int{100, 1, 7, 64} {
			a := newAccount(t, d, 200, kvcache.Tracking{Attention: true})
			k, _ := a.normal(200, kvHeads) // the same for all
			q, _ := a.normal(200, heads)
			for lo := 0; lo < 200; {
				hi := min(lo+chunk, lo/100*100+100)
				keys, err := k.Slice(lo, hi)
				a.ok(err)
				queries, err := q.Slice(lo, hi)
				a.ok(err)
				a.ok(a.cache.Update(keys, keys))
				a.ok(a.cache.Observe(queries))
				if lo = hi; lo == 100 {
					a.ok(a.cache.Keep([][]int{every(2, 100), append(every(1, 49), 99)}))
				}
			}
			sums, err := a.cache.Received()
			a.ok(err)
			if first == nil {
				first = sums
			}
			if !slices.EqualFunc(sums, first, slices.Equal) {
				t.Errorf("%v: other sums by chunks of %d", d, chunk)
			}
		}
	}
}

// TestReanchor gives the first tokens other positions: the bits are those of keys that were written there.
func TestReanchor(t *testing.T) {
	const sinks = 4
	for _, d := range []tensor.DType{tensor.F32, tensor.F16, tensor.Q8_0, tensor.Q4_0} {
		for _, chunk := range []int{1, 3, 30} {
			t.Run(fmt.Sprintf("%v/chunk %d", d, chunk), func(t *testing.T) {
				a := newAccount(t, d, 40, kvcache.Tracking{Anchors: sinks})
				plain, before := a.normal(30, kvHeads)
				for lo := 0; lo < 30; lo += chunk {
					a.writeAnchored(plain, lo, min(lo+chunk, 30))
				}
				a.ok(a.cache.Keep([][]int{append(every(1, sinks), 20, 21, 22, 23, 24, 25, 26, 27, 28, 29)}))
				for _, start := range []int{16, 1000, 100_000, 0} {
					keys, values := a.read()
					a.ok(a.cache.Reanchor(sinks, start))
					x := a.tensor(slices.Clone(before[:sinks*kvHeads*headDim]), sinks, kvHeads)
					want := a.rotated(x, start, d)
					gotKeys, gotValues := a.read()
					row := kvHeads * headDim
					if !slices.Equal(gotKeys[:sinks*row], want) {
						t.Errorf("from position %d on: keys are not what RoPE gives there", start)
					}
					if !slices.Equal(gotKeys[sinks*row:], keys[sinks*row:]) || !slices.Equal(gotValues, values) {
						t.Errorf("from position %d on: other keys or values changed", start)
					}
				}
				a.ok(a.cache.Truncate(a.cache.Seen() - a.cache.Len() + 2)) // the rest may still be moved, no more
				if err := a.cache.Reanchor(3, 7); err == nil {
					t.Error("three tokens of two were moved")
				}
				a.ok(a.cache.Reanchor(2, 7))
			})
		}
	}
}

// writeAnchored appends the tokens [lo, hi) of x, keys before RoPE [tokens, kvHeads, headDim], as a model does.
func (a *account) writeAnchored(x *tensor.Tensor, lo, hi int) {
	a.Helper()
	part, err := x.Slice(lo, hi)
	a.ok(err)
	plain, err := part.ToDevice(a.backend)
	a.ok(err)
	a.ok(a.cache.Anchor(plain))
	a.ok(a.backend.Run(&backend.RoPE{X: plain, Table: a.table(lo, hi-lo)}))
	a.ok(a.cache.Update(plain, plain))
}

// table returns the angles of n positions.
func (a *account) table(start, n int) *tensor.Tensor {
	a.Helper()
	table := make([]float32, n*headDim)
	for i := range n {
		angles(table[i*headDim:][:headDim], start+i)
	}
	t, err := tensor.FromFloats(table, n, headDim)
	a.ok(err)
	return t
}

// rotated returns keys with the RoPE of positions from start on, as a cache of a type returns them.
func (a *account) rotated(x *tensor.Tensor, start int, d tensor.DType) []float32 {
	a.Helper()
	a.ok(a.backend.Run(&backend.RoPE{X: x, Table: a.table(start, x.Shape().Dim(0))}))
	cached, err := tensor.New(a.backend, d, x.Shape())
	a.ok(err)
	a.ok(a.backend.Run(&backend.Cast{Src: x, Dst: cached}))
	a.ok(a.backend.Run(&backend.Cast{Src: cached, Dst: x}))
	floats, err := tensor.As[float32](x)
	a.ok(err)
	return slices.Clone(floats)
}

// read returns the cache's keys and values, [Len·kvHeads·headDim] each.
func (a *account) read() (keys, values []float32) {
	a.Helper()
	keys = make([]float32, a.cache.Len()*kvHeads*headDim)
	values = slices.Clone(keys)
	for h := range kvHeads {
		a.ok(a.cache.Each(h, func(slot int, key, value []float32) {
			at := (slot*kvHeads + h) * headDim
			copy(keys[at:], key)
			copy(values[at:], value)
		}))
	}
	return keys, values
}

// TestAnchorsBeginAnew checks that after a Truncate anchors are the keys of the tokens that are the first now.
func TestAnchorsBeginAnew(t *testing.T) {
	a := newAccount(t, tensor.F32, 40, kvcache.Tracking{Anchors: 4})
	first, _ := a.normal(10, kvHeads)
	a.writeAnchored(first, 0, 10)
	second, floats := a.normal(10, kvHeads)
	a.ok(a.cache.Truncate(2))
	a.writeAnchored(second, 2, 3) // positions 2 … 9 are others now
	if err := a.cache.Reanchor(4, 0); err == nil {
		t.Error("a fourth token, never seen, was moved")
	}
	a.writeAnchored(second, 3, 10)
	a.ok(a.cache.Reanchor(4, 50))
	row := kvHeads * headDim
	keys, _ := a.read()
	if want := a.rotated(a.tensor(slices.Clone(floats[2*row:4*row]), 2, kvHeads), 52, tensor.F32); !slices.Equal(keys[2*row:4*row], want) {
		t.Error("keys of tokens that were forgotten came back")
	}
	a.ok(a.cache.Truncate(0))
	if err := a.cache.Reanchor(1, 0); err == nil {
		t.Error("a token of none was moved")
	}
}

func TestRecordRefuses(t *testing.T) {
	b := cpu.New(1)
	defer b.Close()
	c, err := kvcache.NewPlain(b, tensor.F32, 10, heads, kvHeads, headDim)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Free()
	x := rows(t, 0, 3)
	q, err := tensor.FromFloats(make([]float32, 3*heads*headDim), 3, heads, headDim)
	if err != nil {
		t.Fatal(err)
	}
	refused := func(what string, err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error that says %q", what, err, want)
		}
	}
	received := func() error { _, err := c.Received(); return err }
	queries := func() error { _, err := c.RecentQueries(1); return err }
	attention := func() error { _, _, err := c.RecentAttention(1); return err }
	refused("received without a record", received(), "not tracked")
	refused("queries without a record", queries(), "not tracked")
	refused("attention without a record", attention(), "not tracked")
	refused("reanchor without a record", c.Reanchor(1, 0), "of 0 were recorded")
	if err := c.Observe(q); err != nil || c.Anchor(x) != nil || c.Positions(0) != nil || c.RecordBytes() != 0 || c.Rotation() != nil {
		t.Errorf("without a record: %v, %v, %d", err, c.Positions(0), c.RecordBytes())
	}
	for _, bad := range []kvcache.Tracking{{Queries: -1}, {Anchors: -1}, {Queries: 11}, {Anchors: 11}} {
		refused(fmt.Sprintf("%+v", bad), c.Track(bad, heads, angles), "0 to 10")
	}
	if err := c.Track(kvcache.Tracking{}, heads, angles); err != nil {
		t.Fatal(err)
	}
	refused("a second record", c.Track(kvcache.Tracking{}, heads, angles), "already")
	refused("received without attention", received(), "not tracked")
	refused("queries without queries", queries(), "not tracked")
	if err := c.Update(x, x); err != nil {
		t.Fatal(err)
	}
	refused("a late record", c.Track(kvcache.Tracking{}, heads, angles), "3 slots in use")
	refused("lists for three heads", c.Keep([][]int{{0}, {0}, {0}}), "2 KV heads")
	refused("head -1", c.EachKey(-1, nil), "2 KV heads")
	refused("head 2", c.Each(2, nil), "2 KV heads")
	refused("a slot out of range", c.Keep([][]int{{0}, {3}}), "head 1")
	refused("slots that descend", c.Keep([][]int{{1, 0}, {0, 1}}), "ascending")
	if c.Len() != 3 || !slices.Equal(tokens(t, c), []int{0, 1, 2}) {
		t.Errorf("what was refused changed the cache: %v", tokens(t, c))
	}
}

// TestChunkIsTakenBack takes a chunk back, whole or in whatever part of it was done when the device failed: the state is, byte
// for byte, what it was before, though the device fails at everything from then on.
func TestChunkIsTakenBack(t *testing.T) {
	for _, track := range []kvcache.Tracking{{Queries: 8}, {Attention: true}, {Queries: 8, Attention: true, Anchors: 4}} {
		for _, before := range []int{0, 1, 5, 30} {
			for _, n := range []int{1, 7, 8, 20} {
				for _, calls := range []int{0, 1, 2, 3, 4, 5, 100} {
					device := cpu.New(1)
					fault := &backendtest.Fault{Err: errDevice, In: []string{"CopySlice", "RoPEStore", "AccumulateAttention"}, Lost: true}
					c, err := kvcache.NewPlain(backendtest.NewDevice(device, fault.Before), tensor.F32, 60, heads, kvHeads, headDim)
					if err != nil {
						t.Fatal(err)
					}
					a := &account{TB: t, backend: device, cache: c, random: rand.New(rand.NewPCG(3, 4)), track: track}
					a.ok(c.Track(track, heads, angles))
					a.add(before, 3)
					var want, got bytes.Buffer
					a.ok(c.Save(&want))
					k, _ := a.normal(n, kvHeads)
					q, _ := a.normal(n, heads)
					fault.Arm(calls)
					err = c.Anchor(k)
					for _, step := range []func() error{func() error { return c.Update(k, k) }, func() error { return c.Observe(q) }} {
						if err == nil {
							err = step()
						}
					}
					if err == nil && calls < 100 {
						fault.Arm(0)
					}
					if err := c.TakeBack(before); err != nil {
						t.Errorf("%+v, %d tokens after %d, %d calls: %v", track, n, before, calls, err)
					}
					fault.Disarm()
					if a.ok(c.Save(&got)); !bytes.Equal(got.Bytes(), want.Bytes()) {
						t.Errorf("%+v, %d tokens after %d, %d calls: another state", track, n, before, calls)
					}
					a.ok(c.Free())
					device.Close()
				}
			}
		}
	}
}

// TestBatchAllocatesNothing decodes tokens of two conversations at once.
func TestBatchAllocatesNothing(t *testing.T) {
	for _, d := range []tensor.DType{tensor.F16, tensor.Q4_0} {
		for _, track := range []kvcache.Tracking{{}, {Queries: 8}, {Attention: true}, {Queries: 8, Attention: true, Anchors: 4}} {
			t.Run(fmt.Sprintf("%v %+v", d, track), func(t *testing.T) {
				a := newAccount(t, d, 200, track)
				a.add(90, 30)
				a.ok(a.cache.Truncate(50))
				other, err := kvcache.NewStore(a.backend, 2, heads, kvHeads, headDim).New(d, 200)
				a.ok(err)
				defer other.Free()
				q, _ := a.normal(2, heads)
				k, _ := a.normal(2, kvHeads)
				a.ok(other.Update(k, k))
				table, out := a.table(0, 2), a.tensor(make([]float32, 2*heads*headDim), 2, heads)
				b := kvcache.NewBatch(a.backend)
				if n := testing.AllocsPerRun(20, func() {
					b.Reset()
					b.Add(a.cache, 1)
					b.Add(other, 1)
					a.ok(b.Append(q, k, k, table))
					a.ok(b.Attend(q, out))
					a.ok(other.Truncate(other.Seen() - 1)) // as a draft that was wrong
				}); n > 0 {
					t.Errorf("%v allocations for a token", n)
				}
			})
		}
	}
}

// FuzzCache plays operations against the account. Each takes two bytes: what, and how much.
func FuzzCache(f *testing.F) {
	f.Add([]byte{0, 20, 1, 3, 0, 5, 2, 2, 0, 1, 3, 77, 4, 6, 0, 9})
	f.Add([]byte{0, 31, 3, 200, 0, 1, 0, 1, 3, 13, 0, 1, 4, 0, 0, 7, 2, 3})
	f.Add([]byte{0, 25, 7, 83, 0, 5, 4, 20, 7, 9, 0, 4, 1, 3, 6, 0, 7, 2, 0, 3})
	f.Add([]byte{0, 20, 1, 9, 4, 0, 0, 5, 6, 0, 0, 8, 4, 3, 0, 7})
	f.Add([]byte{0, 9, 2, 255, 0, 3, 1, 200, 4, 200, 0, 30, 5, 1, 5, 2, 4, 3, 5, 9})
	f.Fuzz(func(t *testing.T, program []byte) {
		const capacity = 32
		a := newAccount(t, tensor.F32, capacity, kvcache.Tracking{Queries: 4, Attention: true})
		for ; len(program) >= 2 && len(program) < 60; program = program[2:] {
			n, amount := a.cache.Len(), int(program[1])
			switch program[0] % 8 {
			case 0:
				if amount %= capacity; n+amount > capacity || amount == 0 {
					continue
				}
				a.add(amount, 1+int(program[0])/8)
			case 1:
				if err := a.cache.PrunePrefix(amount); (err == nil) != (amount <= n) {
					t.Fatalf("prune %d of %d: %v", amount, n, err)
				} else if err == nil {
					var lists [][]int
					for _, slots := range a.slots {
						lists = append(lists, every(1, len(slots))[min(amount, len(slots)):])
					}
					a.keep(lists...)
				}
			case 2:
				list := every(1+amount%5, a.shortest())
				a.ok(a.cache.Keep([][]int{list}))
				a.keep(list)
			case 3: // the same number of slots of each head: the latest of one, the first of the other
				kept := amount % (a.shortest() + 1)
				lists := [][]int{every(1, len(a.slots[0]))[len(a.slots[0])-kept:], every(1, kept)}
				a.ok(a.cache.Keep(lists))
				a.keep(lists...)
			case 7: // different numbers: the first of one, some of the other
				lists := [][]int{every(1, amount%(len(a.slots[0])+1)), every(1+amount/64, len(a.slots[1]))}
				a.ok(a.cache.Keep(lists))
				a.keep(lists...)
			case 4:
				if amount <= n {
					a.truncate(amount)
				} else if err := a.cache.Truncate(a.seen - n + amount); err == nil {
					t.Fatalf("truncated to %d slots of %d", amount, n)
				}
			case 5:
				list := []int{amount - 1, amount}
				if err := a.cache.Keep([][]int{list}); (err == nil) != (amount > 0 && amount < a.shortest()) {
					t.Fatalf("keep %v of %d: %v", list, n, err)
				} else if err == nil {
					a.keep(list)
				}
			case 6:
				a.ok(a.cache.Truncate(0))
				a.reset()
			}
			a.compare()
		}
	})
}
