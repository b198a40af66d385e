package attention

import "github.com/antigravity-go/antigravity/tensor"

// step is one step of an attention: how it is observed on a device, and what it is by definition.
type step struct {
	name    string
	what    string   // what it computes, and how it is observed, for a person
	places  []string // what the numbers of a place count
	kind    kind
	least   float64 // differences are parts of it in vectors without an element as large
	observe func(*look) ([]vector, error)
	define  func(*definition) [][]float64
}

// kind says how far a step's result may be from the definition's.
type kind int

const (
	rotating kind = iota // a few roundings of float32
	storing              // what the cache's type rounds off
	summing              // products with a cache of that type, and exponentials
)

// steps lists the steps in the order of the computation. Scores are logarithms: a difference of 0.01 is 1 % of a weight, however small
// the scores are.
var steps = []step{
	{"queries", "queries turned by the angles of their positions (RoPEStore)", []string{"query", "head", "dim"},
		rotating, 0, (*look).queries, (*definition).queries},
	{"keys", "what the slots hold: turned keys in the cache's type (RoPEStore, then ReadSlots)", []string{"conversation", "KV head", "slot", "dim"},
		storing, 0, func(l *look) ([]vector, error) { return l.cached(keysOf) }, (*definition).slotKeys},
	{"values", "what the slots hold: values in the cache's type (RoPEStore, then ReadSlots)", []string{"conversation", "KV head", "slot", "dim"},
		storing, 0, func(l *look) ([]vector, error) { return l.cached(valuesOf) }, (*definition).slotValues},
	{"scores", "q·k/√d less the query's largest: no device shows it, so it is what the weights imply, ln(weight/largest weight)", []string{"query", "head", "slot"},
		summing, 1, (*look).scores, (*definition).scores},
	{"weights", "softmax of the scores: seen through Attend, given values that are 1 in one element and 0 in the others", []string{"query", "head", "slot"},
		summing, 0, (*look).weights, (*definition).weights},
	{"sums", "the weights that each slot gets from all queries (AccumulateAttention)", []string{"conversation", "KV head", "slot"},
		summing, 0, (*look).sums, (*definition).sums},
	{"pages", "the latest query's output if there were no slots after a page's last (Attend)", []string{"conversation", "slots", "head", "dim"},
		summing, 0, (*look).pages, (*definition).pages},
	{"output", "weights times values (Attend)", []string{"query", "head", "dim"},
		summing, 0, (*look).output, (*definition).output},
	{"whole", "RoPEStore and then Attend, with nothing read or written in between", []string{"query", "head", "dim"},
		summing, 0, (*look).whole, (*definition).output},
}

// cacheTypes are the types that a cache can have.
var cacheTypes = []tensor.DType{tensor.F32, tensor.F16, tensor.Q8_0, tensor.Q4_0}

// roundings are how far results may be from the definition, as a part of the largest element of the same vector: storing is the cache
// type's rounding, summing that of products with such a cache. If the cache is quantised, queries are rounded to 8 bits.
var roundings = map[tensor.DType]struct{ storing, summing float64 }{
	tensor.F32:  {1e-6, 1e-4},
	tensor.F16:  {1e-3, 2e-3},
	tensor.Q8_0: {1.0 / 200, 1.0 / 32},
	tensor.Q4_0: {1.0 / 7, 1.0 / 32},
}

// tolerance returns how far a step may be from the definition. If given, from a user, is not 0, it applies to all steps.
func (s *step) tolerance(d tensor.DType, given float64) float64 {
	switch {
	case given > 0:
		return given
	case s.kind == rotating:
		return 1e-6
	case s.kind == storing:
		return roundings[d].storing
	}
	return roundings[d].summing
}
