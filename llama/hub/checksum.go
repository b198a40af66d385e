package hub

import (
	"crypto/sha1"
	"crypto/sha256"
	"fmt"
	"hash"
)

// checksum is the checksum that a file's bytes must have. The zero value says that it is not known.
type checksum struct {
	kind sumKind
	hex  string // in small letters
}

// sumKind is a way to compute checksums.
type sumKind byte

const (
	noSum     sumKind = iota
	sha256Sum         // of the bytes
	gitSum            // SHA-1 as Git names files: of "blob", the size and the bytes
)

// valid reports whether it is a checksum, and so the name of a file without any folder.
func (c checksum) valid() bool {
	for _, r := range c.hex {
		if (r < '0' || r > '9') && (r < 'a' || r > 'f') {
			return false
		}
	}
	return c.kind == sha256Sum && len(c.hex) == 2*sha256.Size || c.kind == gitSum && len(c.hex) == 2*sha1.Size
}

// new returns the computation for a file of a size.
func (c checksum) new(size int64) hash.Hash {
	if c.kind != gitSum {
		return sha256.New()
	}
	h := sha1.New()
	fmt.Fprintf(h, "blob %d\x00", size)
	return h
}
