package tokenmask

import "github.com/antigravity-go/antigravity/internal/regular"

// maskCache are masks that languages have found, by the fingerprints of their expressions: many languages have the same patterns and
// formats in them. When there are maxRemembered of them, all are forgotten.
type maskCache struct {
	masks  map[regular.Fingerprint]*mask // masks here do not change: each language uses a copy
	counts map[regular.Fingerprint]*counted
	size   int // bytes
}

const maxRemembered = 48 << 20

// grow makes room for another one.
func (k *maskCache) grow(bytes int) {
	if k.size += bytes; k.masks == nil || k.size > maxRemembered {
		k.masks, k.counts, k.size = map[regular.Fingerprint]*mask{}, map[regular.Fingerprint]*counted{}, bytes
	}
}

// broad is by how many bytes an expression must begin for its mask to be worth remembering.
const broad = 16

// recall returns a language's own copy of a mask that another language, or this one before it forgot, has found, or nil.
func (v *Vocabulary) recall(e regular.Expr, print regular.Fingerprint) *mask {
	v.mu.Lock()
	defer v.mu.Unlock()
	known := v.known.masks[print]
	if known == nil {
		return nil
	}
	c := *known
	c.of = e
	return &c
}

// remember keeps a copy of a mask for other languages.
func (v *Vocabulary) remember(print regular.Fingerprint, found *mask) {
	c := *found
	c.tail, c.asked = nil, 0
	v.mu.Lock()
	defer v.mu.Unlock()
	v.known.grow(c.bytes())
	v.known.masks[print] = &c
}

// recallCount and rememberCount do the same for counted masks, which never change.
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
