// Package eviction decides which cached keys and values a conversation can do without, so that it stays useful inside a fixed
// budget of memory.
//
// A Policy is asked between tokens whether a layer's cache should shrink, and shrinks it. SlidingWindow knows only ages; the
// others score every slot and keep the best (NewScored is the frame of all of them, and Scorer the one method that a new idea
// has to bring). What a policy must have seen to choose, the cache records while the model runs; see kvcache.Tracking. Policies
// hold no state of their own, so one value may serve any number of sessions at once.
//
// By what they look at: SlidingWindow at ages; KeyDiff at the keys alone; SnapKV, PyramidKV and TOVA at the attention of the
// latest queries; ExpectedAttention at that of queries to come, as the latest foretell them; H2O at all attention so far; Random at
// nothing, to compare with.
//
// A Manager joins a policy to a model's layers and to a Monitor of the system's memory: it evicts when the policy's budget is
// passed, and when memory runs short.
//
// There is no Ada allocator, which shares a layer's slots out among its heads: storage is [slots, kvHeads, headDim], so memory is
// that of the head with most slots, and giving others fewer saves nothing.
//
// Two lengths must not be confused. The position of a token only grows; the number of slots shrinks. Keys carry their position
// within them (RoPE was applied when they were written), so slots can be given up, in each head different ones, and the
// attention of the others stays right.
package eviction
