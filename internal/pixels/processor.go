package pixels

import (
	"github.com/antigravity-go/antigravity/internal/parallel"
	"github.com/antigravity-go/antigravity/internal/picture"
)

// Processor makes of a picture the values that a tower reads. It is a value that does not change; any number of goroutines may use it.
// [New] and [Read] make one.
type Processor struct {
	kind   string
	facts  Facts
	sizer  sizer
	filter Filter
	cut    cut
	levels [3][256]float32 // the value of each byte of red, green and blue
}

// cut says how a view becomes patches, and patches soft tokens.
type cut struct {
	patch  int  // pixels of a patch's side
	merge  int  // patches of a soft token's side
	frames int  // how often a patch repeats its pixels, for towers that read two frames
	blocks bool // patches of a soft token follow each other; otherwise patches come row by row
	last   bool // the colour is a patch's innermost dimension; otherwise its outermost
}

// Kind returns the name of the tower, as a GGUF file's clip.projector_type has it.
func (p *Processor) Kind() string { return p.kind }

// Facts returns what the processor was made of, with what follows from it.
func (p *Processor) Facts() Facts { return p.facts }

// PatchValues returns how many values a patch has.
func (p *Processor) PatchValues() int { return 3 * p.cut.frames * p.cut.patch * p.cut.patch }

// Once returns a processor that writes the pixels of a patch once, for a tower that has added the matrices of its two frames up: the
// sum is the same, and a patch has half the values.
func (p *Processor) Once() *Processor {
	q := *p
	q.cut.frames = 1
	return &q
}

// Plan returns what Process does with a picture of width×height pixels, both at least 1. tokens bounds the picture's soft tokens; 0 is
// the configuration's own bound. It is an error if the picture cannot be shown to the tower within the bound. A tower that makes as many
// soft tokens of each picture, or of each tile, has a least bound.
func (p *Processor) Plan(width, height, tokens int) (Plan, error) {
	plan, err := p.sizer.plan(width, height, tokens)
	if err == nil {
		err = plan.check(width, height)
	}
	if err != nil {
		return Plan{}, err
	}
	for i := range plan.Views {
		v := &plan.Views[i]
		v.Rows, v.Columns = v.Height/p.cut.patch, v.Width/p.cut.patch
		v.TokenRows, v.TokenColumns = v.Rows/p.cut.merge, v.Columns/p.cut.merge
	}
	return plan, nil
}

// Values are the patches of a picture.
type Values struct {
	Plan
	// Pixels are the patches' normalised values, [Patches, PatchValues]. The views come in the plan's order, their patches in the order
	// of the tower. A patch has its values as [colour, frame, row, column], or as [row, column, colour] for Gemma 4 and LFM2-VL.
	Pixels []float32
}

// Process returns the values of a picture with at most tokens soft tokens, as Plan has it. It computes with pool, or alone if pool is nil;
// the bits are the same.
func (p *Processor) Process(pool *parallel.Pool, rgb *picture.RGB, tokens int) (*Values, error) {
	plan, err := p.Plan(rgb.Width, rgb.Height, tokens)
	if err != nil {
		return nil, err
	}
	pictures := make([]*picture.RGB, 1, 1+len(plan.Resizes))
	pictures[0] = rgb
	for _, r := range plan.Resizes {
		next, err := Resize(pool, pictures[r.From], r.Width, r.Height, p.filter)
		if err != nil {
			return nil, err
		}
		pictures = append(pictures, next)
	}
	values := &Values{Plan: plan, Pixels: make([]float32, plan.Patches()*p.PatchValues())}
	to := values.Pixels
	for i := range plan.Views {
		v := &plan.Views[i]
		c := cutter{p, pictures[v.From], v, to}
		if err := run(pool, &c, v.Rows/p.cut.group()); err != nil {
			return nil, err
		}
		to = to[v.Rows*v.Columns*p.PatchValues():]
	}
	return values, nil
}

// group returns how many rows of patches lie together in the patches' order.
func (c cut) group() int {
	if c.blocks {
		return c.merge
	}
	return 1
}

// cutter cuts the rows of patches of a view, a group of rows a piece.
type cutter struct {
	*Processor
	from *picture.RGB
	view *View
	to   []float32 // [Rows, Columns, PatchValues]
}

func (c *cutter) Do(_, piece int) {
	group, size := c.cut.group(), c.PatchValues()
	to := c.to[piece*group*c.view.Columns*size:]
	for column := 0; column < c.view.Columns; column += group {
		for row := piece * group; row < (piece+1)*group; row++ {
			for within := range group {
				c.patch(to[:size], row, column+within)
				to = to[size:]
			}
		}
	}
}

// patch writes the values of a patch.
func (c *cutter) patch(to []float32, row, column int) {
	side := c.cut.patch
	stride := 3 * c.from.Width
	from := c.from.Pix[(c.view.Y+row*side)*stride+3*(c.view.X+column*side):]
	if c.cut.last {
		for y := range side {
			for x, line := 0, from[y*stride:][:3*side]; x < len(line); x += 3 {
				to[0], to[1], to[2] = c.levels[0][line[x]], c.levels[1][line[x+1]], c.levels[2][line[x+2]]
				to = to[3:]
			}
		}
		return
	}
	area := side * side
	for colour := range 3 {
		levels := &c.levels[colour]
		plane := to[colour*c.cut.frames*area:][:c.cut.frames*area]
		for y := range side {
			line := from[y*stride+colour:]
			out := plane[y*side:][:side]
			for x := range out {
				out[x] = levels[line[3*x]]
			}
		}
		for frame := 1; frame < c.cut.frames; frame++ {
			copy(plane[frame*area:], plane[:area])
		}
	}
}

// Positions returns the column and the row of each patch of a view, in the order of its values, [Rows·Columns, 2]. Gemma 4's
// image_position_ids are these.
func (p *Processor) Positions(v View) []int32 {
	group := p.cut.group()
	positions := make([]int32, 0, 2*v.Rows*v.Columns)
	for top := 0; top < v.Rows; top += group {
		for left := 0; left < v.Columns; left += group {
			for y := range group {
				for x := range group {
					positions = append(positions, int32(left+x), int32(top+y))
				}
			}
		}
	}
	return positions
}
