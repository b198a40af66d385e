package trie

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestTrie(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		var keys []string
		for range rng.IntN(40) {
			b := make([]byte, rng.IntN(6))
			for i := range b {
				b[i] = "ab\x00\xff cdefgh"[rng.IntN(11)]
			}
			keys = append(keys, string(b))
		}
		slices.Sort(keys)
		keys = slices.Compact(keys)
		trie, err := New(keys)
		if err != nil {
			t.Fatal(err)
		}
		prefixes := map[string]bool{"": true}
		for i, key := range keys {
			node := uint32(0)
			for j := range len(key) {
				prefixes[key[:j+1]] = true
				if node = trie.Child(node, key[j]); node == 0 {
					t.Fatalf("%q: %q is not found", keys, key)
				}
			}
			if got := trie.Key(node); got != int32(i) {
				t.Fatalf("%q: %q is key %d, want %d", keys, key, got, i)
			}
		}
		if trie.Len() != len(prefixes) {
			t.Fatalf("%q: %d nodes for %d prefixes", keys, trie.Len(), len(prefixes))
		}
		if trie.Child(0, 'z') != 0 {
			t.Fatal("a byte that begins no key is found")
		}
	}
}

func TestOrder(t *testing.T) {
	for _, keys := range [][]string{{"a", "a"}, {"b", "a"}} {
		if _, err := New(keys); err == nil {
			t.Errorf("%q is not refused", keys)
		}
	}
}
