// Package eviction decides which cached keys and values a conversation can do without, so that it stays useful inside a fixed budget of
// memory. Give a policy to llama.SessionOptions.Eviction if conversations grow longer than memory allows; without one a full cache is an
// error.
//
// A Policy is asked between tokens whether a layer's cache should shrink, and then which slots stay; it sees the cache through a View, and
// a Manager moves the slots. Policies hold no state of their own, so one value may serve any number of sessions at once.
//
// Each policy keeps the latest slots, and of the earlier ones those in the second column. The third column has what gets budgets of its own:
//
//	constructor            earlier slots that stay                                      budgets differ by
//	NewSlidingWindow       that are first
//	NewKeyDiff             with the keys least like the others
//	NewSnapKV              that get the most attention from the latest queries
//	NewPyramidKV           the same                                                     layers
//	NewAda                 the same                                                     heads
//	NewTOVA                the same, from the latest query alone
//	NewExpectedAttention   that future queries can be expected to attend to
//	NewH2O                 that have received the most attention so far
//	NewKVzip               that a second reading of the same text needs
//	NewRandom              that chance chooses: what others must be better than
//
// The budget is the same for all layers and heads, except that PyramidKV gives early layers more slots than late ones, and Ada gives the
// heads of a layer what their slots are worth. All policies but the sliding window give every slot a score: to write another one, write a
// Scorer and give it to NewScored. What a scorer has to know of the past, the cache records while the model runs; see kvcache.Tracking.
//
// A Manager applies a policy to the caches of a model's layers: it evicts when the policy's budget is passed, and when a Monitor of the
// system's memory says that memory is short. Package eviction/monitor has such monitors.
//
// Two numbers must not be confused: a token's position, which only grows from token to token, and the number of slots in use, which shrinks
// with every eviction. A key contains its position, because RoPE was applied before it was cached. Slots can therefore be given up,
// different ones in each head, and the attention to the other slots stays right.
package eviction
