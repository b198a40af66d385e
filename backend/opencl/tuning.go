//go:build opencl && (amd64 || arm64)

package opencl

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/antigravity-go/antigravity/backend/opencl/internal/cl"
)

// teams are how a product of few rows is divided among work-items.
type teams struct {
	Group int // work-items of a group
	Rows  int // of weights that a team of them computes at once
}

// blocks returns how many groups compute n rows.
func (t teams) blocks(n, lanes int) int { return groups(n, t.Group/lanes*t.Rows) }

// candidates are the divisions that are tried, the one for a start first: the more rows a team computes at once the fewer
// activations are loaded, but the device wants work-items enough to hide its memory's latency.
var candidates = [...]teams{{128, 1}, {64, 1}, {256, 1}, {64, 2}, {128, 2}, {256, 2}, {64, 4}, {128, 4}, {256, 4}, {64, 8}, {128, 8}}

// productShape is what divisions are tuned for.
type productShape struct {
	kernel, format string
	n, k           int
}

// tunedFrom is the least number of weights for which tuning is worth its time.
const tunedFrom = 1 << 20

// tuning finds how products are best divided on the device, by trying, once for each shape; the results are kept beside the
// compiled kernels.
type tuning struct {
	cache    *binaryCache
	from     int     // the least number of weights that are tuned for
	try      []teams // the divisions that are tried
	best     map[productShape]teams
	dot      string // the option that names the device's way to multiply bytes
	programs map[productVariant]program
}

// productVariant is what programs of products are compiled for.
type productVariant struct {
	kernel, format string
	lanes          int
	teams          teams
}

func (t *tuning) init(d *cl.Device, cache *binaryCache) {
	t.cache, t.from, t.try = cache, tunedFrom, candidates[:]
	if d.Kind&cl.CPU != 0 { // which computes the work-items of a group one after the other, and compiles slowly
		t.from = math.MaxInt
	}
	t.best, t.programs = map[productShape]teams{}, map[productVariant]program{}
	data, err := cache.read(t.path())
	if err != nil {
		return
	}
	var entries []tuned
	if json.Unmarshal(data, &entries) != nil {
		return
	}
	for _, e := range entries {
		for _, c := range candidates {
			if c == e.Teams {
				t.best[productShape{e.Kernel, e.Format, e.N, e.K}] = c
			}
		}
	}
}

// tuned is an entry of the file.
type tuned struct {
	Kernel, Format string
	N, K           int
	Teams          teams
}

func (t *tuning) path() string { return t.cache.path(".json", "tuning") }

// save writes the file.
func (t *tuning) save() {
	var entries []tuned
	for s, best := range t.best {
		entries = append(entries, tuned{s.kernel, s.format, s.n, s.k, best})
	}
	if data, err := json.Marshal(entries); err == nil {
		_ = t.cache.write(t.path(), data) // without it, it is tuned again
	}
}

// program returns the program of a product's kernel for a format, without making its options anew.
func (t *tuning) program(kernel, format string, lanes int, of teams) program {
	key := productVariant{kernel, format, lanes, of}
	p, ok := t.programs[key]
	if !ok {
		sets := 1
		if kernel == "norm_swiglu" {
			sets = 2
		}
		p.files = "common exact norm formats product team_floats " + kernel
		p.options = fmt.Sprintf("-DGROUP=%d -DLANES=%d -DROWS=%d -DSETS=%d -DFORMAT=%s -DFORMAT_%s", of.Group, lanes, of.Rows, sets, format, format)
		if strings.HasPrefix(format, "q") {
			p.files = "common exact norm formats dot activations blocks product team_blocks " + kernel
			p.options += t.dot
		}
		t.programs[key] = p
	}
	return p
}

// gemm returns the program of the product of many rows with blocks of a format.
func (t *tuning) gemm(format string) program {
	key := productVariant{kernel: "gemm_blocks", format: format}
	p, ok := t.programs[key]
	if !ok {
		p = program{"common formats dot blocks gemm_blocks", fmt.Sprintf("-DGROUP=128 -DFORMAT=%s -DFORMAT_%s%s", format, format, t.dot)}
		t.programs[key] = p
	}
	return p
}

// known returns the division for a shape; ok is false where it pays to tune.
func (t *tuning) known(s productShape) (best teams, ok bool) {
	if best, ok = t.best[s]; ok {
		return best, true
	}
	return candidates[0], s.n*s.k < t.from
}

// tune tries the divisions with run, which enqueues the product once, and remembers the fastest. It waits for the device.
func (b *Backend) tune(s productShape, run func(teams) error) teams {
	best, least := candidates[0], time.Duration(math.MaxInt64)
	for _, c := range b.tuning.try {
		if c.Group > b.device.GroupSize {
			continue
		}
		if took, err := b.time(func() error { return run(c) }); err == nil && took < least {
			best, least = c, took
		}
	}
	b.tuning.best[s] = best
	b.tuning.save()
	return best
}

// time returns how long a run takes among several.
func (b *Backend) time(run func() error) (time.Duration, error) {
	if err := run(); err != nil { // compiles
		return 0, err
	}
	if err := b.context.Finish(); err != nil {
		return 0, err
	}
	const enough = 2 * time.Millisecond
	least := time.Duration(math.MaxInt64)
	for runs := 1; ; runs *= 4 {
		began := time.Now()
		for range runs {
			if err := run(); err != nil {
				return 0, err
			}
		}
		if err := b.context.Finish(); err != nil {
			return 0, err
		}
		took := time.Since(began)
		least = min(least, took/time.Duration(runs))
		if took > enough || runs > 100 {
			return least, nil
		}
	}
}
