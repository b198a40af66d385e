//go:build opencl && (amd64 || arm64)

package opencl

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/antigravity-go/antigravity/backend/opencl/internal/cl"
	"github.com/antigravity-go/antigravity/backend/opencl/internal/compiler"
	"github.com/antigravity-go/antigravity/internal/precise"
	"github.com/antigravity-go/antigravity/tensor"
)

// A product can be divided among work-items in several ways, and which is the fastest depends on the device. So while the device warms up
// (warm.go), the first product of a shape is computed in all ways, each timed for some milliseconds, and the fastest is written to a file
// next to the compiled kernels. Small weights are not worth it, and known.json has the results of some devices. For 5 rows of activations
// and weights q4_0 [2048, 2048]:
//
//	rowsFor(5)   6: shapes with 5 and 6 rows share their result
//	way          tries rowByRow, tiled and six divisions of several.cl
//	the file     [{"Kernel":"multiply","Format":"q4_0","N":2048,"K":2048,"M":6,"Teams":{"Group":128,"Rows":1,"Columns":8}}]
//	way, again   {128, 1, 8}, without a trial
//
// If the device was warm already, q4_0 [2560, 2560] is not tried: guess returns {128, 1, 8} for it, too.

// teams are how a product is divided among work-items.
type teams struct {
	Group   int // work-items of a group
	Rows    int // of weights that a team of them computes at once
	Columns int `json:",omitempty"` // rows of activations that it multiplies them with at once: 0 stands for one
}

// blocks returns how many groups compute n rows.
func (t teams) blocks(n, lanes int) int { return groups(n, t.Group/lanes*t.Rows) }

// roundedBlock is the length of the blocks that kernels round what they compute in, for the product that comes next.
const roundedBlock = 32

// rounds reports whether groups compute whole blocks of rows, with a number of lanes, so that they can round what they compute.
func (t teams) rounds(lanes int) bool {
	return t.Group/lanes*t.Rows%roundedBlock == 0 && t.Group >= t.Group/lanes*t.Rows
}

// rounding32 returns those of some divisions in which groups round their results, if that is of use to the product that comes next: they
// save it more than they may cost. If there are no such divisions, it returns all.
func rounding32(all []teams, w *weights) []teams {
	if w.format.blockLen != roundedBlock {
		return all
	}
	some := slices.DeleteFunc(slices.Clone(all), func(t teams) bool { return !t.rounds(w.lanes) })
	if len(some) == 0 {
		return all
	}
	return some
}

// candidates are the divisions that are tried, the one for a start first: the more rows a team computes at once the fewer
// activations are loaded, but the device wants work-items enough to hide its memory's latency.
var candidates = [...]teams{
	{128, 1, 0}, {64, 1, 0}, {256, 1, 0}, {64, 2, 0}, {128, 2, 0}, {256, 2, 0}, {64, 4, 0}, {128, 4, 0}, {256, 4, 0}, {64, 8, 0}, {128, 8, 0},
}

// The ways to compute a product of several rows of activations: row by row, as candidates divide them, as whole tiles of a gemm,
// or by several.cl in some division.
var (
	rowByRow = teams{}
	tiled    = teams{Columns: -1}
	ways     = [...]teams{rowByRow, tiled, {128, 1, 4}, {128, 2, 4}, {128, 1, 8}, {128, 2, 8}, {128, 1, 16}, {64, 4, 4}}
)

// productShape is what divisions are tuned for.
type productShape struct {
	kernel, format string
	n, k           int
	m              int // rows of activations, as rowsFor rounds them; 0: any number, row by row
}

// rowsFor rounds a number of rows of activations up to one of those that ways are tuned for.
func rowsFor(m int) int {
	for _, rows := range [...]int{2, 3, 4, 6, 8, 12, 16, 24, 32, 48} {
		if m <= rows {
			return rows
		}
	}
	return mostSeveral
}

// fewRows is how many rows of activations are multiplied row by row if nothing was tuned. More are multiplied together.
const fewRows = 8

// fewForMatrices is how many rows of activations another way than tiles is tried for if the device has instructions for matrices: an H200 takes 43 µs for
// 12 rows with Q4_K [14336, 4096] in tiles, and 74 in the fastest other way; for 8 rows tiles gain nothing.
const fewForMatrices = 8

// mostSeveral is the most rows of activations for which another way than tiles is tried.
const mostSeveral = 64

// tunedFrom is the least number of weights for which tuning is worth its time.
const tunedFrom = 1 << 20

// tuning finds how products are best divided on the device, by trying, once for each shape; the results are kept with the compiled kernels.
// The queue's lock guards it.
type tuning struct {
	context   *cl.Context
	largest   int // work-items of a group that the device takes
	cache     *compiler.Cache
	from      int                    // the least number of weights that are tuned for
	try       []teams                // the divisions that are tried for single rows
	forced    *teams                 // the way for several rows, if tests want one; nil: the best
	late      func() bool            // reports that no shape is tuned any more; nil: shapes are not tuned at present
	best      map[productShape]teams // the results of this device
	shipped   map[productShape]teams // those of such devices, which came with the package
	guessed   map[productShape]teams // what guess has returned
	matrices  bool                   // the device has instructions for matrices, which compute tiles
	dot       string                 // the option that names the device's way to multiply bytes
	lastGroup string                 // the option for devices on which the last group may go on
	programs  map[productVariant]program
	trying    bool // a division is being tried
}

// productVariant is what programs of products are compiled for.
type productVariant struct {
	kernel, format string
	lanes          int // or sets of gemm_matrix
	teams          teams
	tile           matrixTile
	whole          bool // gemm_matrix takes whole steps
	grouped        bool // rows are those of pairs with experts
}

func (t *tuning) init(d *cl.Device, context *cl.Context, cache *compiler.Cache) {
	t.context, t.largest, t.cache, t.from, t.try = context, d.GroupSize, cache, tunedFrom, candidates[:]
	if d.Kind&cl.CPU != 0 { // which computes the work-items of a group one after the other, and compiles slowly
		t.from = math.MaxInt
	}
	t.guessed, t.programs = map[productShape]teams{}, map[productVariant]program{}
	t.shipped = resultsOf(knownDevices()[knownAs(d)])
	var entries []tuned
	if data, err := cache.Read(t.path()); err == nil {
		_ = json.Unmarshal(data, &entries) // a file that cannot be read has no results
	}
	t.best = resultsOf(entries)
}

// tunes reports whether the device is worth tuning.
func (t *tuning) tunes() bool { return t.from < math.MaxInt }

// tuned is an entry of the file, and of known.json.
type tuned struct {
	Kernel, Format string
	N, K           int
	M              int `json:",omitempty"`
	Teams          teams
}

// shape returns the shape that the entry is for.
func (e *tuned) shape() productShape { return productShape{e.Kernel, e.Format, e.N, e.K, e.M} }

// valid reports whether the kernels still have the entry's division.
func (e *tuned) valid() bool {
	if e.M > 0 {
		return slices.Contains(ways[:], e.Teams)
	}
	return slices.Contains(candidates[:], e.Teams)
}

// resultsOf returns the results in entries.
func resultsOf(entries []tuned) map[productShape]teams {
	results := map[productShape]teams{}
	for i := range entries {
		if e := &entries[i]; e.valid() {
			results[e.shape()] = e.Teams
		}
	}
	return results
}

// entriesOf returns the entries for results, in an order.
func entriesOf(results map[productShape]teams) []tuned {
	var entries []tuned
	for s, best := range results {
		entries = append(entries, tuned{s.kernel, s.format, s.n, s.k, s.m, best})
	}
	slices.SortFunc(entries, func(a, b tuned) int {
		return cmp.Or(cmp.Compare(a.Kernel, b.Kernel), cmp.Compare(a.Format, b.Format), cmp.Compare(a.N, b.N), cmp.Compare(a.K, b.K), cmp.Compare(a.M, b.M))
	})
	return entries
}

// result returns the result for a shape.
func (t *tuning) result(s productShape) (best teams, ok bool) {
	if best, ok = t.best[s]; !ok {
		best, ok = t.shipped[s]
	}
	return best, ok
}

// guess returns a division for a shape without a result: that of the nearest shape of the same kernel and format, from which its sizes differ
// by the smallest factors, or of a format that is like it, or otherwise if there is no such shape.
func (t *tuning) guess(s productShape, otherwise teams) teams {
	if of, ok := t.guessed[s]; ok {
		return of
	}
	least, best := math.Inf(1), otherwise
	like := likeFormat(s.format)
	for _, results := range [...]map[productShape]teams{t.best, t.shipped} {
		for _, e := range entriesOf(results) { // in an order, so that the same one of two that are as near is found each time
			if e.Kernel != s.kernel || e.Format != s.format && e.Format != like || (e.M == 0) != (s.m == 0) {
				continue
			}
			away := 0.0
			if e.Format != s.format {
				away = otherFormat
			}
			for _, sizes := range [...][2]int{{e.N, s.n}, {e.K, s.k}, {max(e.M, 1), max(s.m, 1)}} {
				away += math.Abs(math.Log2(float64(sizes[0]) / float64(sizes[1])))
			}
			if away < least {
				least, best = away, e.Teams
			}
		}
	}
	t.guessed[s] = best
	return best
}

// otherFormat is how far away the results of a similar format are: farther than those of all sizes of the format itself.
const otherFormat = 1 << 10

// likeFormat returns the format in known.json that one without results is most like.
func likeFormat(name string) string {
	switch f, _ := formatOf(name); {
	case f.blockLen == 256:
		return tensor.Q4_K.String()
	case f.split != "":
		return tensor.Q4_0.String()
	}
	return tensor.F16.String()
}

func (t *tuning) path() string { return t.cache.Path(".json", "tuning of fused kernels") }

// save writes the file.
func (t *tuning) save() {
	if data, err := json.Marshal(entriesOf(t.best)); err == nil {
		_ = t.cache.Write(t.path(), data) // without it, it is tuned again
	}
}

// program returns the program of a product's kernel for a format, without making its options anew.
func (t *tuning) program(kernel, format string, lanes int, of teams) program {
	key := productVariant{kernel: kernel, format: format, lanes: lanes, teams: of}
	p, ok := t.programs[key]
	if !ok {
		sets := 1
		if kernel == "norm_swiglu" || kernel == "feed_gate" {
			sets = 2
		}
		p.Files = "common exact norm formats product team_floats last " + kernel
		p.Options = fmt.Sprintf("-DGROUP=%d -DLANES=%d -DROWS=%d -DSETS=%d -DFORMAT=%s", of.Group, lanes, of.Rows, sets, format)
		if kernel == "feed_down" {
			p.Options += t.lastGroup
		}
		if of.Columns > 0 {
			p.Options += fmt.Sprintf(" -DCOLUMNS=%d", of.Columns)
		}
		if inBlocks(format) {
			p.Files = "common exact norm formats dot activations blocks product block_terms team_blocks last " + kernel
			p.Options += t.dot
			if kernel == "norm_swiglu" && of.rounds(lanes) {
				p.Options += " -DROUNDS"
			}
			if kernel == "norm_store" {
				p.Files = strings.Replace(p.Files, "formats", "pages store formats", 1)
			}
		}
		t.programs[key] = p
	}
	return p
}

// rowsOf are the files that say which rows tiles have: neighbouring ones, or those of pairs with experts.
var rowsOf = map[bool]string{false: "whole", true: "grouped"}

// gemm returns the program of the product of many rows with blocks of a format.
func (t *tuning) gemm(format string, grouped bool) program {
	key := productVariant{kernel: "gemm_blocks", format: format, grouped: grouped}
	p, ok := t.programs[key]
	if !ok {
		p = compiler.Of("common formats dot blocks "+rowsOf[grouped]+" gemm_blocks", fmt.Sprintf("-DGROUP=128 -DFORMAT=%s%s", format, t.dot))
		t.programs[key] = p
	}
	return p
}

// settled reports whether nothing is tried now: a device that has results from the package is not tuned at all, since each trial would compile a
// kernel.
func (t *tuning) settled() bool { return len(t.shipped) > 0 || t.late == nil || t.late() }

// known returns the division for a shape; ok is false if it is to be tuned.
func (t *tuning) known(s productShape) (best teams, ok bool) {
	if best, ok = t.result(s); ok {
		return best, true
	}
	switch {
	case s.n*s.k < t.from:
		return candidates[0], true
	case t.settled():
		return t.guess(s, candidates[0]), true
	}
	return candidates[0], false
}

// way returns the way to compute a product of a shape, with m as the exact number of rows of activations. If the shape is to be tuned, it
// tries the ways with run, which enqueues the product once: those of several.cl only for weights in blocks.
func (t *tuning) way(s productShape, blocks bool, run func(teams) error) teams {
	m := s.m
	switch {
	case m <= 1:
		return rowByRow
	case m > mostSeveral:
		return tiled
	case t.forced != nil:
		if t.forced.Columns > 0 && !blocks {
			return tiled
		}
		return *t.forced
	}
	s.m = rowsFor(m)
	if t.matrices && blocks && m > fewForMatrices {
		return tiled
	}
	if best, ok := t.result(s); ok {
		return best
	}
	usual := rowByRow
	if m > fewRows {
		usual = tiled
	}
	switch {
	case s.n*s.k < t.from:
		return usual
	case t.settled():
		return t.guess(s, usual)
	}
	try := ways[:]
	if !blocks {
		try = ways[:2]
	}
	return t.tune(s, try, run)
}

// tune tries divisions with run, which enqueues the product once, and remembers the fastest. It waits for the device. If it gets late, it
// returns the fastest so far, and the shape is tuned another time.
func (t *tuning) tune(s productShape, try []teams, run func(teams) error) teams {
	best, least := try[0], time.Duration(math.MaxInt64)
	t.trying = true
	defer func() { t.trying = false }()
	for _, c := range try {
		if c.Group > t.largest {
			continue
		}
		if t.late() {
			t.guessed[s] = best
			return best
		}
		if took, err := t.time(func() error { return run(c) }); err == nil && took < least {
			best, least = c, took
		}
	}
	t.best[s] = best
	clear(t.guessed) // there may be nearer ones now
	t.save()
	return best
}

// time returns how long a run takes among several.
func (t *tuning) time(run func() error) (time.Duration, error) {
	if err := run(); err != nil { // compiles
		return 0, err
	}
	if err := t.context.Finish(); err != nil {
		return 0, err
	}
	const enough = 2 * time.Millisecond
	least := time.Duration(math.MaxInt64)
	for runs := 1; ; runs *= 4 {
		began := precise.Now()
		for range runs {
			if err := run(); err != nil {
				return 0, err
			}
		}
		if err := t.context.Finish(); err != nil {
			return 0, err
		}
		took := precise.Since(began)
		least = min(least, took/time.Duration(runs))
		if took > enough || runs > 100 {
			return least, nil
		}
	}
}
