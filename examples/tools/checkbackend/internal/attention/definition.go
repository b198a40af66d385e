package attention

import "math"

// The definition of attention, in float64 and in plain loops: the right result of every step, apart from rounding. Like the devices, each
// step begins with the reference's result of the step before, so that only the rounding of the step itself shows. For example, a head has
// 4 elements, the query is (2, 0, 0, 0), and two slots are seen:
//
//	keys            (1, 0, 0, 0)  (0, 1, 0, 0)
//	values          (1, 0, 0, 0)  (0, 0, 0, 0)
//	q·k/√4          1             0
//	scores()        0             -1              less the largest
//	weights()       0.731         0.269           e to the power of each, divided by their sum
//	output()        (0.731, 0, 0, 0)

// definition has the numbers of one problem that its functions begin with.
type definition struct {
	*problem
	from         *stored
	keys, values [][][]float32 // of each conversation and KV head: the rows that the cache holds
}

// define reads what the reference's cache holds.
func define(p *problem, from *stored) (*definition, error) {
	d := &definition{problem: p, from: from}
	for _, side := range []struct {
		coded [][][]byte
		to    *[][][]float32
	}{{from.keys, &d.keys}, {from.values, &d.values}} {
		for _, heads := range side.coded {
			var plain [][]float32
			for _, data := range heads {
				x, err := decode(p.dtype, data)
				if err != nil {
					return nil, err
				}
				plain = append(plain, x)
			}
			*side.to = append(*side.to, plain)
		}
	}
	return d, nil
}

// rotated returns heads of dim elements turned by the angles of their rows: element i and element i+dim/2 are the two coordinates of a
// point of the plane.
func (d *definition) rotated(x []float32, heads int) []float64 {
	result, half := make([]float64, len(x)), d.dim/2
	for head := range len(x) / d.dim {
		row, at := d.table[head/heads*d.dim:][:d.dim], head*d.dim
		for i := range half {
			a, b := float64(x[at+i]), float64(x[at+half+i])
			cos, sin := float64(row[i]), float64(row[half+i])
			result[at+i], result[at+half+i] = a*cos-b*sin, b*cos+a*sin
		}
	}
	return result
}

// queries are the rotated queries.
func (d *definition) queries() [][]float64 { return d.cut(d.rotated(d.q, d.heads)) }

// cut cuts numbers into vectors of dim elements.
func (d *definition) cut(x []float64) (list [][]float64) {
	for ; len(x) > 0; x = x[d.dim:] {
		list = append(list, x[:d.dim])
	}
	return list
}

// slotKeys and slotValues are what slots would hold without any rounding: their contents before, and after that the tokens' rotated keys,
// or their values.
func (d *definition) slotKeys() [][]float64 { return d.slots(d.keys, d.rotated(d.k, d.kvHeads)) }

func (d *definition) slotValues() [][]float64 {
	v := make([]float64, len(d.v))
	for i, x := range d.v {
		v[i] = float64(x)
	}
	return d.slots(d.values, v)
}

func (d *definition) slots(held [][][]float32, latest []float64) (list [][]float64) {
	row := 0
	for i := range d.runs {
		c := &d.runs[i]
		for h, used := range c.used {
			for slot := range used {
				x := make([]float64, d.dim)
				if t := slot - (used - c.tokens); t >= 0 {
					copy(x, latest[((row+t)*d.kvHeads+h)*d.dim:])
				} else {
					for e := range x {
						x[e] = float64(held[i][h][slot*d.dim+e])
					}
				}
				list = append(list, x)
			}
		}
		row += c.tokens
	}
	return list
}

// scored returns q·kᵀ/√dim of a row's query head to the first n slots of its KV head.
func (d *definition) scored(row, run, head, n int) []float64 {
	q := d.from.q[(row*d.heads+head)*d.dim:][:d.dim]
	k := d.keys[run][head/d.group()]
	scores := make([]float64, n)
	for j := range scores {
		for e, v := range q {
			scores[j] += float64(v) * float64(k[j*d.dim+e])
		}
		scores[j] /= math.Sqrt(float64(d.dim))
	}
	return scores
}

// softmax makes scores weights: e to the power of each, divided by the sum of these.
func softmax(scores []float64) []float64 {
	largest, sum := math.Inf(-1), 0.0
	for _, s := range scores {
		largest = max(largest, s)
	}
	for i, s := range scores {
		scores[i] = math.Exp(s - largest)
		sum += scores[i]
	}
	for i := range scores {
		scores[i] /= sum
	}
	return scores
}

// weighted returns Σ weight·value over the slots that have weights.
func (d *definition) weighted(run, head int, weights []float64) []float64 {
	out, v := make([]float64, d.dim), d.values[run][head/d.group()]
	for j, w := range weights {
		for e := range out {
			out[e] += w * float64(v[j*d.dim+e])
		}
	}
	return out
}

// perQuery calls f for each query head of each row with the number of slots that it sees.
func (d *definition) perQuery(f func(row, run, head, sees int)) {
	d.each(func(row, run, hidden int) error {
		for head := range d.heads {
			f(row, run, head, d.runs[run].used[head/d.group()]-hidden)
		}
		return nil
	})
}

// weights are softmax(q·kᵀ/√dim), and 0 for slots that a query does not see.
func (d *definition) weights() (list [][]float64) {
	d.perQuery(func(row, run, head, sees int) {
		x := make([]float64, d.runs[run].used[head/d.group()])
		copy(x, softmax(d.scored(row, run, head, sees)))
		list = append(list, x)
	})
	return list
}

// lowest is the score below which a weight shows nothing: e to its power is about 1e-30.
const lowest = -69

// scores are q·kᵀ/√dim less the query's largest one, and -Inf for slots that it does not see and for scores below lowest.
func (d *definition) scores() (list [][]float64) {
	d.perQuery(func(row, run, head, sees int) {
		scores, largest := d.scored(row, run, head, sees), math.Inf(-1)
		for _, s := range scores {
			largest = max(largest, s)
		}
		for j := range scores {
			if scores[j] -= largest; scores[j] < lowest {
				scores[j] = math.Inf(-1)
			}
		}
		for len(scores) < d.runs[run].used[head/d.group()] {
			scores = append(scores, math.Inf(-1))
		}
		list = append(list, scores)
	})
	return list
}

// sums are the weights of each slot, added up over the queries that share its head.
func (d *definition) sums() (list [][]float64) {
	weights, row := d.weights(), 0
	for i := range d.runs {
		for h, used := range d.runs[i].used {
			x := make([]float64, used)
			for t := range d.runs[i].tokens {
				for g := range d.group() {
					for j, w := range weights[(row+t)*d.heads+h*d.group()+g] {
						x[j] += w
					}
				}
			}
			list = append(list, x)
		}
		row += d.runs[i].tokens
	}
	return list
}

// pages is the latest query's attention to no more slots than those up to the end of each page.
func (d *definition) pages() (list [][]float64) {
	row := -1
	for i := range d.runs {
		row += d.runs[i].tokens
		for _, n := range cuts(d.runs[i].longest()) {
			for head := range d.heads {
				weights := softmax(d.scored(row, i, head, min(n, d.runs[i].used[head/d.group()])))
				list = append(list, d.weighted(i, head, weights))
			}
		}
	}
	return list
}

// output is softmax(q·kᵀ/√dim)·v.
func (d *definition) output() (list [][]float64) {
	d.perQuery(func(row, run, head, sees int) {
		list = append(list, d.weighted(run, head, softmax(d.scored(row, run, head, sees))))
	})
	return list
}
