//go:build opencl && (amd64 || arm64)

package opencl

import (
	"fmt"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/opencl/internal/compiler"
)

// caches writes keys and values to pages, and moves them.
type caches struct {
	*queue
	pages       *pages
	waiting     *waiting
	conversions *conversions
	programs    map[pageShape]*pagePrograms
}

// firstSlab is how many pages the first slab of a type has, and largePage the bytes of a page that is larger than most.
const (
	firstSlab = 256
	largePage = 256 << 10
)

// SlabPages doubles what there is, so that few slabs make a large cache: kernels take maxSlabs of them. A slab is no larger than a
// buffer may be.
func (c *caches) SlabPages(pages int) int {
	return max(firstSlab, min(pages, int(c.maxAlloc/largePage)))
}

// pagePrograms are the programs that write to pages of a shape.
type pagePrograms struct{ store, compact pagedProgram }

// storeGroup is the size of the groups of these programs.
const storeGroup = 64

// pageProgramsFor returns them.
func (c *caches) programsFor(s pageShape) *pagePrograms {
	p := c.programs[s]
	if p == nil {
		options := fmt.Sprintf("-DGROUP=%d -DHEAD_DIM=%d -DKV_%v -DWRITES", storeGroup, s.headDim, s.cache)
		p = &pagePrograms{pagedProgramOf(compiler.Of("common exact pages store", options)), pagedProgramOf(compiler.Of("common pages compact", options))}
		c.programs[s] = p
	}
	return p
}

// ropeStore rotates queries and keys, and stores keys and values in the pages of runs.
func (c *caches) ropeStore(op *backend.RoPEStore) error {
	d, table, runs := op.Dims(), op.Table, op.Runs
	if len(runs) == 0 || d.HeadDim == 0 {
		return nil
	}
	c.mu.Lock()
	keys, values := c.operand(op.K), c.operand(op.V)
	queries, angles := keys, keys // some buffers, which are not used
	if table != nil {
		queries, angles = c.operand(op.Q), c.operand(table)
	}
	needed, ok, err := c.pages.tablesOf(runs)
	if err != nil || !ok || !keys.ok || !values.ok || !queries.ok || !angles.ok {
		c.mu.Unlock()
		if err != nil {
			return err
		}
		return c.opOnHost(op)
	}
	defer c.mu.Unlock()
	queryGroups := 0
	if table != nil {
		queryGroups = groups(d.Heads*d.HeadDim/2, storeGroup)
	}
	for i, cache := range cacheTypes {
		if needed[i] == 0 {
			continue
		}
		shape := pageShape{cache, d.HeadDim}
		store, together := &c.programsFor(shape).store, c.waiting.stores(d, cache, queries, keys, values)
		err := c.pages.eachLaunch(shape, needed[i], runs, func(r backend.Run) int { return r.Tokens }, func(l *launch) error {
			if together && l.tokens == d.Tokens {
				if ok, err := c.waiting.normStore(shape, angles, l); ok || err != nil {
					return err
				}
			}
			kernel, err := c.pagedKernel(store, l, "rope_store")
			if err != nil {
				return err
			}
			floats(kernel, queries, keys, values, angles).Int(flag(table != nil)).Int(queryGroups).Int(d.Heads).Int(d.KVHeads)
			all := queryGroups + groups(2*d.KVHeads*d.HeadDim, storeGroup)
			return c.run("RoPEStore", l.pass(kernel), storeGroup, all, l.tokens, 1)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
