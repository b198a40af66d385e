//go:build opencl && (amd64 || arm64)

package opencl

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"

	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/opencl/internal/cl"
	"github.com/antigravity-go/antigravity/tensor"
)

// pageBench has the same slabs of pages on the device and on the host.
type pageBench struct {
	*bench
	shape     pageShape
	gpu, host []*tensor.Tensor
	free      []backend.Page // of the host's slabs, in no order
}

// pages makes slabs of random pages.
func (b *bench) pages(shape pageShape, slabs, pages int) *pageBench {
	b.Helper()
	p := &pageBench{bench: b, shape: shape}
	for range slabs {
		slab := b.typed(shape.cache, pages, 2, backend.PageSlots, shape.headDim)
		p.host, p.gpu = append(p.host, slab), append(p.gpu, b.on(slab))
		for i := range pages {
			p.free = append(p.free, backend.Page{Slab: slab, Index: i})
		}
	}
	b.Shuffle(len(p.free), func(i, j int) { p.free[i], p.free[j] = p.free[j], p.free[i] })
	return p
}

// twins are the same slots on the device and on the host.
type twins struct{ gpu, host *backend.Slots }

// slots makes slots with lens of them in use in the heads, and pages for `more` further ones.
func (p *pageBench) slots(more int, lens ...int) twins {
	p.Helper()
	t := twins{&backend.Slots{DType: p.shape.cache, HeadDim: p.shape.headDim, Version: 1}, &backend.Slots{DType: p.shape.cache, HeadDim: p.shape.headDim, Version: 1}}
	for _, n := range lens {
		count := groups(n+more, backend.PageSlots)
		pages := p.free[:count:count]
		p.free = p.free[count:]
		t.host.Heads = append(t.host.Heads, backend.HeadSlots{Pages: pages, Len: n})
		t.gpu.Heads = append(t.gpu.Heads, backend.HeadSlots{Pages: p.onDevice(pages), Len: n})
	}
	return t
}

// onDevice returns the device's pages for those of the host.
func (p *pageBench) onDevice(pages []backend.Page) (list []backend.Page) {
	for _, page := range pages {
		list = append(list, backend.Page{Slab: p.gpu[slices.Index(p.host, page.Slab)], Index: page.Index})
	}
	return list
}

// same compares all slabs.
func (p *pageBench) same(what string) {
	p.Helper()
	for i, slab := range p.gpu {
		got := make([]byte, slab.Size())
		must(p, p.bench.gpu.ReadBuffer(slab, got))
		if string(got) != string(p.host[i].Data()) {
			p.Errorf("%s: slab %d differs", what, i)
		}
	}
}

// runsOf makes runs of all the twins' last tokens.
func runsOf(all []twins, tokens ...int) (gpu, host []backend.Run) {
	for i, t := range all {
		gpu, host = append(gpu, backend.Run{Tokens: tokens[i], Slots: t.gpu}), append(host, backend.Run{Tokens: tokens[i], Slots: t.host})
	}
	return gpu, host
}

// sum adds numbers.
func sum(x []int) (n int) {
	for _, v := range x {
		n += v
	}
	return n
}

// TestRoPEStore compares queries and pages with the reference's bit for bit, where other slots stay as they were.
func TestRoPEStore(t *testing.T) {
	b := newBench(t, Options{})
	for _, b.size = range []float32{1, 1e-6, 1e3} {
		for _, d := range cacheTypes {
			for _, c := range []struct{ heads, kvHeads, headDim int }{{1, 1, 32}, {32, 8, 64}, {4, 4, 96}, {6, 2, 128}, {3, 3, 6}} {
				if c.headDim%d.BlockLen() != 0 {
					continue
				}
				name := fmt.Sprintf(" of %+v to %v near %g", c, d, b.size)
				p := b.pages(pageShape{d, c.headDim}, 3, 20)
				lens := func(n int) (lens []int) {
					for head := range c.kvHeads {
						lens = append(lens, n-head%2) // heads have different numbers of slots
					}
					return lens
				}
				all := []twins{p.slots(9, lens(3)...), p.slots(0, lens(140)...), p.slots(9, lens(130)...)}
				tokens := []int{1, 7, 9}
				rows := sum(tokens)
				gruns, runs := runsOf(all, tokens...)
				q, k, v := b.floats(rows, c.heads, c.headDim), b.floats(rows, c.kvHeads, c.headDim), b.floats(rows, c.kvHeads, c.headDim)
				table := b.floats(rows, c.headDim)
				for _, gtable := range []*tensor.Tensor{b.on(table), table} { // a table that is the host's leaves the kernel out
					gq, rotated := b.on(q), b.widened(q)
					must(t, b.gpu.Run(&backend.RoPEStore{Q: gq, K: b.on(k), V: b.on(v), Table: gtable, Runs: gruns}))
					must(t, b.reference.Run(&backend.RoPEStore{Q: rotated, K: b.widened(k), V: v, Table: table, Runs: runs}))
					b.equal("queries"+name, gq, rotated)
					p.same("pages" + name)
				}
				must(t, b.gpu.Run(&backend.RoPEStore{K: b.on(v), V: b.on(k), Runs: gruns}))
				must(t, b.reference.Run(&backend.RoPEStore{K: b.widened(v), V: k, Runs: runs}))
				p.same("pages without rotation" + name)
			}
		}
	}
}

// chunk is a number of tokens, and of slots in use after them.
type chunk struct{ tokens, n int }

// chunks are numbers of tokens, and of slots in use after them: around whole tiles, and chunks that begin in the middle.
var chunks = []chunk{
	{1, 1}, {1, 2}, {1, 127}, {1, 128}, {1, 129}, {1, 700}, {2, 2}, {2, 129}, {2, 300}, {17, 17}, {17, 140}, {40, 40}, {40, 128}, {40, 399}, {150, 290},
}

// chunks are those for a shape: heads that flash does not take are computed token by token, so that long chunks of large ones take long and
// show nothing more.
func (s attentionShape) chunks() []chunk {
	if s.headDim > 128 {
		return slices.DeleteFunc(slices.Clone(chunks), func(c chunk) bool { return c.tokens > 40 })
	}
	return chunks
}

// TestAttend holds attention and its weights to the bits of the reference.
func TestAttend(t *testing.T) {
	b := newBench(t, Options{})
	for _, s := range []attentionShape{
		{tensor.F16, 64, 4, 0, 0, false}, {tensor.F16, 128, 3, 0, 0, false}, {tensor.F16, 80, 1, 0, 0, false}, {tensor.F16, 256, 16, 0, 0, false}, {tensor.F32, 32, 1, 0, 0, false}, {tensor.F32, 4, 3, 0, 0, false},
		{tensor.Q8_0, 32, 3, 0, 0, false}, {tensor.Q8_0, 128, 4, 0, 0, false}, {tensor.Q4_0, 64, 4, 0, 0, false}, {tensor.Q4_0, 96, 1, 0, 0, false},
		{tensor.F16, 256, 2, 50, 0, false}, {tensor.Q8_0, 64, 4, 2, 0, false}, {tensor.F32, 32, 2, 0.5, 0, false},
		{tensor.F16, 64, 4, 0, 100, false},
		{tensor.F16, 128, 3, 0, 300, false}, {tensor.F16, 512, 8, 0, 130, false}, {tensor.Q8_0, 64, 4, 0, 7, false}, {tensor.Q4_0, 256, 8, 0, 512, false}, {tensor.F32, 32, 2, 2, 1, false},
		{tensor.F16, 64, 4, 0, 0, true}, {tensor.F32, 80, 2, 0, 100, true}, {tensor.Q8_0, 64, 8, 2, 130, true}, {tensor.Q4_0, 128, 1, 0, 0, true},
	} {
		t.Run(fmt.Sprintf("%v, heads of %d, %d to a KV head, window %d, sinks %v", s.cache, s.headDim, s.share, s.window, s.sinks), func(t *testing.T) {
			b.TB = t
			for _, c := range s.chunks() {
				b.attention(s, c.tokens, c.n)
			}
			b.together(s)
		})
	}
	t.Run("contexts of many tiles", func(t *testing.T) {
		b.TB = t
		for _, n := range []int{1300, 2048, 300 * 128, 300*128 + 1} {
			b.attention(attentionShape{tensor.Q4_0, 64, 4, 0, 0, false}, 1, n)
		}
	})
	t.Run("few tokens on a large device", func(t *testing.T) {
		b.TB, b.gpu.device.Units = t, 1000
		for _, c := range chunks {
			b.attention(attentionShape{tensor.F16, 64, 4, 0, 0, false}, c.tokens, c.n)
		}
		b.together(attentionShape{tensor.F16, 64, 4, 0, 0, false})
	})
}

// TestAttendBeyondScratch has more tokens than there is scratch memory for at once, of heads that flash does not take.
func TestAttendBeyondScratch(t *testing.T) {
	const tokens, n = 800, 4300
	c := attending{AttentionDims: backend.AttentionDims{Tokens: tokens, Heads: 2, KVHeads: 2, HeadDim: 80}}
	if tiles := groups(n, asm.TileKeys); tokens*min(c.partBytes(tiles), c.weighBytes(tiles)) <= tileScratch {
		t.Fatal("it all has room")
	}
	newBench(t, Options{}).attention(attentionShape{tensor.F16, c.HeadDim, 1, 0, 0, false}, tokens, n)
}

// TestGroupsAtTheSameTime has groups enough for many to be computed at the same time, with local variables of their own.
func TestGroupsAtTheSameTime(t *testing.T) {
	b := newBench(t, Options{})
	const tokens = 48
	s := attentionShape{tensor.Q8_0, 32, 4, 0, 0, false}
	slots := b.pages(pageShape{s.cache, s.headDim}, 1, 6).slots(0, 300, 300)
	gruns, runs := runsOf(slices.Repeat([]twins{slots}, tokens), slices.Repeat([]int{1}, tokens)...)
	q, out := b.floats(tokens, 2*s.share, s.headDim), b.floats(tokens, 2*s.share, s.headDim)
	gq, gout := b.on(q), b.on(out)
	must(t, b.reference.Run(&backend.Attend{Q: q, Out: out, Runs: runs}))
	for range 20 {
		must(t, b.gpu.Run(&backend.Attend{Q: gq, Out: gout, Runs: gruns}))
		b.equal("Attend", gout, out)
	}
}

// attention compares the attention of one run, and its weights; the second head has fewer slots if possible.
func (b *bench) attention(s attentionShape, tokens, n int) {
	b.Helper()
	name := fmt.Sprintf(" of %d tokens to %d slots near %g", tokens, n, b.size)
	p := b.pages(pageShape{s.cache, s.headDim}, 2, groups(n+3, backend.PageSlots))
	slots := p.slots(3, n, max(tokens, n-n/3))
	gruns, runs := runsOf([]twins{slots}, tokens)
	b.limits(s, gruns, runs)
	q, out := b.floats(tokens, 2*s.share, s.headDim), b.floats(tokens, 2*s.share, s.headDim)
	gq, gout := b.on(q), b.on(out)
	must(b, b.gpu.Run(&backend.Attend{Q: gq, Out: gout, Runs: gruns}))
	must(b, b.reference.Run(&backend.Attend{Q: q, Out: out, Runs: runs}))
	b.equal("Attend"+name, gout, out)
	if s.window > 0 { // no policy sums attention of such layers
		return
	}
	sums := b.floats(2, n+5)
	gsums := b.on(sums)
	must(b, b.gpu.Run(&backend.AccumulateAttention{Q: gq, Sums: gsums, Run: gruns[0]}))
	must(b, b.reference.Run(&backend.AccumulateAttention{Q: q, Sums: sums, Run: runs[0]}))
	b.equal("AccumulateAttention"+name, gsums, sums)
	p.same("Attend" + name)
}

// limits sets the limit of scores, the window and the sinks, in runs on the device and on the host.
func (b *bench) limits(s attentionShape, gruns, runs []backend.Run) {
	var gsinks, sinks *tensor.Tensor
	if s.sinks {
		sinks = b.floats(2 * s.share)
		values := b.values(sinks)
		values[0], values[len(values)-1] = -30, 3*b.size // of hardly any weight, and of much
		gsinks = b.on(sinks)
	}
	for i := range runs {
		for slots, sinks := range map[*backend.Slots]*tensor.Tensor{gruns[i].Slots: gsinks, runs[i].Slots: sinks} {
			slots.Cap, slots.Window, slots.Sinks = s.limit, s.window, sinks
		}
	}
}

// together compares the attention of all chunks at once, which are more runs than a kernel takes; with heads of 64, also together with
// those of another type.
func (b *bench) together(s attentionShape) {
	b.Helper()
	var all []twins
	var tokens []int
	types := []tensor.DType{s.cache}
	if s.headDim == 64 {
		types = append(types, tensor.F32)
	}
	for _, d := range types {
		p := b.pages(pageShape{d, s.headDim}, 3, 40)
		for _, c := range s.chunks() {
			all, tokens = append(all, p.slots(0, c.n, max(c.tokens, c.n-c.n/3))), append(tokens, c.tokens)
		}
		all, tokens = append(all, p.slots(0, 5, 3), p.slots(200, 129, 128), p.slots(0, 31, 31)), append(tokens, 1, 2, 31)
		defer runtime.KeepAlive(p)
	}
	b.Shuffle(len(all), func(i, j int) {
		all[i], all[j] = all[j], all[i]
		tokens[i], tokens[j] = tokens[j], tokens[i]
	})
	gruns, runs := runsOf(all, tokens...)
	b.limits(s, gruns, runs)
	q, out := b.floats(sum(tokens), 2*s.share, s.headDim), b.floats(sum(tokens), 2*s.share, s.headDim)
	gout := b.on(out)
	must(b, b.gpu.Run(&backend.Attend{Q: b.on(q), Out: gout, Runs: gruns}))
	must(b, b.reference.Run(&backend.Attend{Q: q, Out: out, Runs: runs}))
	b.equal("Attend of many runs", gout, out)
}

// TestAttentionSeesNothingAhead has slots that spoil whatever takes them into account, be it with a weight of 0: after those in
// use, and the last of these, which only the last token sees.
func TestAttentionSeesNothingAhead(t *testing.T) {
	b := newBench(t, Options{})
	const n = 150
	for _, tokens := range []int{1, 40} {
		p := b.pages(pageShape{tensor.F32, 64}, 1, 4)
		slots := p.slots(0, n, n)
		spoil := b.floats(2*backend.PageSlots-n+1, 64)
		values, err := tensor.Mut[float32](spoil)
		must(t, err)
		for i := range values {
			values[i] = float32(math.Inf(1 - i%2*2))
		}
		for head := range 2 {
			must(t, b.gpu.Run(&backend.WriteSlots{Slots: slots.gpu, Head: head, First: n - 1, Keys: spoil, Values: spoil}))
			must(t, b.reference.Run(&backend.WriteSlots{Slots: slots.host, Head: head, First: n - 1, Keys: spoil, Values: spoil}))
		}
		gruns, runs := runsOf([]twins{slots}, tokens)
		q, out := b.floats(tokens, 8, 64), b.floats(tokens, 8, 64)
		gout := b.on(out)
		must(t, b.gpu.Run(&backend.Attend{Q: b.on(q), Out: gout, Runs: gruns}))
		must(t, b.reference.Run(&backend.Attend{Q: q, Out: out, Runs: runs}))
		b.equal(fmt.Sprint("Attend of ", tokens), gout, out)
		if got := b.read(gout); tokens > 1 && got[0] != got[0] {
			t.Error("the first token has seen the last slot")
		}
	}
}

// TestAttentionOfExtremes has scores near 0, near ±1e6, and beyond what there are numbers for.
func TestAttentionOfExtremes(t *testing.T) {
	b := newBench(t, Options{})
	for _, d := range cacheTypes {
		for _, b.size = range []float32{1e-30, 1e-20, 1e-5, 300, 1e9, 1e19} {
			b.attention(attentionShape{d, 64, 4, 0, 0, false}, 1, 200)
			b.attention(attentionShape{d, 64, 4, 0, 0, false}, 20, 200)
		}
	}
}

// TestCompact keeps slots of each head, and checks that slots that stay in place are not written.
func TestCompact(t *testing.T) {
	b := newBench(t, Options{})
	for _, d := range cacheTypes {
		for _, c := range []struct {
			name string
			keep func(head, i int) int32
			kept [3]int
		}{
			{"all", func(_, i int) int32 { return int32(i) }, [3]int{400, 300, 400}},
			{"every other", func(head, i int) int32 { return int32(2*i + head%2) }, [3]int{200, 150, 200}},
			{"the last", func(_, i int) int32 { return int32(300 - 100 + i) }, [3]int{100, 100, 99}},
			{"none of one", func(_, i int) int32 { return int32(i * 3) }, [3]int{0, 90, 1}},
			{"without one", func(head, i int) int32 { return int32(i + min(1, i/(130+head))) }, [3]int{399, 299, 200}},
			{"none", nil, [3]int{}},
		} {
			p := b.pages(pageShape{d, 64}, 2, 6)
			slots := p.slots(0, 400, 300, 400)
			keep := make([][]int32, 3)
			for head, n := range c.kept {
				for i := range n {
					keep[head] = append(keep[head], c.keep(head, i))
				}
			}
			must(t, b.gpu.Run(&backend.Compact{Slots: slots.gpu, Keep: keep}))
			must(t, b.reference.Run(&backend.Compact{Slots: slots.host, Keep: keep}))
			for head, n := range c.kept {
				if n > 0 {
					b.sameSlots(fmt.Sprintf("Compact of %v to %s", d, c.name), slots, head, 0, n)
				}
			}
		}
	}
	// More than there is scratch memory for at once.
	p := b.pages(pageShape{tensor.F32, 128}, 1, 2*130)
	slots := p.slots(0, 130*128, 130*128)
	keep := make([][]int32, 2)
	for i := range 130*128 - 1 {
		keep[0], keep[1] = append(keep[0], int32(i+1)), append(keep[1], int32(i+i/9000))
	}
	must(t, b.gpu.Run(&backend.Compact{Slots: slots.gpu, Keep: keep}))
	must(t, b.reference.Run(&backend.Compact{Slots: slots.host, Keep: keep}))
	for head := range 2 {
		b.sameSlots("Compact of much", slots, head, 0, len(keep[head]))
	}
}

// sameSlots compares slots of a head, as floats and as they are stored, read to the host and to the device.
func (b *bench) sameSlots(what string, slots twins, head, first, n int) {
	b.Helper()
	dim := slots.host.HeadDim
	for _, d := range []tensor.DType{tensor.F32, slots.host.DType} {
		keys, values, gkeys := b.typed(d, n, dim), b.typed(d, n, dim), b.typed(d, n, dim)
		gvalues := b.on(gkeys)
		must(b, b.reference.Run(&backend.ReadSlots{Slots: slots.host, Head: head, First: first, Keys: keys, Values: values}))
		must(b, b.gpu.Run(&backend.ReadSlots{Slots: slots.gpu, Head: head, First: first, Keys: gkeys, Values: gvalues}))
		read := make([]byte, gvalues.Size())
		must(b, b.gpu.ReadBuffer(gvalues, read))
		if string(gkeys.Data()) != string(keys.Data()) || string(read) != string(values.Data()) {
			b.Errorf("%s: slots %d to %d of head %d differ as %v", what, first, first+n, head, d)
		}
	}
}

// TestSlots writes and reads slots around the borders of pages, and copies pages.
func TestSlots(t *testing.T) {
	b := newBench(t, Options{})
	for _, d := range cacheTypes {
		p := b.pages(pageShape{d, 64}, 2, 5)
		slots := p.slots(0, 500, 400)
		for _, c := range []struct{ head, first, n int }{{0, 0, 1}, {1, 127, 2}, {0, 100, 400}, {1, 128, 128}, {1, 511, 1}, {0, 7, 0}} {
			for _, of := range []tensor.DType{tensor.F32, d} {
				what := fmt.Sprintf("slots %+v of %v from %v", c, d, of)
				keys, values := b.typed(of, c.n, 64), b.typed(of, c.n, 64)
				must(t, b.gpu.Run(&backend.WriteSlots{Slots: slots.gpu, Head: c.head, First: c.first, Keys: keys, Values: b.on(values)}))
				must(t, b.reference.Run(&backend.WriteSlots{Slots: slots.host, Head: c.head, First: c.first, Keys: keys, Values: values}))
				p.same(what)
				must(t, b.gpu.Run(&backend.WriteSlots{Slots: slots.gpu, Head: c.head, First: c.first, Values: b.on(keys)}))
				must(t, b.reference.Run(&backend.WriteSlots{Slots: slots.host, Head: c.head, First: c.first, Values: keys}))
				p.same("values of " + what)
				if c.n > 0 {
					b.sameSlots(what, slots, c.head, c.first, c.n)
				}
			}
		}
		for _, pair := range [][2]int{{0, 2}, {1, 1}} {
			gheads, heads := slots.gpu.Heads, slots.host.Heads
			must(t, b.gpu.Run(&backend.CopyPage{From: gheads[0].Pages[pair[0]], To: gheads[1].Pages[pair[1]]}))
			must(t, b.reference.Run(&backend.CopyPage{From: heads[0].Pages[pair[0]], To: heads[1].Pages[pair[1]]}))
			p.same(fmt.Sprintf("pages of %v after a copy", d))
		}
	}
}

// TestManySlabs has more slabs than kernels take, slabs that go and come, and slabs that the host has mapped.
func TestManySlabs(t *testing.T) {
	b := newBench(t, Options{})
	shape := pageShape{tensor.F16, 64}
	attend := func(what string, slots twins) {
		t.Helper()
		gruns, runs := runsOf([]twins{slots}, 1)
		q, out := b.floats(1, 4, 64), b.floats(1, 4, 64)
		gout := b.on(out)
		must(t, b.gpu.Run(&backend.Attend{Q: b.on(q), Out: gout, Runs: gruns}))
		must(t, b.reference.Run(&backend.Attend{Q: q, Out: out, Runs: runs}))
		b.equal(what, gout, out)
	}
	few := b.pages(shape, maxSlabs-1, 1)
	attend("all but one number", few.slots(0, 5*128, 10*128))
	many := b.pages(shape, 3, 2)
	slots := many.slots(0, 3*128, 3*128)
	attend("more slabs than numbers", slots)
	for _, slab := range few.gpu[:2] {
		must(t, slab.Free())
	}
	slots.gpu.Version++
	attend("numbers given again", slots)
	if table := slots.gpu.Device.(*pageTable); !table.written {
		t.Error("there are numbers for all slabs, and no table")
	}
	must(t, many.gpu[0].Buffer().Map())
	attend("a mapped slab", slots)
	must(t, many.gpu[0].Buffer().Unmap())
	attend("an unmapped slab", slots)
}

// TestPageTables counts the bytes sent to the device from token to token: nothing, until a page or an eviction changes the lists.
func TestPageTables(t *testing.T) {
	gpu, driver := openStrict(t)
	b := newBench(t, Options{})
	b.gpu = gpu
	p := b.pages(pageShape{tensor.F16, 64}, 1, 16)
	slots := p.slots(100, 120, 120)
	q, k, v := b.floats(1, 4, 64), b.floats(1, 2, 64), b.floats(1, 2, 64)
	table, out := b.floats(1, 64), b.floats(1, 4, 64)
	gq, gk, gv, gtable, gout := b.on(q), b.on(k), b.on(v), b.on(table), b.on(out)
	step := func() (writes int) {
		t.Helper()
		before := driver.calls[cl.EnqueueWriteBuffer]
		for head := range 2 {
			slots.gpu.Heads[head].Len++
			slots.host.Heads[head].Len++
		}
		gruns, runs := runsOf([]twins{slots}, 1)
		must(t, gpu.Run(&backend.RoPEStore{Q: gq, K: gk, V: gv, Table: gtable, Runs: gruns}))
		must(t, gpu.Run(&backend.Attend{Q: gq, Out: gout, Runs: gruns}))
		must(t, b.reference.Run(&backend.RoPEStore{Q: q, K: b.widened(k), V: v, Table: table, Runs: runs}))
		must(t, b.reference.Run(&backend.Attend{Q: q, Out: out, Runs: runs}))
		writes = driver.calls[cl.EnqueueWriteBuffer] - before
		b.equal("Attend", gout, out)
		return writes
	}
	step()
	for i := range 20 { // past the end of a page
		if n := step(); n != 0 {
			t.Errorf("token %d sends %d times", i, n)
		}
	}
	change := func(what string, f func(s *backend.Slots)) {
		t.Helper()
		f(slots.gpu)
		f(slots.host)
		if n := step(); n != 1 {
			t.Errorf("%s: %d lists are sent, want 1", what, n)
		}
		if n := step(); n != 0 {
			t.Errorf("after %s: %d lists are sent", what, n)
		}
	}
	change("other pages", func(s *backend.Slots) {
		s.Heads[0].Pages[0], s.Heads[1].Pages[0] = s.Heads[1].Pages[0], s.Heads[0].Pages[0]
		s.Version++
	})
	change("heads of other lengths", func(s *backend.Slots) { s.Heads[0].Len -= 3 })
	other := *slots.gpu // a copy has its own table, though it comes with another's
	other.Heads = slices.Clone(other.Heads)
	other.Heads[0].Pages = slices.Clone(other.Heads[1].Pages)
	must(t, gpu.Run(&backend.Attend{Q: gq, Out: gout, Runs: []backend.Run{{Tokens: 1, Slots: &other}}}))
	if other.Device == slots.gpu.Device {
		t.Error("a copy shares its table with the original")
	}
	if n := step(); n != 0 {
		t.Errorf("after another's: %d lists are sent", n)
	}
	freed := slots.gpu.Device.(*pageTable)
	must(t, freed.Free())
	must(t, freed.Free())
	if n := step(); n != 1 {
		t.Errorf("after Free: %d lists are sent, want 1", n)
	}
	driver.check(t, "page tables")
	runtime.KeepAlive(&other)
}

// TestTablesAreGivenBack makes and forgets many caches: the memory of their tables is used again.
func TestTablesAreGivenBack(t *testing.T) {
	b := newBench(t, Options{})
	p := b.pages(pageShape{tensor.F16, 64}, 1, 2)
	slots := p.slots(0, 100, 100)
	q, out := b.on(b.floats(1, 4, 64)), b.on(b.floats(1, 4, 64))
	one := func() {
		s := backend.Slots{DType: tensor.F16, HeadDim: 64, Heads: slots.gpu.Heads}
		must(t, b.gpu.Run(&backend.Attend{Q: q, Out: out, Runs: []backend.Run{{Tokens: 1, Slots: &s}}}))
	}
	one()
	for range 40 {
		for range 100 {
			one()
		}
		runtime.GC()
		runtime.GC()
	}
	if words := b.gpu.caches.pages.tables.taken; words > 1<<(firstTables+2) {
		t.Errorf("4000 tables, one after the other, have taken %d words", words)
	}
}
