package storage

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/antigravity-go/antigravity/internal/safetensors"
	"github.com/antigravity-go/antigravity/quant"
)

// EachExpert stands in the name of a Form for the number of an expert, if each expert has a tensor of its own.
const EachExpert = "#"

// Form is a way in which files have the matrices of a layer's experts, or the biases: as one tensor, with or without further rows, or as a tensor for each
// expert. A tensor of all experts is [experts, Rows, …], one of a single expert [Rows, …]. Row i of an expert is row First + i·Step of these.
type Form struct {
	Name              string // has EachExpert in place of the number if each expert has a tensor of its own
	Rows, First, Step int
	// Exponents, if it is not "", is the name of the exponents of MXFP4 [experts, Rows, blocks] in bytes: then the tensor of Name has the elements of the
	// blocks, [experts, Rows, blocks, 16] in bytes, two elements in each, which follow each other, the first one in the lower bits.
	Exponents string
	// Flat says that the rows of all experts follow each other in one matrix [experts·Rows, …]. Transposed says that the matrices of an expert are transposed:
	// the model's column j is row First + j of those that are Flat. Of others it is row j, Rows counts columns, and the model's row i is column First + i·Step.
	Flat, Transposed bool
}

// Each returns whether each expert has a tensor of its own.
func (f *Form) Each() bool { return strings.Contains(f.Name, EachExpert) }

// Of returns the name of an expert's tensor, or of the tensor of all experts.
func (f *Form) Of(expert int) string {
	return strings.Replace(f.Name, EachExpert, strconv.Itoa(expert), 1)
}

// Whole reports whether the form is the tensor itself.
func (f *Form) Whole(rows int) bool {
	return f.Rows == rows && !f.Each() && f.Exponents == "" && !f.Flat && !f.Transposed
}

// Shape returns the shape of the form's tensor, or of each of them, for a tensor [experts, rows, …] of the model. Form.Exponents has another rule.
func (f *Form) Shape(of []int) []int {
	shape := slices.Clone(of)
	if f.Flat {
		columns := shape[2]
		if f.Transposed {
			columns = shape[1]
		}
		return []int{shape[0] * f.Rows, columns}
	}
	if f.Transposed {
		shape[1], shape[2] = shape[2], f.Rows
	} else {
		shape[1] = f.Rows
	}
	if f.Each() {
		return shape[1:]
	}
	return shape
}

// Held is a tensor of a form as a file has it.
type Held struct {
	Type  string // of its elements
	Shape []int  // in elements
	Data  []byte
	// Exponents are those of MXFP4, and Data then the elements of its blocks: see Form. Of other types they are nil.
	Exponents []byte
}

// mxfp4Nibbles is how many bytes the elements of a block of MXFP4 have.
const mxfp4Nibbles = 16

// HeldMXFP4 returns weights that a folder has as elements [experts, rows, blocks, 16] and exponents [experts, rows, blocks].
func HeldMXFP4(elements, exponents *safetensors.Tensor) (h Held, err error) {
	n := len(exponents.Shape)
	if n < 2 || !slices.Equal(elements.Shape, append(slices.Clone(exponents.Shape), mxfp4Nibbles)) || len(elements.Data) != mxfp4Nibbles*len(exponents.Data) {
		return h, fmt.Errorf("blocks %v and exponents %v of MXFP4 do not belong together", elements.Shape, exponents.Shape)
	}
	h = Held{quant.MXFP4.String(), slices.Clone(exponents.Shape), elements.Data, exponents.Data}
	h.Shape[n-1] *= quant.MXFP4.BlockLen()
	return h, nil
}

// Gather returns the pieces of a tensor [experts, rows, …], one for each expert, from the form's tensors. held returns that of an expert; if a tensor has
// all experts, it is asked for the first one alone.
func (f *Form) Gather(shape []int, held func(expert int) (Held, error)) ([]Piece, error) {
	want := f.Shape(shape)
	pieces := make([]Piece, shape[0])
	var first, h Held
	for e := range pieces {
		if e == 0 || f.Each() {
			var err error
			if h, err = held(e); err != nil {
				return nil, err
			}
			if e == 0 {
				first = h
			}
			if !slices.Equal(h.Shape, want) || h.Type != first.Type {
				return nil, fmt.Errorf("%s is %s%v, where the configuration asks for %s%v", f.Of(e), h.Type, h.Shape, first.Type, want)
			}
		}
		pieces[e] = f.cut(&h, e, len(pieces))
	}
	return pieces, nil
}

// cut returns the piece of an expert, of a number of experts.
func (f *Form) cut(h *Held, expert, experts int) Piece {
	data, exponents := h.Data, h.Exponents
	if !f.Each() {
		of := func(b []byte) []byte { return b[len(b)/experts*expert : len(b)/experts*(expert+1)] }
		data, exponents = of(data), of(exponents)
	}
	p := Piece{Data: data, Exponents: exponents, Rows: f.Rows, First: f.First, Step: f.Step}
	switch {
	case f.Transposed && f.Flat:
		p.Transposed = h.Shape[1]
	case f.Transposed:
		columns := len(h.Shape) - 1
		p.Rows, p.First, p.Column, p.Transposed = h.Shape[columns-1], 0, f.First, h.Shape[columns]
	}
	return p
}

// Piece is the rows of one expert: row i is row First + i·Step of the Rows of Data. Exponents, if there are any, are those of MXFP4; see Form.
type Piece struct {
	Data, Exponents   []byte
	Rows, First, Step int
	Transposed        int // the columns of Data, if these are rows of the tensor; 0: they are not
	Column            int // the first of the columns that are rows, if they are
}

// Bytes returns about how many of the bytes belong to the tensor.
func (p *Piece) Bytes() int { return (len(p.Data) + len(p.Exponents)) / p.Step }

// Read writes rows of rowBytes bytes, from one on, to dst, as many as dst holds. MXFP4's blocks are written as GGUF has them.
func (p *Piece) Read(dst []byte, from, rowBytes int) error {
	if p.Transposed > 0 {
		p.readTransposed(dst, from, rowBytes)
		return nil
	}
	if p.Exponents == nil && p.Step == 1 {
		copy(dst, p.Data[(p.First+from)*rowBytes:])
		return nil
	}
	blocks := len(p.Exponents) / p.Rows
	for i := from; len(dst) > 0; i, dst = i+1, dst[rowBytes:] {
		row := p.First + i*p.Step
		if p.Exponents == nil {
			copy(dst[:rowBytes], p.Data[row*rowBytes:])
			continue
		}
		elements := p.Data[row*blocks*mxfp4Nibbles:][:blocks*mxfp4Nibbles]
		if err := quant.JoinMXFP4(dst[:rowBytes], elements, p.Exponents[row*blocks:][:blocks]); err != nil {
			return err
		}
	}
	return nil
}

// readTransposed is Read for columns of Data.
func (p *Piece) readTransposed(dst []byte, from, rowBytes int) {
	size := len(p.Data) / p.Rows / p.Transposed // of an element
	for i := from; len(dst) > 0; i, dst = i+1, dst[rowBytes:] {
		for j := range rowBytes / size {
			copy(dst[j*size:][:size], p.Data[((p.First+j)*p.Transposed+p.Column+i*p.Step)*size:])
		}
	}
}
