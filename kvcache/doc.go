// Package kvcache holds what a model remembers of the tokens that it has seen: keys and values, and the states of recurrent layers.
// Package llama uses it for every session. Programs need it only to write an eviction policy, or to compute layers themselves.
//
// A Store is the memory of a model's caches on one device, in pages. A Cache holds the keys and values of one layer of one conversation, in
// a list of pages for each KV head. A slot of a page holds the key and the value of one token; of a head's slots the first HeadLen are in
// use. A Batch is what one layer does in a step for the caches of several conversations.
//
// # An example
//
// A page has 128 slots (backend.PageSlots). A model with 2 KV heads computes a prompt of 200 tokens. Each head of a layer's cache then has
// two pages, a and b, and 200 slots in use:
//
//	            page a           page b
//	slots       0 … 127          128 … 199      Len 200, Seen 200
//	tokens      0 … 127          128 … 199
//
// Clone shares the pages: both caches have a and b, and the store counts two references to each. A token that the copy appends belongs in
// slot 200, in page b. The copy therefore makes a copy of b first, b', and writes to b'. Page a stays shared:
//
//	cache       a, b             Len 200, Seen 200
//	copy        a, b'            Len 201, Seen 201
//
// An eviction policy decides that the copy keeps the tokens 0 to 3 and the latest 96 in both heads: Keep moves them to the front. The copy
// needs one page then. Since page a is shared, the copy writes to a copy of it, a', and gives its references to a and b' back:
//
//	            page a'
//	slots       0 … 3    4 … 99                 Len 100, Seen 201
//	tokens      0 … 3    105 … 200
//
// Len has shrunk, and Seen has not: the next token has position 201 and comes to slot 100. RoPE was applied to each key before the key was
// stored, so that every key carries its token's position with it, and attention stays right.
//
// # What a cache can do besides
//
// Truncate forgets the latest tokens, or all, and TakeBack undoes the latest step exactly. Save and Restore copy a cache to another process
// or device.
//
// Which slots to give up is the business of package eviction; a Cache never sees a policy. Policies may need more than keys and values:
// Track makes a cache record which token is in which slot and how much attention the slots received. The record belongs to the cache
// because it must move with the slots.
//
// A cache with a window (Store.NewFor) is for a layer that attends to the latest positions only. It gives the pages before the window back
// by itself, and is never shown to a policy.
//
// # Recurrent layers
//
// A State is what a layer remembers that has no keys and values, but tensors of a fixed size, which each token changes. Its memory is the
// Store's, too, and copies share it. States is for States what Batch is for Caches. A State goes back to snapshots: its page has an
// example.
package kvcache
