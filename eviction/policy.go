package eviction

import (
	"errors"
	"fmt"
	"math"

	"github.com/antigravity-go/antigravity/kvcache"
)

// ErrOptions is wrapped by errors about a policy's options, and about a target that it cannot shrink to.
var ErrOptions = errors.New("eviction: bad options")

// Unknown is the memory available if nobody watches it.
const Unknown int64 = math.MaxInt64

// maxBudget is far more slots than any model's context has, and so few that sums of several budgets fit an int of 32 bits.
const maxBudget = 1 << 24

// Policy decides when a layer's cache should shrink, and which slots stay. It changes no cache itself: Cache.Keep moves the slots.
// It is stateless and safe for concurrent use with different caches.
type Policy interface {
	// Name is the policy's name on command lines.
	Name() string
	// Budget is the number of slots to which a cache shrinks without being asked; 0: it never shrinks unasked. If a policy gives
	// layers or heads different shares, it is the mean of the shares.
	Budget() int
	// ShouldEvict reports whether the cache should shrink to the budget now. memAvailable is the memory that the process may still use, in
	// bytes, or Unknown. It is asked for every token, so it goes by numbers that cost nothing, and by no others: Len, HeadLen, Seen,
	// KVHeads and HeadDim. Manager.Due also asks it about caches as they were some tokens ago, with only these numbers known.
	ShouldEvict(v View, memAvailable int64) bool
	// Evict returns the slots that stay when the cache shrinks to targetLen slots in each KV head, or in the mean of the KV heads, in
	// ascending order: a list for each KV head, or, if all heads have the same number of slots, one list for all of them. The result
	// is nil if all slots stay, as they do in a cache that has targetLen slots or fewer. The latest slot always stays.
	Evict(v View, targetLen int) (keep [][]int, err error)
}

// Tracker is a policy for which the caches must keep a record.
type Tracker interface {
	// Tracking is what the caches must record.
	Tracking() kvcache.Tracking
}

// Layered is a policy that gives the layers of a model different shares.
type Layered interface {
	// LayerTarget returns the number of slots for a layer, 0 ≤ layer < layers, if the mean of all layers is targetLen.
	LayerTarget(layer, layers, targetLen int) int
}

// Headed is a policy that gives the KV heads of a layer different shares.
type Headed interface {
	// HeadSlots returns the most slots that one head can hold while the mean of the layer's KV heads is meanLen.
	HeadSlots(kvHeads, meanLen int) int
}

// Contiguous is a policy that keeps the first tokens and the latest, and nothing between them. The first tokens can then be given
// new positions, right before those of the latest (StreamingLLM); see kvcache.Cache's Reanchor.
type Contiguous interface {
	// ProtectedPrefix is how many first tokens stay.
	ProtectedPrefix() int
}

// None never evicts: appending to a full cache is then an error.
var None Policy = none{}

type none struct{}

func (none) Name() string                 { return "none" }
func (none) Budget() int                  { return 0 }
func (none) ShouldEvict(View, int64) bool { return false }

// Evict refuses.
func (none) Evict(v View, targetLen int) ([][]int, error) {
	if targetLen >= v.Len() {
		return nil, nil
	}
	return nil, fmt.Errorf("%w: shrink a cache of %d slots to %d: the policy is none", ErrOptions, v.Len(), targetLen)
}

// checkTarget returns an error if no cache can shrink to targetLen slots.
func checkTarget(name string, targetLen int) error {
	if targetLen < 1 {
		return fmt.Errorf("%w: %s: shrink to %d slots: at least the latest token stays", ErrOptions, name, targetLen)
	}
	return nil
}

const (
	slackShare = 8  // a cache may outgrow its budget by an eighth of it
	maxSlack   = 64 // but by no more slots than this
)

// slack returns by how many slots a cache may outgrow its budget before an eviction, which has to move the slots that stay, is worth
// its cost; at least 1.
func slack(budget int) int { return min(max(budget/slackShare, 1), maxSlack) }
