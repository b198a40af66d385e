package host_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/backend/host"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/tensor"
)

var cacheTypes = []tensor.DType{tensor.F32, tensor.F16, tensor.Q8_0, tensor.Q4_0}

// slots makes a cache on a backend with random keys and values and the given numbers of slots in use in its heads, in pages out of order.
func (s source) slots(b backend.Backend, d tensor.DType, dim int, used ...int) *backend.Slots {
	s.t.Helper()
	pages := 0
	for _, n := range used {
		pages += (n + backend.PageSlots - 1) / backend.PageSlots
	}
	slab := s.as(d, max(pages, 1), 2, backend.PageSlots, dim)
	order := s.Perm(pages)
	result := &backend.Slots{DType: d, HeadDim: dim, Version: 1}
	for head, n := range used {
		h := backend.HeadSlots{Len: n}
		for left := n; left > 0; left -= backend.PageSlots {
			h.Pages, order = append(h.Pages, backend.Page{Slab: slab, Index: order[0]}), order[1:]
		}
		result.Heads = append(result.Heads, h)
		if n > 0 {
			if err := b.Run(&backend.WriteSlots{Slots: result, Head: head, First: 0, Keys: s.as(d, n, dim), Values: s.as(d, n, dim)}); err != nil {
				s.t.Fatal(err)
			}
		}
	}
	return result
}

// moved returns a copy of a backend's cache as another backend lays it out.
func (s source) moved(from, to backend.Backend, c *backend.Slots) *backend.Slots {
	s.t.Helper()
	used := make([]int, len(c.Heads))
	for head := range c.Heads {
		used[head] = c.Heads[head].Len
	}
	result := s.slots(to, c.DType, c.HeadDim, used...)
	for head, n := range used {
		if n == 0 {
			continue
		}
		k, v := s.as(c.DType, n, c.HeadDim), s.as(c.DType, n, c.HeadDim)
		if err := errors.Join(from.Run(&backend.ReadSlots{Slots: c, Head: head, First: 0, Keys: k, Values: v}), to.Run(&backend.WriteSlots{Slots: result, Head: head, First: 0, Keys: k, Values: v})); err != nil {
			s.t.Fatal(err)
		}
	}
	return result
}

// read returns the keys and values of a head of a backend's cache in the cache's type.
func (s source) read(b backend.Backend, c *backend.Slots, head int) (keys, values []byte) {
	s.t.Helper()
	n := c.Heads[head].Len
	if n == 0 {
		return nil, nil
	}
	k, v := s.as(c.DType, n, c.HeadDim), s.as(c.DType, n, c.HeadDim)
	if err := b.Run(&backend.ReadSlots{Slots: c, Head: head, First: 0, Keys: k, Values: v}); err != nil {
		s.t.Fatal(err)
	}
	defer runtime.KeepAlive([2]*tensor.Tensor{k, v})
	return slices.Clone(k.Data()), slices.Clone(v.Data())
}

// contiguous returns the keys and values [slots, kvHeads, dim] of a backend's cache with the same number of slots in each head.
func (s source) contiguous(b backend.Backend, c *backend.Slots) (keys, values *tensor.Tensor) {
	s.t.Helper()
	n, heads := c.Heads[0].Len, len(c.Heads)
	keys, values = s.as(c.DType, n, heads, c.HeadDim), s.as(c.DType, n, heads, c.HeadDim)
	for head := range heads {
		k, v := s.read(b, c, head)
		row := len(k) / n
		for slot := range n {
			copy(keys.Data()[(slot*heads+head)*row:], k[slot*row:][:row])
			copy(values.Data()[(slot*heads+head)*row:], v[slot*row:][:row])
		}
	}
	return keys, values
}

// TestAttendIsThatOfEachToken holds Attend, with numbers of workers that cut it differently, against Attend of each token alone by the
// portable reference, bit for bit.
func TestAttendIsThatOfEachToken(t *testing.T) {
	s, reference, one := newSource(t), host.NewReference(), cpu.New(1)
	defer one.Close()
	const heads, kvHeads = 6, 3
	for i, d := range cacheTypes {
		dim := []int{72, 100, 64, 64}[i]
		shapes := map[string][][2]int{ // of each run the tokens and the slots
			"one": {{1, 1}}, "a page": {{1, 128}}, "long": {{1, effort.Of(700, 5000, 5000)}}, "two rows": {{2, effort.Of(500, 3000, 3000)}}, "draft": {{9, 700}}, "prompt": {{70, 70}},
			"decode and prompt": {{1, effort.Of(500, 3000, 3000)}, {40, 200}, {1, 20}},
			"sixteen":           slices.Repeat([][2]int{{1, 150}, {1, 90}, {1, 400}, {1, 129}}, 4),
		}
		for j, name := range slices.Sorted(maps.Keys(shapes)) {
			if !effort.Share(i+j, 4) {
				continue
			}
			shape := shapes[name]
			rows := 0
			var runs []backend.Run
			for _, r := range shape {
				rows += r[0]
				runs = append(runs, backend.Run{Tokens: r[0], Slots: s.slots(reference, d, dim, slices.Repeat([]int{r[1]}, kvHeads)...)})
			}
			q, want := s.floats(rows, heads, dim), s.floats(rows, heads, dim)
			row := 0
			for _, r := range runs {
				for i := range r.Tokens {
					query, err := q.Slice(row, row+1)
					if err != nil {
						t.Fatal(err)
					}
					out, err := want.Slice(row, row+1)
					if err != nil {
						t.Fatal(err)
					}
					seen := *r.Slots
					seen.Heads = slices.Clone(seen.Heads)
					for head := range seen.Heads {
						seen.Heads[head].Len -= r.Tokens - i - 1
					}
					if err := reference.Run(&backend.Attend{Q: query, Out: out, Runs: []backend.Run{{Tokens: 1, Slots: &seen}}}); err != nil {
						t.Fatal(err)
					}
					row++
				}
			}
			packed := slices.Clone(runs)
			for i := range packed {
				packed[i].Slots = s.moved(reference, one, packed[i].Slots)
			}
			for _, workers := range []int{0, 1, 3, 16, 2, 100}[:effort.Of(3, 6, 6)] {
				var b backend.Backend = reference
				own := runs
				if workers > 0 {
					b, own = cpu.New(workers), packed // which lays pages out as any other does
				}
				out := s.floats(rows, heads, dim)
				if err := b.Run(&backend.Attend{Q: q, Out: out, Runs: own}); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(values(t, out), values(t, want)) {
					t.Errorf("%v, %s, %d workers: not the bits of each token alone", d, name, workers)
				}
				b.Close()
			}
		}
	}
}

// TestAttendToSharedPages lets conversations attend that share some pages of each head: as each of them does alone, bit for bit. With them
// are a prompt that shares the pages, and a conversation that does not.
func TestAttendToSharedPages(t *testing.T) {
	effort.Turn(t, 8)
	s, one := newSource(t), cpu.New(1)
	defer one.Close()
	const heads, kvHeads, dim = 6, 3, 64
	for _, d := range cacheTypes {
		first := s.slots(one, d, dim, 700, 513, 400)
		var runs []backend.Run
		rows := 0
		for i := range effort.Of(9, 21, 21) {
			c := s.slots(one, d, dim, 520+30*i, 513+i, 128+40*i)
			for head, shared := range []int{4, 1 + i%4, min(i, 1)} { // with two query heads to a KV head, 4 tiles are enough
				if i != 3 {
					copy(c.Heads[head].Pages[:shared], first.Heads[head].Pages)
				}
			}
			r := backend.Run{Tokens: 1, Slots: c}
			switch {
			case i == 4:
				r.Tokens = 40
			case i%3 == 2:
				r.Tokens = i - 1
			}
			runs, rows = append(runs, r), rows+r.Tokens
		}
		q, out, want := s.floats(rows, heads, dim), s.floats(rows, heads, dim), s.floats(rows, heads, dim)
		for _, also := range []backend.Attention{{}, {Cap: 2, Sinks: s.floats(heads)}, {Window: 200}} {
			row := 0
			for _, r := range runs {
				r.Slots.Attention = also
				query, err := q.Slice(row, row+r.Tokens)
				if err != nil {
					t.Fatal(err)
				}
				alone, err := want.Slice(row, row+r.Tokens)
				if err != nil {
					t.Fatal(err)
				}
				if err := one.Run(&backend.Attend{Q: query, Out: alone, Runs: []backend.Run{r}}); err != nil {
					t.Fatal(err)
				}
				row += r.Tokens
			}
			for _, workers := range []int{1, 2, 3, 16, 100} {
				b := cpu.New(workers) // which lays pages out as any other does
				if err := b.Run(&backend.Attend{Q: q, Out: out, Runs: runs}); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(values(t, out), values(t, want)) {
					t.Errorf("%v, %+v, %d workers: not the bits of each conversation alone", d, also, workers)
				}
				b.Close()
			}
		}
	}
}

// TestPagesDoNotAllocate covers what a decoded token does.
func TestPagesDoNotAllocate(t *testing.T) {
	s, b := newSource(t), cpu.New(2)
	defer b.Close()
	const heads, kvHeads, dim = 8, 2, 64
	for name, shape := range map[string][]int{"one": {2000}, "several": {300, 20, 128, 700}, "forks": {1300, 1300, 1500}} {
		rows := len(shape)
		q, k, v, table, out := s.floats(rows, heads, dim), s.floats(rows, kvHeads, dim), s.floats(rows, kvHeads, dim), s.floats(rows, dim), s.floats(rows, heads, dim)
		var runs []backend.Run
		for i, n := range shape {
			if name != "forks" {
				runs = append(runs, backend.Run{Tokens: 1, Slots: s.slots(b, cacheTypes[i], dim, n, n)})
				continue
			}
			c := s.slots(b, tensor.F16, dim, n, n)
			runs = append(runs, backend.Run{Tokens: 1, Slots: c})
			for head := range c.Heads {
				copy(c.Heads[head].Pages[:9], runs[0].Slots.Heads[head].Pages)
			}
		}
		program := []backend.Op{&backend.RoPEStore{Q: q, K: k, V: v, Table: table, Runs: runs}, &backend.Attend{Q: q, Out: out, Runs: runs}}
		step := func() {
			if err := b.Run(program...); err != nil {
				t.Fatal(err)
			}
		}
		if n := testing.AllocsPerRun(50, step); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// TestRoPEStoreIsRoPEAndCast holds RoPEStore against RoPE and Cast of each row, and sees that slots before the tokens' stay.
func TestRoPEStoreIsRoPEAndCast(t *testing.T) {
	s, b := newSource(t), cpu.New(3)
	defer b.Close()
	const heads, kvHeads, dim = 4, 2, 64
	for _, d := range cacheTypes {
		for _, rotates := range []bool{true, false} {
			var runs []backend.Run
			var before [][2][]byte
			rows := 0
			for _, r := range [][3]int{{1, 1, 300}, {200, 210, 250}, {3, 128, 3}} { // tokens, and slots of the two heads
				rows += r[0]
				c := s.slots(b, d, dim, r[1], r[2])
				runs = append(runs, backend.Run{Tokens: r[0], Slots: c})
				for head := range kvHeads {
					k, v := s.read(b, c, head)
					before = append(before, [2][]byte{k, v})
				}
			}
			q, k, v := s.floats(rows, heads, dim), s.floats(rows, kvHeads, dim), s.floats(rows, kvHeads, dim)
			table, keys, vals := s.floats(rows, dim), s.as(d, rows, kvHeads, dim), s.as(d, rows, kvHeads, dim)
			rotatedQ, rotatedK := s.floats(rows, heads, dim), s.floats(rows, kvHeads, dim)
			copy(values(t, rotatedQ), values(t, q))
			copy(values(t, rotatedK), values(t, k))
			if rotates {
				if err := errors.Join(b.Run(&backend.RoPE{X: rotatedQ, Table: table}), b.Run(&backend.RoPE{X: rotatedK, Table: table}), b.Run(&backend.RoPEStore{Q: q, K: k, V: v, Table: table, Runs: runs})); err != nil {
					t.Fatal(err)
				}
			} else if err := b.Run(&backend.RoPEStore{K: k, V: v, Runs: runs}); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(b.Run(&backend.Cast{Src: rotatedK, Dst: keys}), b.Run(&backend.Cast{Src: v, Dst: vals})); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(values(t, q), values(t, rotatedQ)) {
				t.Errorf("%v, rotates %v: other queries", d, rotates)
			}
			first := 0
			for i, r := range runs {
				for head := range kvHeads {
					gotK, gotV := s.read(b, r.Slots, head)
					bytes := r.Slots.SlotBytes()
					want := before[i*kvHeads+head]
					at := (r.Slots.Heads[head].Len - r.Tokens) * bytes
					for row := range r.Tokens {
						from := ((first+row)*kvHeads + head) * bytes
						copy(want[0][at+row*bytes:], keys.Data()[from:][:bytes])
						copy(want[1][at+row*bytes:], vals.Data()[from:][:bytes])
					}
					if !slices.Equal(gotK, want[0]) || !slices.Equal(gotV, want[1]) {
						t.Errorf("%v, rotates %v: other slots of head %d of run %d", d, rotates, head, i)
					}
				}
				first += r.Tokens
			}
		}
	}
}

func TestCompact(t *testing.T) {
	s := newSource(t)
	for _, d := range cacheTypes {
		for _, b := range []backend.Backend{host.NewReference(), cpu.New(2)} {
			c := s.slots(b, d, 64, 300, 9, 200)
			keep := [][]int32{nil, {0, 1, 5, 8}, {}}
			for i := int32(0); i < 300; i += 1 + i/100 {
				keep[0] = append(keep[0], i)
			}
			var before [3][2][]byte
			for head := range keep {
				before[head][0], before[head][1] = s.read(b, c, head)
			}
			if err := b.Run(&backend.Compact{Slots: c, Keep: keep}); err != nil {
				t.Fatal(err)
			}
			for head, list := range keep {
				c.Heads[head].Len = len(list)
				k, v := s.read(b, c, head)
				for i, slot := range list {
					bytes := c.SlotBytes()
					from, to := int(slot)*bytes, i*bytes
					if !slices.Equal(k[to:][:bytes], before[head][0][from:][:bytes]) || !slices.Equal(v[to:][:bytes], before[head][1][from:][:bytes]) {
						t.Errorf("%s, %v: slot %d of head %d is not what was slot %d", b.Name(), d, i, head, slot)
					}
				}
			}
			b.Close()
		}
	}
}

// TestCompactLeavesWhatStays keeps slots so that the first page does not change: it may be shared with another cache.
func TestCompactLeavesWhatStays(t *testing.T) {
	s, b := newSource(t), cpu.New(1)
	defer b.Close()
	c := s.slots(b, tensor.F16, 64, 300)
	readOnly := c.Heads[0].Pages[0].Slab
	memory, err := tensor.Wrap(nil, tensor.WrapBytes(tensor.F16, slices.Clone(readOnly.Data()), nil, true), readOnly.Shape())
	if err != nil {
		t.Fatal(err)
	}
	c.Heads[0].Pages[0].Slab = memory
	list := make([]int32, 0, 200)
	for i := range int32(200) {
		list = append(list, i+i/backend.PageSlots*50)
	}
	if err := b.Run(&backend.Compact{Slots: c, Keep: [][]int32{list}}); err != nil {
		t.Error(err)
	}
	list[100]++
	for i := 101; i < len(list); i++ {
		list[i] = list[i-1] + 1
	}
	if err := b.Run(&backend.Compact{Slots: c, Keep: [][]int32{list}}); !errors.Is(err, tensor.ErrReadOnly) {
		t.Errorf("a page that changes and cannot be written: %v", err)
	}
}

// BenchmarkAttend lets one row, several sessions' rows, and chunks attend.
func BenchmarkAttend(b *testing.B) {
	s := newSource(b)
	s.Rand = rand.New(rand.NewPCG(5, 6))
	device := cpu.New(0)
	defer device.Close()
	for _, c := range []struct{ runs, tokens, slots, shared int }{
		{1, 1, 300, 0}, {1, 1, 1000, 0}, {1, 1, 4096, 0}, {16, 1, 300, 0}, {1, 8, 1000, 0}, {1, 256, 512, 0},
		{16, 1, 700, 0}, {16, 1, 700, 4}, {4, 1, 4160, 0}, {4, 1, 4160, 32}, {16, 1, 4160, 0}, {16, 1, 4160, 32}, {2, 1, 4160, 0}, {2, 1, 4160, 32},
	} {
		b.Run(fmt.Sprintf("%dx%d to %d, %d pages shared", c.runs, c.tokens, c.slots, c.shared), func(b *testing.B) {
			q, out := s.floats(c.runs*c.tokens, 32, 64), s.floats(c.runs*c.tokens, 32, 64)
			var runs []backend.Run
			for range c.runs {
				runs = append(runs, backend.Run{Tokens: c.tokens, Slots: s.slots(device, tensor.F16, 64, slices.Repeat([]int{c.slots}, 8)...)})
				for head, h := range runs[len(runs)-1].Slots.Heads {
					copy(h.Pages[:c.shared], runs[0].Slots.Heads[head].Pages)
				}
			}
			for b.Loop() {
				if err := device.Run(&backend.Attend{Q: q, Out: out, Runs: runs}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
