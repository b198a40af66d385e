package llama

import (
	"context"
	"fmt"
	"math"

	"github.com/antigravity-go/antigravity/eviction"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/kvcache"
	"github.com/antigravity-go/antigravity/llama/internal/engine"
)

// limits are what a conversation with some options may become: which tokens, and how many. They do not change.
type limits struct {
	options *SessionOptions                   // with the defaults filled in
	manager *eviction.Manager[*kvcache.Cache] // decides when slots are evicted, and which
	config  *model.Config
	home    *Model // that opened the conversation: its attachments are the conversation's, wherever this moves
}

// newLimits fills in the defaults of options for a model and refuses options that cannot work.
func newLimits(o *SessionOptions, m *Model) (limits, error) {
	manager, err := o.complete(m.config, m.batch.Chunk())
	return limits{o, manager, m.config, m}, err
}

// capacity returns how many tokens a conversation can hold; see Session.Capacity.
func (l *limits) capacity() int {
	capacity := l.config.ContextLength
	if l.options.Positions == ReanchorSinks {
		capacity = math.MaxInt
	}
	if !l.bounded() {
		capacity = min(capacity, l.options.Capacity)
	}
	return capacity
}

// room returns how many tokens can still be appended to a conversation of tokens tokens that has slots slots in use: by the model's context,
// unless sinks are reanchored, and by the caches' free slots, unless evictions free more.
func (l *limits) room(tokens, slots int) int {
	room := math.MaxInt
	if l.options.Positions == Strict {
		room = l.config.ContextLength - tokens
	}
	if !l.bounded() {
		room = min(room, l.options.Capacity-slots)
	}
	return max(room, 0) // a restored conversation may be longer than these options would have let it become
}

// bounded reports whether the policy keeps the cache within its capacity by itself, during prompts too, so that a full cache never
// limits the conversation.
func (l *limits) bounded() bool {
	return l.manager.Policy().Budget() > 0 && !l.options.EvictAfterPrompt
}

// sinks returns how many tokens at the beginning of the conversation a sliding window protects: those that ReanchorSinks gives
// new positions. It is 0 for other policies.
func (l *limits) sinks() int {
	if p, ok := l.manager.Policy().(eviction.Contiguous); ok {
		return p.ProtectedPrefix()
	}
	return 0
}

// check refuses tokens that neither are in the vocabulary nor stand for images, and more tokens than a conversation has room for that has had tokens and
// slots in use.
func (l *limits) check(t, had []Token, slots int) error {
	largest := Token(0)
	for i, token := range t {
		if largest = max(largest, token); token < 0 {
			return &ParamError{fmt.Sprintf("token %d", i), int(token), fmt.Sprintf("0 to %d, the vocabulary's", l.config.VocabSize-1)}
		}
	}
	if int(largest) >= l.config.VocabSize {
		if err := checkImages(l, t, had); err != nil {
			return err
		}
	}
	if room := l.room(len(had), slots); len(t) > room {
		return l.full(len(had), len(t), room)
	}
	return nil
}

// full returns the error of want tokens that do not fit after have tokens, since there is room for fewer.
func (l *limits) full(have, want, room int) error {
	e := &ContextFullError{Have: have, Want: want, Room: room, Context: l.config.ContextLength}
	if !l.bounded() {
		e.Capacity = l.options.Capacity
	}
	return e
}

// undisturbed returns how many of the next n tokens can be computed together before the policy evicts, the first of them not counted:
// tokens after an eviction would be computed in vain. caches are those that the policy chooses slots of.
func (l *limits) undisturbed(caches []*kvcache.Cache, n int) int {
	for i := range n {
		if l.manager.Due(caches, -1-i) {
			return i
		}
	}
	return n
}

// newMemory makes an empty memory on m's device, with the records that the eviction policy needs. long says that the conversation has the angles of
// long ones.
func (l *limits) newMemory(m *Model, long bool) (*engine.Memory, error) {
	o := engine.MemoryOptions{KV: l.options.KV, Capacity: l.options.Capacity, Long: long, Policy: l.manager.Policy().Name(), Snapshots: l.options.Snapshots, SnapshotEvery: l.options.SnapshotEvery}
	tracking, track := l.manager.Tracking()
	if l.options.Positions == ReanchorSinks {
		track, tracking.Anchors = true, l.sinks()
	}
	if track {
		o.Track = &tracking
	}
	return m.weights.NewMemory(&o)
}

// adapterOn returns the adapter's matrices on m's device; nil if there is no adapter.
func (o *SessionOptions) adapterOn(ctx context.Context, m *Model) (*engine.Adapter, error) {
	if o.Adapter == nil {
		return nil, nil
	}
	return o.Adapter.weightsOn(ctx, m)
}
