package tokenmask

import "github.com/antigravity-go/antigravity/internal/regular"

// maskCache are masks that languages have found, by the fingerprints of their expressions: many languages have the same patterns and
// formats in them. When they take more than maxRemembered bytes, all are forgotten. Languages keep those that they use.
type maskCache struct {
	masks  map[regular.Fingerprint]*mask
	counts map[regular.Fingerprint]*counted
	ends   map[uint64]*ends // by a hash of their nodes
	size   int              // bytes
}

const maxRemembered = 12 << 20

// grow makes room for another one.
func (k *maskCache) grow(bytes int) {
	const entryBytes = 64
	if k.size += entryBytes + bytes; k.masks == nil || k.size > maxRemembered {
		*k = maskCache{map[regular.Fingerprint]*mask{}, map[regular.Fingerprint]*counted{}, map[uint64]*ends{}, entryBytes + bytes}
	}
}

// recall returns a mask that another language, or this one before it forgot, has found, or nil.
func (v *Vocabulary) recall(print regular.Fingerprint) *mask {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.known.masks[print]
}

// remember keeps a mask for other languages.
func (v *Vocabulary) remember(print regular.Fingerprint, found *mask) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.known.grow(found.bytes())
	v.known.masks[print] = found
}

// recallCount and rememberCount do the same for counted masks.
func (v *Vocabulary) recallCount(print regular.Fingerprint) *counted {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.known.counts[print]
}

func (v *Vocabulary) rememberCount(print regular.Fingerprint, c *counted) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.known.grow(c.bytes())
	v.known.counts[print] = c
}
