package attention

import "github.com/antigravity-go/antigravity/quant"

// Pages is how the keys and values of the TileKeys slots of a page lie in its two halves, which have TileKeys·Format.Bytes(headDim)
// bytes each whatever the layout, and the kernels that attend to pages in that layout. What slots hold that nothing was stored to is
// undefined; Attend does not let it matter.
type Pages interface {
	// Store writes keys, or values, of some slots from the first one on. rows has them in the format, one after another. Slots of one
	// half may be stored by several goroutines at the same time, if no two store to the same SharedSlots slots.
	Store(side Side, f quant.Format, headDim int, half []byte, first int, rows []byte)
	// Load is the reverse of Store.
	Load(side Side, f quant.Format, headDim int, rows, half []byte, first int)
	// ValuesOf returns the half that has the keys of a half as values: keys itself, or values, which it writes. Both have the bytes of a half, and so has
	// rows, which it may write to.
	ValuesOf(f quant.Format, headDim int, keys, values, rows []byte) []byte
	// Attend computes a tile of a page, with the bits of the portable Attend.
	Attend(t *Tile)
	// Score computes the products of queries and keys alone, with the bits of the portable Score.
	Score(t *Tile)
}

// Side is one of the halves of a page.
type Side int

// The sides.
const (
	Keys Side = iota
	Values
)

// SharedSlots is how many neighbouring slots, from a multiple of it on, may have bits of the same bytes.
const SharedSlots = 32

// InRows are pages that hold keys and values one slot after another, as the format has them, and the portable Attend.
type InRows struct{}

// Store is Pages.Store.
func (InRows) Store(_ Side, f quant.Format, headDim int, half []byte, first int, rows []byte) {
	copy(half[first*f.Bytes(headDim):], rows)
}

// Load is Pages.Load.
func (InRows) Load(_ Side, f quant.Format, headDim int, rows, half []byte, first int) {
	copy(rows, half[first*f.Bytes(headDim):])
}

// ValuesOf is Pages.ValuesOf.
func (InRows) ValuesOf(_ quant.Format, _ int, keys, _, _ []byte) []byte { return keys }

// Attend is Pages.Attend.
func (InRows) Attend(t *Tile) { Attend(t) }

// Score is Pages.Score.
func (InRows) Score(t *Tile) { Score(t) }
