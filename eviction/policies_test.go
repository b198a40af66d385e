package eviction_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/antigravity-go/antigravity/eviction"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/tensor"
)

// definition is what a policy's paper says: the score of each slot, [kvHeads][Len] or one row for all heads.
type definition func(a *account) [][]float64

// perHead lets a score be defined for one KV head.
func perHead(score func(a *account, h int) []float64) definition {
	return func(a *account) (scores [][]float64) {
		for h := range kvHeads {
			scores = append(scores, score(a, h))
		}
		return scores
	}
}

// receivedPerQuery is H2O's: attention received, for each query that could see the token.
func receivedPerQuery(a *account, h int) (scores []float64) {
	for _, p := range a.slots[h] {
		scores = append(scores, a.tokens[p].received[h]/float64(len(a.tokens)-p))
	}
	return scores
}

// observed is SnapKV's: the mean attention of the latest queries and of the heads, and of two neighbours on each side.
func observed(window int) definition {
	return perHead(func(a *account, h int) []float64 {
		mean := make([]float64, len(a.slots[h]))
		for p := len(a.tokens) - window; p < len(a.tokens); p++ {
			for head := h * group; head < (h+1)*group; head++ {
				for slot, w := range a.attention(p, head) {
					mean[slot] += w / float64(window*group)
				}
			}
		}
		scores := make([]float64, len(mean))
		for i := range len(mean) - window { // the window itself is pinned, and no neighbour
			for j := i - 2; j <= i+2; j++ {
				if j >= 0 && j < len(mean)-window {
					scores[i] += mean[j] / 5
				}
			}
		}
		return scores
	})
}

// latestQuery is TOVA's: the latest query's attention, the mean of all heads.
func latestQuery(a *account) [][]float64 {
	mean := make([]float64, len(a.slots[0]))
	for head := range heads {
		for slot, w := range a.attention(len(a.tokens)-1, head) {
			mean[slot] += w / heads
		}
	}
	return [][]float64{mean}
}

// difference is KeyDiff's: minus the cosine of a key and the mean of unit keys.
func difference(a *account, h int) (scores []float64) {
	mean := make([]float64, headDim)
	for _, p := range a.slots[h] {
		k := a.tokens[p].k[h]
		for i := range mean {
			mean[i] += k[i] / math.Sqrt(inner(k, k)) / float64(len(a.slots[h]))
		}
	}
	for _, p := range a.slots[h] {
		k := a.tokens[p].k[h]
		scores = append(scores, -inner(k, mean)/math.Sqrt(inner(k, k)*inner(mean, mean)))
	}
	return scores
}

// anticipated is Expected Attention's: softmax(k·μ/√d + kᵀΣk/2d)·|v|, the mean over the heads, with the moments of the latest
// queries before RoPE turned by the mean rotation of the next 512 positions.
func anticipated(window int) definition {
	return perHead(func(a *account, h int) []float64 {
		scores := make([]float64, len(a.slots[h]))
		n := min(window, len(a.slots[h])) // queries that a cache returns are never more than its slots
		for head := h * group; head < (h+1)*group; head++ {
			queries := make([][]float64, n)
			for i := range queries {
				p := len(a.tokens) - n + i
				before := rotate(a.tokens[p].q[head], -float64(p))
				queries[i] = make([]float64, headDim)
				for future := range 512 {
					for j, v := range rotate(before, float64(len(a.tokens)+future)) {
						queries[i][j] += v / 512
					}
				}
			}
			mean, covariance := make([]float64, headDim), make([]float64, headDim*headDim)
			for _, q := range queries {
				for i := range q {
					mean[i] += q[i] / float64(n)
				}
			}
			for _, q := range queries {
				for i := range covariance {
					j, k := i/headDim, i%headDim
					covariance[i] += (q[j] - mean[j]) * (q[k] - mean[k]) / float64(n)
				}
			}
			logits := make([]float64, len(scores))
			for slot, p := range a.slots[h] {
				k := a.tokens[p].k[h]
				logits[slot] = inner(k, mean) / math.Sqrt(headDim)
				for i, c := range covariance {
					logits[slot] += k[i/headDim] * c * k[i%headDim] / (2 * headDim)
				}
			}
			for slot, w := range softmax(logits) {
				v := a.tokens[a.slots[h][slot]].v[h]
				scores[slot] += w * math.Sqrt(inner(v, v)) / group
			}
		}
		return scores
	})
}

// policies pairs each policy that chooses by scores with its definition and with what it pins.
var policies = []struct {
	name           string
	options        eviction.Options
	score          definition
	prefix, latest int // latest 0: half
}{
	{"h2o", eviction.Options{Budget: 20}, perHead(receivedPerQuery), 0, 0},
	{"h2o", eviction.Options{Budget: 20, ProtectedPrefix: 3}, perHead(receivedPerQuery), 3, 0},
	{"snapkv", eviction.Options{Budget: 20, Observation: 4}, observed(4), 0, 4},
	{"snapkv", eviction.Options{Budget: 20, ProtectedPrefix: 2}, observed(10), 2, 10},
	{"pyramidkv", eviction.Options{Budget: 20, Observation: 1}, observed(1), 0, 1},
	{"tova", eviction.Options{Budget: 20}, latestQuery, 0, 1},
	{"tova", eviction.Options{Budget: 20, ProtectedPrefix: 4}, latestQuery, 4, 1},
	{"keydiff", eviction.Options{Budget: 20}, perHead(difference), 0, 1},
	{"expected", eviction.Options{Budget: 20}, anticipated(20), 4, 1},
	{"expected", eviction.Options{Budget: 100}, anticipated(64), 4, 1},
	{"expected", eviction.Options{Budget: 20, Observation: 7, ProtectedPrefix: -1}, anticipated(7), 0, 1},
}

// TestDefinitions lets a cache grow by chunks and tokens, and shrink now and then.
func TestDefinitions(t *testing.T) {
	effort.Turn(t, 8)
	for _, c := range policies {
		t.Run(fmt.Sprintf("%s/%+v", c.name, c.options), func(t *testing.T) {
			p, err := eviction.ByName(c.name, c.options)
			if err != nil {
				t.Fatal(err)
			}
			a := newAccount(t, p, tensor.F32, 100)
			for _, round := range []struct{ chunks, chunk, target int }{
				{1, 60, 30}, {1, 7, 30}, {20, 1, 15}, {1, 1, 15}, {3, 20, 40}, {1, 40, 79}, {1, 1, 11}, {1, 1, 11}, {1, 1, 10},
			} {
				for range round.chunks {
					a.add(round.chunk)
				}
				scores := c.score(a)
				if c.name == "expected" {
					compareScores(a, p.(eviction.Scorer), scores)
				}
				latest := c.latest
				if latest == 0 {
					latest = round.target / 2
				}
				prefix := min(c.prefix, round.target-latest) // where both do not fit, the latest stay
				plain := a.chosen(p, round.target)
				a.keep(scores, round.target, prefix, latest)
				if !slices.EqualFunc(plain[:], a.slots[:], slices.Equal) {
					t.Fatalf("of a plain view the tokens %v stay, want %v", plain, a.slots)
				}
				a.evict(p, round.target)
				a.compare()
			}
		})
	}
}

// compareScores holds scores against their definition, as shares of the largest.
func compareScores(a *account, s eviction.Scorer, want [][]float64) {
	a.Helper()
	got, err := s.Score(a.cache)
	if err != nil {
		a.Fatal(err)
	}
	for h, row := range want {
		for slot, v := range row {
			if e := math.Abs(float64(got[h][slot])-v) / (math.Abs(v) + 1e-6); e > 1e-4 {
				a.Errorf("%d slots: head %d, slot %d: %g, want %g", a.cache.Len(), h, slot, got[h][slot], v)
			}
		}
	}
}
