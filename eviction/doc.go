// Package eviction decides which cached keys and values a conversation can do without, so that it stays useful inside a fixed
// budget of memory.
//
// A Policy is asked between tokens whether a layer's cache should shrink, and then which slots stay; it sees the cache through a
// View, and a Manager moves the slots. SlidingWindow goes by the age of tokens alone. All other policies give every slot a score and
// keep the slots of the highest scores: NewScored makes such a policy of a Scorer, which is all that has to be written for a new
// one, and NewAda one that gives the heads of a layer different shares. What a policy has to know of the past in order to choose, the
// cache records while the model runs; see kvcache.Tracking. Policies hold no state of their own, so one value may serve any number
// of sessions at once.
//
// What the policies choose by: SlidingWindow by age; KeyDiff by the keys alone; SnapKV, PyramidKV, Ada and TOVA by the attention of
// the latest queries; ExpectedAttention by the attention of future queries, as the latest queries let expect it; H2O by all
// attention so far; Random by chance, as something to compare with. The budget is the same for all layers and heads, except that
// PyramidKV gives early layers more than late ones, and Ada gives the heads of a layer what their slots are worth.
//
// A Manager applies a policy to the caches of a model's layers: it evicts when the policy's budget is passed, and when a Monitor
// of the system's memory says that memory is short.
//
// Two numbers must not be confused: a token's position, which only grows from token to token, and the number of slots in use,
// which shrinks with every eviction. A key contains its position, because RoPE was applied before it was cached. Slots can
// therefore be given up, different ones in each head, and the attention to the other slots stays right.
package eviction
