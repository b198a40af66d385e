//go:build (amd64 || arm64) && !purego

package attention

import "github.com/antigravity-go/antigravity/asm/internal/vectors"

// MergeBy returns Merge with the assembly of a unit.
func MergeBy(u *vectors.Unit) func(dst, src *Partial) {
	return func(dst, src *Partial) {
		if src.Sum == 0 || dst.Sum == 0 || len(src.Out) == 0 {
			Merge(dst, src)
			return
		}
		a, b := dst.join(src)
		u.Axpby(dst.Out, src.Out, b, a)
	}
}
