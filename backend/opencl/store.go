//go:build opencl && (amd64 || arm64)

package opencl

import (
	"fmt"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// pagePrograms are the programs that write to pages of a shape.
type pagePrograms struct{ store, compact pagedProgram }

// storeGroup is the size of the groups of these programs.
const storeGroup = 64

// pageProgramsFor returns them.
func (b *Backend) pageProgramsFor(s pageShape) *pagePrograms {
	p := b.programs.pages[s]
	if p == nil {
		options := fmt.Sprintf("-DGROUP=%d -DHEAD_DIM=%d -DKV_%v -DWRITES", storeGroup, s.headDim, s.cache)
		p = &pagePrograms{pagedProgramOf(program{"common exact pages store", options}), pagedProgramOf(program{"common pages compact", options})}
		b.programs.pages[s] = p
	}
	return p
}

// RoPEStore rotates queries and keys, and stores keys and values in the pages of runs.
func (b *Backend) RoPEStore(q, k, v, table *tensor.Tensor, runs []backend.Run) error {
	d, err := backend.CheckRoPEStore(q, k, v, table, runs)
	if err != nil || len(runs) == 0 || d.HeadDim == 0 {
		return err
	}
	b.mu.Lock()
	keys, values := b.operand(k), b.operand(v)
	queries, angles := keys, keys // some buffers, which are not used
	if table != nil {
		queries, angles = b.operand(q), b.operand(table)
	}
	needed, ok, err := b.tablesOf(runs)
	if err != nil || !ok || !keys.ok || !values.ok || !queries.ok || !angles.ok {
		b.mu.Unlock()
		if err != nil {
			return err
		}
		return b.onHost(func() error { return b.Base.RoPEStore(q, k, v, table, runs) })
	}
	defer b.mu.Unlock()
	queryGroups := 0
	if table != nil {
		queryGroups = groups(d.Heads*d.HeadDim/2, storeGroup)
	}
	for i, cache := range cacheTypes {
		if needed[i] == 0 {
			continue
		}
		if len(runs) == 1 && b.waiting.stores(d, cache, queries, keys, values) {
			return b.eachLaunch(cache, needed[i], runs, func(backend.Run) int { return 1 }, func(l *launch) error {
				return b.normStore(pageShape{cache, d.HeadDim}, angles, l)
			})
		}
		store := &b.pageProgramsFor(pageShape{cache, d.HeadDim}).store
		err := b.eachLaunch(cache, needed[i], runs, func(r backend.Run) int { return r.Tokens }, func(l *launch) error {
			kernel, err := b.kernel(store.of(l), "rope_store")
			if err != nil {
				return err
			}
			for _, floats := range [...]operand{queries, keys, values, angles} {
				kernel.Mem(floats.mem).Int(floats.elements(4))
			}
			kernel.Int(flag(table != nil)).Int(queryGroups).Int(d.Heads).Int(d.KVHeads)
			all := queryGroups + groups(2*d.KVHeads*d.HeadDim, storeGroup)
			return b.enqueued("RoPEStore", b.pass(kernel, l).Run([3]int{all, l.tokens, 1}, [3]int{storeGroup, 1, 1}))
		})
		if err != nil {
			return err
		}
	}
	return nil
}
