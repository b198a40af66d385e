package kvcache_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/kvcache"
	"github.com/antigravity-go/antigravity/tensor"
)

const kvHeads, headDim = 2, 32

// rows makes keys or values of tokens. Each element encodes its token, head and place.
func rows(t testing.TB, first, n int) *tensor.Tensor {
	t.Helper()
	values := make([]float32, n*kvHeads*headDim)
	for i := range values {
		token, rest := first+i/(kvHeads*headDim), i%(kvHeads*headDim)
		values[i] = float32(token) + float32(rest/headDim)/4 + float32(rest%headDim)/256
	}
	x, err := tensor.FromFloats(values, n, kvHeads, headDim)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// tokens returns which token each slot holds, read from the keys and the values of all heads.
func tokens(t testing.TB, c *kvcache.Cache) (list []int) {
	t.Helper()
	list = make([]int, c.Len())
	for head := range kvHeads {
		if err := c.Each(head, func(slot int, key, value []float32) {
			k, v := int(math.Round(float64(key[0]-float32(head)/4))), int(math.Round(float64(value[0]-float32(head)/4)))
			if k != v {
				t.Fatalf("slot %d of head %d has the key of %d and the value of %d", slot, head, k, v)
			}
			if head > 0 && k != list[slot] {
				t.Fatalf("slot %d has token %d for head 0 and %d for head %d", slot, list[slot], k, head)
			}
			list[slot] = k
		}); err != nil {
			t.Fatal(err)
		}
	}
	return list
}

func TestCache(t *testing.T) {
	b := cpu.New(2)
	defer b.Close()
	for _, d := range []tensor.DType{tensor.F32, tensor.F16, tensor.Q8_0, tensor.Q4_0} {
		c, err := kvcache.NewPlain(b, d, 10, heads, kvHeads, headDim)
		if err != nil {
			t.Fatal(err)
		}
		check := func(step string, err error, want ...int) {
			t.Helper()
			if err != nil {
				t.Fatalf("%v, %s: %v", d, step, err)
			}
			if got := tokens(t, c); !slices.Equal(got, want) {
				t.Errorf("%v, %s: slots hold %v, want %v", d, step, got, want)
			}
			bytes, _ := d.Bytes(kvHeads * headDim)
			if got, want := c.MemoryUsage(), int64(2*len(want)*bytes); got != want {
				t.Errorf("%v, %s: %d bytes, want %d", d, step, got, want)
			}
		}
		check("first tokens", c.Update(rows(t, 1, 5), rows(t, 1, 5)), 1, 2, 3, 4, 5)
		check("one more", c.Update(rows(t, 6, 1), rows(t, 6, 1)), 1, 2, 3, 4, 5, 6)
		check("without the first two", c.PrunePrefix(2), 3, 4, 5, 6)
		check("keep some", c.Keep([][]int{{0, 2, 3}}), 3, 5, 6)
		check("keep all", c.Keep([][]int{{0, 1, 2}}), 3, 5, 6)
		check("keep without a list", c.Keep(nil), 3, 5, 6)
		check("appended", c.Update(rows(t, 7, 2), rows(t, 7, 2)), 3, 5, 6, 7, 8)
		check("truncated", c.Truncate(c.Seen()-3), 3, 5)
		check("keep none", c.Keep([][]int{nil}))
		check("from empty", c.Update(rows(t, 1, 10), rows(t, 1, 10)), 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
		if err := c.Update(rows(t, 11, 1), rows(t, 11, 1)); !errors.Is(err, kvcache.ErrFull) || c.Len() != 10 {
			t.Errorf("%v: an 11th token of 10: %v", d, err)
		}
		for _, bad := range [][]int{{-1}, {10}, {3, 3}, {3, 2}} {
			if c.Keep([][]int{bad}) == nil {
				t.Errorf("%v: kept %v", d, bad)
			}
		}
		if c.PrunePrefix(11) == nil || c.PrunePrefix(-1) == nil || c.Truncate(c.Seen()+1) == nil || c.Truncate(-1) == nil || c.Truncate(c.Seen()-11) == nil {
			t.Errorf("%v: lengths out of range were accepted", d)
		}
		if c.Update(rows(t, 1, 1), rows(t, 1, 2)) == nil {
			t.Errorf("%v: keys of one token with values of two", d)
		}
		if err := c.Free(); err != nil {
			t.Error(err)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	b := cpu.New(1)
	defer b.Close()
	for _, c := range []struct {
		d                          tensor.DType
		capacity, kvHeads, headDim int
	}{
		{tensor.BF16, 4, 1, 32}, {0, 4, 1, 32}, {tensor.F16, -1, 1, 32}, {tensor.Q8_0, 4, 1, 16}, {tensor.F32, math.MaxInt / 4, 1 << 10, 1 << 10},
	} {
		if _, err := kvcache.NewStore(b, 1, c.kvHeads, c.kvHeads, c.headDim).New(c.d, c.capacity); err == nil {
			t.Errorf("%+v was made", c)
		}
	}
}

// resident returns the process's resident memory in bytes.
func resident(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip(err)
	}
	var total, pages int
	if _, err := fmt.Sscan(strings.TrimSpace(string(status)), &total, &pages); err != nil {
		t.Skip(err)
	}
	return pages * os.Getpagesize()
}

func TestPruningGivesMemoryBack(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("reads /proc")
	}
	b := cpu.New(1)
	defer b.Close()
	const slots = 100_000
	c, err := kvcache.NewPlain(b, tensor.F32, slots, heads, kvHeads, headDim)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Free()
	chunk := rows(t, 1, 1000)
	empty := resident(t)
	for range slots / 1000 {
		if err := c.Update(chunk, chunk); err != nil {
			t.Fatal(err)
		}
	}
	full := resident(t)
	if grown := int64(full - empty); grown < c.MemoryUsage()*9/10 {
		t.Skipf("the process grew by %d for %d bytes of cache: its memory cannot be observed here", grown, c.MemoryUsage())
	}
	if err := c.PrunePrefix(slots * 9 / 10); err != nil {
		t.Fatal(err)
	}
	if left := resident(t) - empty; left > (full-empty)/4 {
		t.Errorf("after pruning nine tenths, %d of %d bytes stay resident", left, full-empty)
	}
}
