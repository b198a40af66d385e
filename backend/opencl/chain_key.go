//go:build opencl && (amd64 || arm64)

package opencl

import (
	"fmt"
	"unsafe"

	"github.com/antigravity-go/antigravity/asm"
)

// chainKey is what programs of chains are compiled for.
type chainKey struct {
	formats [2]string // of weights; the second may be "": there is only one
	pages   pageShape
	share   int // query heads that share a KV head
	queries int // heads that a team takes
	k       int // the longest rows of weights; 0 for several rows of activations, which are not in local memory
	several bool
}

// chunk returns how many blocks a group multiplies at once, for rows of k elements of a format: as many as local memory has room for; 0: it
// has too little.
func (f *format) chunk(k int, local int64) int {
	const aligned = 4 * 32 // what pieces of the memory may be larger by
	term, factor := 8, 0
	if f.blockLen == 256 {
		factor = 8
	} else if f.scaleBytes%4 == 0 { // a block has a minimum, too
		term = 16
	}
	for chunk := 2048; chunk >= 512; chunk /= 2 {
		rows := chainRows(chunk)
		bytes := k + k/4 + k/f.blockLen*4 + 2*(chunk+rows)*term + 2*(chunk/8+rows)*factor + aligned
		if int64(bytes) <= local {
			return chunk
		}
	}
	return 0
}

// chainRows returns how many rows of weights a group computes at once: each has at least eight blocks of a chunk.
func chainRows(chunk int) int { return min(128, chunk/8) }

// chainLocal returns the local memory of a group for what chunk counts, and for the teams of attention: what remains of a device's besides three
// records and the sums of rows.
func chainLocal(q *queue) int64 {
	return min(q.device.LocalBytes, flashLocal) - 3*int64(unsafe.Sizeof(record{})) - 1024
}

// teams returns how many tiles of attention a group computes at once.
func (k *chainKey) teams(local int64) int {
	quads := k.pages.headDim / 4
	bytes := asm.TileKeys*(8+1)*16 + k.queries*(quads*16+asm.TileKeys*4+asm.Lanes*4) + 64
	return min(2, int(local)/bytes)
}

// holds reports whether a group has the memory for products of m rows of activations with weights of a format and rows of k elements.
func (c *chain) holds(f *format, k, m int) bool {
	if f.split == "" {
		return false
	}
	if m > 1 {
		return f.chunkOfSeveral(c.local) > 0
	}
	return f.chunk(max(k, c.latest[0].k), c.local) > 0
}

// chunkOfSeveral is chunk for several rows of activations: local memory has sums of each of them in place of activations.
func (f *format) chunkOfSeveral(local int64) int {
	return f.chunk(0, local-4*chainTokens*int64(chainRows(2048)))
}

// with returns a key for weights of a format, too, with rows of k elements; ok is false if a program cannot have it besides the key's formats.
func (k chainKey) with(f *format, rowLen int) (key chainKey, ok bool) {
	if !k.several {
		k.k = max(k.k, rowLen)
	}
	switch {
	case k.has(f):
	case k.formats[0] == "":
		k.formats[0] = f.name
	case k.formats[1] == "" && f.blockLen == 256 && k.inBlocksOf256(): // activations are rounded alike
		k.formats[1] = f.name
	default:
		return k, false
	}
	return k, true
}

// inBlocksOf256 reports whether the key's first format has blocks of 256.
func (k *chainKey) inBlocksOf256() bool {
	f, _ := formatOf(k.formats[0])
	return f.blockLen == 256
}

// has reports whether a format is one of the key's.
func (k *chainKey) has(f *format) bool { return f.name == k.formats[0] || f.name == k.formats[1] }

// kernel returns the name of the kernel.
func (k *chainKey) kernel() string {
	if k.several {
		return "chain_rows"
	}
	return "chain"
}

// chainPrograms has the programs of chains, and learns the keys that they are to be compiled for.
type chainPrograms struct {
	*queue
	options  string      // the device's ways to multiply bytes and to order memory
	local    int64       // see chainLocal
	latest   [2]chainKey // of one row, and of several
	made     map[chainKey]program
	learning int // rows of activations of the chain that would be open were its program ready
}

// learn makes the latest key of the chain that would be open one for a product with weights of a format and rows of k elements, too.
func (c *chainPrograms) learn(f *format, k int) {
	latest := &c.latest[flag(c.learning > 1)]
	if key, ok := latest.with(f, k); ok {
		*latest = key
	}
}

// compiled reports whether the program for a key is ready. It has it compiled if it is asked a second time: the first layer shows all that the key
// must have, and a program takes seconds.
func (c *chainPrograms) compiled(key chainKey) bool {
	latest := &c.latest[flag(key.several)]
	if !c.queue.programs.Patient {
		return true
	}
	if *latest != key && !c.queue.programs.Has(c.program(key), key.kernel()) {
		*latest = key
		return false
	}
	return c.ready(c.program(key), key.kernel())
}

// program returns the program of records with a key.
func (c *chainPrograms) program(key chainKey) program {
	p, ok := c.made[key]
	if ok {
		return p
	}
	first, second := key.formats[0], key.formats[1]
	f, _ := formatOf(first)
	teams, chunk := key.teams(c.local), f.chunk(key.k, c.local)
	p.Files = "common exact norm formats dot activations blocks block_terms cache pages store meet chain_record chain_share"
	sums := " chain_sums"
	if key.several {
		chunk = f.chunkOfSeveral(c.local)
		p.Files += " chain_rows_record"
		sums += " chain_rows_sums"
	}
	p.Files += sums
	p.Options = fmt.Sprintf("-DGROUP=%d -DCHAIN_GROUP=%[1]d -DTEAMS_OF_TILES=%d -DCHUNK=%d -DMOST_ROWS=%d -DMOST_K=%d -DFIRST=%s -DFORMAT=%[6]s -DHEAD_DIM=%d -DSHARE=%d -DQUERIES=%d -DKV_%v -DWRITES -DRUNS=1 -DSLABS=%d%s",
		teams*asm.TileKeys, teams, chunk, chainRows(chunk), key.k, first, key.pages.headDim, key.share, key.queries, key.pages.cache, fewSlabs, c.options)
	if second != "" {
		p.Files += " second_format formats blocks block_terms" + sums
		p.Options += fmt.Sprintf(" -DSECOND=%s", second)
	}
	p.Files += " tiles_begin tile values chain_tiles tiles_end chain"
	if key.several {
		p.Files += " chain_rows"
		p.Options += " -DSEVERAL"
	}
	c.made[key] = p
	return p
}

// turn makes key the records' key, after those that wait for another one have been enqueued.
func (c *chain) turn(key chainKey) error {
	if c.key == key {
		return nil
	}
	err := c.launch()
	c.key, c.latest[flag(key.several)] = key, key
	return err
}
