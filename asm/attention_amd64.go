//go:build !purego

package asm

// Merge is the unit's merge.
func (u *vectorUnit) Merge(dst, src *Partial) {
	if src.Sum == 0 || dst.Sum == 0 || len(src.Out) == 0 {
		merge(dst, src)
		return
	}
	a, b := dst.join(src)
	out := dst.Out[:len(src.Out)]
	u.axpby(&out[0], &src.Out[0], len(out), b, a)
}
