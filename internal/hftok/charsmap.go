package hftok

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/antigravity-go/antigravity/internal/aligned"
	"github.com/rivo/uniseg"
)

// charsmap is SentencePiece's precompiled normalizer: a map from short texts to others. It is a double-array trie ("An
// Efficient Digital Search Algorithm by Using a Double-Array Structure", Aoe 1989) in the form that Darts-clone writes.
//
// The map is a stranger's, and only its length has been checked: every index that follows from a unit must be compared with
// the length of units or texts before it is used.
type charsmap struct {
	units []uint32 // the trie's, at least one; the functions below name their fields
	texts string   // the texts that others become, each with a zero byte at its end; a leaf's value is the offset of its text
}

// newCharsmap reads a map: the trie's length in bytes as a uint32, the trie, the texts.
func newCharsmap(data []byte) (*charsmap, error) {
	if len(data) < 4 {
		return nil, fmt.Errorf("precompiled_charsmap: %d bytes; 4 or more would be right", len(data))
	}
	n := binary.LittleEndian.Uint32(data)
	data = data[4:]
	if uint64(n) > uint64(len(data)) || n%4 != 0 || n == 0 {
		return nil, fmt.Errorf("precompiled_charsmap: a trie of %d bytes in %d bytes", n, len(data))
	}
	c := &charsmap{units: make([]uint32, n/4), texts: string(data[n:])}
	for i := range c.units {
		c.units[i] = binary.LittleEndian.Uint32(data[4*i:])
	}
	return c, nil
}

// The fields of a unit.
func hasLeaf(unit uint32) bool     { return unit>>8&1 == 1 }
func leafValue(unit uint32) uint32 { return unit &^ (1 << 31) }
func label(unit uint32) uint32     { return unit & (1<<31 | 0xFF) }
func offset(unit uint32) uint32    { return unit >> 10 << (unit & (1 << 9) >> 6) }

// lookup finds the shortest text of the map that s begins with, as Hugging Face's library does, and returns the text that it
// becomes.
func (c *charsmap) lookup(s string) (to string, ok bool) {
	at := offset(c.units[0])
	for i := range len(s) {
		at ^= uint32(s[i])
		if s[i] == 0 || uint64(at) >= uint64(len(c.units)) || label(c.units[at]) != uint32(s[i]) {
			return "", false
		}
		unit := c.units[at]
		at ^= offset(unit)
		if !hasLeaf(unit) {
			continue
		}
		if uint64(at) >= uint64(len(c.units)) {
			return "", false
		}
		value := leafValue(c.units[at])
		if uint64(value) > uint64(len(c.texts)) {
			return "", false
		}
		to = c.texts[value:]
		if end := strings.IndexByte(to, 0); end >= 0 {
			to = to[:end]
		}
		return to, true
	}
	return "", false
}

// maxGrapheme is the length in bytes from which on grapheme clusters are not looked up as a whole.
const maxGrapheme = 6

// normalize replaces each grapheme cluster (what a reader takes for one character) that the map has, and in other clusters
// each character that the map has. It stops when the result is longer than limit bytes.
func (c *charsmap) normalize(s string, limit int) string {
	var b bytes.Buffer
	state := -1
	for rest := s; rest != "" && b.Len() <= limit; {
		var grapheme string
		grapheme, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if len(grapheme) < maxGrapheme {
			if to, ok := c.lookup(grapheme); ok {
				b.WriteString(to)
				continue
			}
		}
		for grapheme != "" && b.Len() <= limit {
			_, n := utf8.DecodeRuneInString(grapheme)
			if to, ok := c.lookup(grapheme[:n]); ok {
				b.WriteString(to)
			} else {
				b.WriteString(grapheme[:n])
			}
			grapheme = grapheme[n:]
		}
	}
	return valid(b.String())
}

// track is normalize for a text that knows its places.
func (c *charsmap) track(t *aligned.Text) {
	var edits []aligned.Edit
	state, changed := -1, false
	replace := func(old, by string) {
		more := utf8.RuneCountInString(by) - utf8.RuneCountInString(old)
		for _, r := range by {
			edits = append(edits, aligned.Edit{Rune: r})
		}
		for i := range more { // the last ones come on top
			edits[len(edits)-1-i].Change = 1
		}
		if more < 0 && len(edits) > 0 {
			edits[len(edits)-1].Change += more
		}
		changed = true
	}
	for rest := t.Text; rest != ""; {
		var grapheme string
		grapheme, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if len(grapheme) < maxGrapheme {
			if to, ok := c.lookup(grapheme); ok {
				replace(grapheme, to)
				continue
			}
		}
		for _, r := range grapheme {
			if to, ok := c.lookup(string(r)); ok {
				replace(string(r), to)
			} else {
				edits = append(edits, aligned.Edit{Rune: r})
			}
		}
	}
	if changed {
		t.Transform(edits, 0)
	}
}
