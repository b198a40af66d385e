package llama

import (
	"fmt"

	"github.com/antigravity-go/antigravity/eviction"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/kvcache"
	"github.com/antigravity-go/antigravity/llama/internal/engine"
	"github.com/antigravity-go/antigravity/tensor"
)

// SessionOptions describes a conversation's memory. Nil and the zero value are the good defaults.
type SessionOptions struct {
	// Capacity is the capacity of the cache in tokens. 0 means the model's context, at most 4096, or as many as the eviction policy needs
	// for its budget.
	Capacity int
	// KV is the type of the cached keys and values: F32, F16 (the default), Q8_0 or Q4_0.
	KV tensor.DType
	// Chunk is the most tokens of a prompt that are computed at once. A larger Chunk is faster and needs more memory. It is at most 512, or the
	// number that is best for the backend if that is larger. 0 means that number, on the CPU 256. Without an eviction policy results do not depend on it. With one
	// 0 means 256 on all backends, it is at most a quarter of the budget, and the policy is asked after each chunk, even if other sessions
	// that compute at the same time make a chunk take several passes.
	Chunk int

	// Adapter changes what the model's linear layers compute, for this session alone; nil: nothing does. It must be of this model, or of
	// one of the same configuration, and stay open as long as the session.
	Adapter *Adapter
	// AdapterScale is what the adapter's changes are multiplied by, at most MaxAdapterScale in magnitude; 0: 1. For no changes at all, as
	// at the end of a slider, there is AdapterOff.
	AdapterScale float32

	// ImageTokens bounds the soft tokens of each image of Chat's conversations, unless TemplateOptions.ImageTokens does; 0: the model's default.
	ImageTokens int

	// Snapshots is how many earlier states of the recurrent layers a conversation keeps to go back to, if the model has such layers; 0
	// means as many as take 256 MiB, but at least 4 and at most 32, and NoSnapshots means 0. Other models need no snapshots. A recurrent
	// layer cannot forget single tokens: Truncate, and a prompt that shares only the beginning of the conversation, go back to the latest
	// snapshot before, and compute the tokens from there on again. Snapshots are made at the end of a prompt, at the ends of its messages,
	// and where conversations have gone apart; if these are too many, those go first that save least, and those where conversations have
	// gone apart last. Each takes the memory of the layers' states, however long the conversation is. No result depends on snapshots.
	Snapshots int
	// SnapshotEvery is the number of tokens after which a further snapshot is made in any case; 0: never.
	SnapshotEvery int
	// SaveSnapshots makes Save write the snapshots, too. Otherwise a restored conversation that goes back is computed from its beginning.
	SaveSnapshots bool

	// Eviction decides which tokens the cache forgets. nil: it forgets nothing, and a full cache is ErrContextFull, never silent
	// truncation.
	Eviction eviction.Policy
	// EvictAfterPrompt waits for the end of a prompt before evicting, so that the policy chooses with everything in sight; the
	// whole prompt must then fit into Capacity. Otherwise the cache is kept within its budget during the prompt too.
	EvictAfterPrompt bool
	// Positions says what happens at the end of the model's context.
	Positions Positions
	// Monitor with MemoryThreshold makes the cache shrink when memory runs short, to three quarters each time; without a
	// policy, generation then ends with an error that wraps ErrContextFull and eviction.ErrPressure.
	Monitor eviction.Monitor
	// MemoryThreshold is the number of bytes available under which memory is short.
	MemoryThreshold int64
}

// Positions says what happens when the position of the next token passes the context that the model was trained for.
type Positions int

const (
	// Strict refuses: ErrContextFull.
	Strict Positions = iota
	// ReanchorSinks goes on without end, with a sliding window: at each eviction the protected first tokens get the positions
	// just before the window (StreamingLLM, arXiv 2309.17453), so that no distance between cached tokens ever exceeds the
	// window. The window must be shorter than the context.
	ReanchorSinks
)

// The defaults of SessionOptions.
const (
	defaultCapacity = 4096
	defaultChunk    = engine.DefaultChunk
	defaultKV       = tensor.F16
)

// NoSnapshots is SessionOptions.Snapshots for conversations that hardly ever go back.
const NoSnapshots = -1

// complete fills in the defaults for a model, refuses options that cannot work, and returns the manager of evictions. chunk is the number
// of a prompt's tokens that the model's passes compute best.
func (o *SessionOptions) complete(c *model.Config, chunk int) (*eviction.Manager[*kvcache.Cache], error) {
	manager, err := eviction.NewManager[*kvcache.Cache](o.Eviction, eviction.ManagerOptions{Monitor: o.Monitor, Threshold: o.MemoryThreshold})
	if err != nil {
		return nil, fmt.Errorf("SessionOptions: %w", err)
	}
	budget := manager.Policy().Budget()
	if o.KV == 0 {
		o.KV = defaultKV
	}
	if o.Chunk == 0 {
		o.Chunk = defaultChunk // evictions depend on it, and on no backend
		if manager.Policy() == eviction.None {
			o.Chunk = chunk
		}
	}
	if o.Chunk < 1 {
		return nil, &ParamError{"SessionOptions.Chunk", o.Chunk, "positive, or 0 for the default"}
	}
	if o.ImageTokens < 0 {
		return nil, &ParamError{"SessionOptions.ImageTokens", o.ImageTokens, "positive, or 0 for the model's default"}
	}
	if o.Snapshots < NoSnapshots {
		return nil, &ParamError{"SessionOptions.Snapshots", o.Snapshots, "positive, 0 for the default, or NoSnapshots"}
	}
	if o.SnapshotEvery < 0 {
		return nil, &ParamError{"SessionOptions.SnapshotEvery", o.SnapshotEvery, "positive, or 0"}
	}
	if o.EvictAfterPrompt && manager.Policy() == eviction.None {
		return nil, &ParamError{"SessionOptions.EvictAfterPrompt", true, "false, or SessionOptions.Eviction a policy that can evict"}
	}
	need := 0 // slots that each cache must have for the policy to keep it within the budget
	if budget > 0 && !o.EvictAfterPrompt {
		o.Chunk = min(o.Chunk, max(budget/4, 1))
		need = manager.Slots(c.Layers, c.KVHeads, o.Chunk)
	}
	if o.Capacity == 0 {
		o.Capacity = min(c.ContextLength, defaultCapacity)
		if need > 0 {
			o.Capacity = min(need, c.ContextLength)
		}
	}
	if o.Adapter != nil && o.AdapterScale == 0 {
		o.AdapterScale = 1
	}
	switch {
	case o.Adapter == nil && o.AdapterScale != 0:
		return nil, &ParamError{"SessionOptions.AdapterScale", o.AdapterScale, "0 where there is no SessionOptions.Adapter"}
	case !isAdapterScale(o.AdapterScale):
		return nil, &ParamError{"SessionOptions.AdapterScale", o.AdapterScale, wantAdapterScale}
	case o.Capacity < 1 || o.Capacity > c.ContextLength:
		return nil, &ParamError{"SessionOptions.Capacity", o.Capacity, fmt.Sprintf("1 to %d tokens, for which the model was trained", c.ContextLength)}
	case need > o.Capacity && o.Capacity < c.ContextLength:
		return nil, &ParamError{"SessionOptions.Capacity", o.Capacity, fmt.Sprintf("at least %d, which the eviction policy %s with a budget of %d needs",
			min(need, c.ContextLength), manager.Policy().Name(), budget)}
	}
	for layer := range c.Layers {
		if headDim := c.Layer(layer).HeadDim; o.KV.Quantized() && headDim%o.KV.BlockLen() != 0 {
			return nil, &ParamError{"SessionOptions.KV", o.KV, fmt.Sprintf("f32 or f16: blocks of %d do not fit heads of %d", o.KV.BlockLen(), headDim)}
		}
	}
	return manager, o.checkPositions(c, manager.Policy(), need)
}

// checkPositions refuses ReanchorSinks for a policy that is not a sliding window, and for a window that needs more slots than the
// model's context has.
func (o *SessionOptions) checkPositions(c *model.Config, policy eviction.Policy, need int) error {
	if o.Positions == Strict {
		return nil
	}
	if o.Positions != ReanchorSinks {
		return &ParamError{"SessionOptions.Positions", int(o.Positions), "Strict or ReanchorSinks"}
	}
	if _, ok := policy.(eviction.Contiguous); !ok {
		return &ParamError{"SessionOptions.Positions", "ReanchorSinks", "Strict, since the eviction policy " + policy.Name() + " is no sliding window"}
	}
	if o.EvictAfterPrompt {
		return &ParamError{"SessionOptions.EvictAfterPrompt", true, "false where SessionOptions.Positions is ReanchorSinks, which needs evictions during a prompt"}
	}
	if need > c.ContextLength {
		return &ParamError{"SessionOptions.Eviction", policy.Name(), fmt.Sprintf("a shorter window where SessionOptions.Positions is ReanchorSinks: this one needs %d slots, and the context is %d", need, c.ContextLength)}
	}
	return nil
}
