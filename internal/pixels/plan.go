package pixels

import "fmt"

// Plan is what a Processor does with a picture of some size. It is found without the picture's pixels.
type Plan struct {
	Resizes []Resized // in order
	Views   []View    // what the tower sees, in the order of transformers' pixel_values

	// TileRows and TileColumns are the rows and columns of tiles, if the picture is cut into more than one. The tiles are the first
	// TileRows·TileColumns views, row by row, and a view of the whole picture may follow.
	TileRows, TileColumns int
}

// Resized is a picture with another size.
type Resized struct {
	From          int // 0: the picture; i: the result of Resizes[i−1]
	Width, Height int
}

// View is one picture for the tower: a part of a Resized that is cut into patches.
type View struct {
	From          int // as in Resized
	X, Y          int // of its upper left corner
	Width, Height int

	Rows, Columns           int // of patches
	TokenRows, TokenColumns int // of soft tokens, after the tower has merged patches
}

// Tokens returns how many soft tokens the tower makes of the picture.
func (p *Plan) Tokens() (n int) {
	for _, v := range p.Views {
		n += v.TokenRows * v.TokenColumns
	}
	return n
}

// Patches returns how many patches the tower reads.
func (p *Plan) Patches() (n int) {
	for _, v := range p.Views {
		n += v.Rows * v.Columns
	}
	return n
}

// mostPixels bounds the pixels of a Resized, whatever a configuration says: Qwen3-VL's largest picture has a quarter of that.
const mostPixels = 1 << 26

// check returns an error if the plan's pictures are empty or too large.
func (p *Plan) check(width, height int) error {
	for _, r := range p.Resizes {
		if r.Width < 1 || r.Height < 1 || r.Width > mostPixels/r.Height {
			return fmt.Errorf("a picture of %d×%d pixels would become %d×%d, at most %d pixels are possible", width, height, r.Width, r.Height, mostPixels)
		}
	}
	return nil
}

// whole plans a picture that is resized once and seen as it is.
func whole(width, height int) Plan {
	return Plan{Resizes: []Resized{{0, width, height}}, Views: []View{{From: 1, Width: width, Height: height}}}
}

// tiled plans a picture that is resized to tiles of columns×rows.
func tiled(tile, columns, rows int) (p Plan) {
	p = Plan{Resizes: []Resized{{0, tile * columns, tile * rows}}, TileRows: rows, TileColumns: columns}
	for y := range rows {
		for x := range columns {
			p.Views = append(p.Views, View{From: 1, X: x * tile, Y: y * tile, Width: tile, Height: tile})
		}
	}
	return p
}
