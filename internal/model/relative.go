package model

import (
	"fmt"
	"math"

	"github.com/antigravity-go/antigravity/internal/unsupported"
)

// Relative says what attention adds to the score of a token i with a token j, by the bucket of their distance i−j: a number for each head (RelativeBias,
// T5, arXiv 1910.10683), or products of queries with the keys that a layer makes of RelativeEmbedding, and of keys with its queries (DeBERTa, arXiv
// 2006.03654). The zero value: nothing.
type Relative struct {
	Buckets  int  // rows of the table
	Farthest int  // buckets grow with the distance up to this one; 0: each distance has its own
	Signed   bool // buckets are in the order of distances, with that of 0 in the middle. Otherwise those of tokens before come first
	// Of models with RelativeEmbedding: queries are multiplied with the table's keys, and keys with the table's queries.
	ToKeys, ToQueries bool
}

// maxRelative is the longest text of a model with distances.
const maxRelative = 1 << 16

// Bucket returns the bucket of the distance i−j.
func (r *Relative) Bucket(distance int) int {
	if r.Signed {
		middle := r.Buckets / 2
		if r.Farthest > 0 {
			distance = r.logarithmic(distance)
		}
		return min(max(distance+middle, 0), r.Buckets-1)
	}
	half := r.Buckets / 2
	exact, n, first := half/2, distance, 0
	if n < 0 {
		n, first = -n, half
	}
	if n >= exact {
		at := float32(math.Log(float64(float32(n)/float32(exact)))) / float32(math.Log(float64(r.Farthest)/float64(exact)))
		n = min(exact+int(at*float32(half-exact)), half-1)
	}
	return first + n
}

// logarithmic returns a distance as it is counted: as it is up to half of the buckets of one side, and beyond by its logarithm. transformers computes in
// 32 bits.
func (r *Relative) logarithmic(distance int) int {
	middle, far := r.Buckets/4, distance
	if far < 0 {
		far = -far
	}
	if far <= middle {
		return distance
	}
	log := func(x float32) float32 { return float32(math.Log(float64(x))) }
	at := log(float32(far)/float32(middle)) / log(float32(float64(r.Farthest-1)/float64(middle))) * float32(middle-1)
	counted := int(math.Ceil(float64(at))) + middle
	if distance < 0 {
		return -counted
	}
	return counted
}

// validate checks that the sizes fit together.
func (r *Relative) validate(c *Config) error {
	least := 4
	if r.Signed && r.Farthest == 0 {
		least = 2
	}
	switch {
	case r.Buckets == 0:
		return nil
	case r.Buckets < least || r.Buckets > maxRelative || r.Buckets%2 != 0:
		return fmt.Errorf("there are %d buckets of distances, not an even number between %d and %d", r.Buckets, least, maxRelative)
	case r.Farthest != 0 && (r.Farthest <= r.Buckets/4+1 || r.Farthest > MaxContext):
		return fmt.Errorf("%d buckets of distances grow up to the distance %d, not beyond %d", r.Buckets, r.Farthest, r.Buckets/4+1)
	case c.ContextLength > maxRelative:
		return unsupported.Errorf("texts have up to %d tokens; for a model with distances at most %d are implemented", c.ContextLength, maxRelative)
	}
	return nil
}
