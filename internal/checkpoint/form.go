package checkpoint

import (
	"slices"
	"strconv"
	"strings"
)

// Form is a way in which files have the matrices of a layer's experts, or the biases: as one tensor, with or without further rows, or as a tensor for each
// expert. A tensor of all experts is [experts, Rows, …], one of a single expert [Rows, …]. Row i of an expert is row First + i·Step of these.
type Form struct {
	Name              string // has eachExpert in place of the expert's number if each expert has a tensor of its own
	Rows, First, Step int
	// Exponents, if it is not "", is the name of the exponents of MXFP4 [experts, Rows, blocks] in bytes: then the tensor of Name has the elements of the
	// blocks, [experts, Rows, blocks, 16] in bytes, two elements in each, which follow each other, the first one in the lower bits.
	Exponents string
}

// Each returns whether each expert has a tensor of its own.
func (f *Form) Each() bool { return strings.Contains(f.Name, eachExpert) }

// Of returns the name of an expert's tensor, or of the tensor of all experts.
func (f *Form) Of(expert int) string {
	return strings.Replace(f.Name, eachExpert, strconv.Itoa(expert), 1)
}

// Whole reports whether the form is the tensor itself.
func (f *Form) Whole(rows int) bool { return f.Rows == rows && !f.Each() && f.Exponents == "" }

// Forms are the ways in which the formats have the tensor of a part with experts.
type Forms struct{ HuggingFace, GGUF []Form }

// Shape returns the shape of the form's tensor, or of each of them, for a tensor [experts, rows, …] of the model. Form.Exponents has another rule.
func (f *Form) Shape(of []int) []int {
	shape := slices.Clone(of)
	shape[1] = f.Rows
	if f.Each() {
		return shape[1:]
	}
	return shape
}

// Cut returns the piece of an expert, of a number of experts, given the data of the form's tensor, or of the expert's own.
func (f *Form) Cut(data, exponents []byte, expert, experts int) Piece {
	if !f.Each() {
		of := func(b []byte) []byte { return b[len(b)/experts*expert : len(b)/experts*(expert+1)] }
		data, exponents = of(data), of(exponents)
	}
	return Piece{data, exponents, f.Rows, f.First, f.Step}
}

// Piece is the rows of one expert: row i is row First + i·Step of the Rows of Data. Exponents, if there are any, are those of MXFP4; see Form.
type Piece struct {
	Data, Exponents   []byte
	Rows, First, Step int
}

// Bytes returns about how many of the bytes belong to the tensor.
func (p *Piece) Bytes() int { return (len(p.Data) + len(p.Exponents)) / p.Step }

// Read writes rows of rowBytes bytes, from one on, to dst, as many as dst holds.
func (p *Piece) Read(dst []byte, from, rowBytes int) {
	if p.Exponents == nil && p.Step == 1 {
		copy(dst, p.Data[(p.First+from)*rowBytes:])
		return
	}
	for i := from; len(dst) > 0; i, dst = i+1, dst[rowBytes:] {
		row := p.First + i*p.Step
		if p.Exponents == nil {
			copy(dst[:rowBytes], p.Data[row*rowBytes:])
			continue
		}
		blocks := len(p.Exponents) / p.Rows
		joinMXFP4(dst[:rowBytes], p.Data[row*blocks*MXFP4Nibbles:], p.Exponents[row*blocks:][:blocks])
	}
}

// The blocks of MXFP4.
const (
	MXFP4Len     = 32 // elements
	MXFP4Nibbles = MXFP4Len / 2
)

// joinMXFP4 writes blocks as GGUF has them: the exponent, then 16 bytes whose lower bits are the first 16 elements. In src each byte has two elements that
// follow each other.
func joinMXFP4(dst, src, exponents []byte) {
	for _, exponent := range exponents {
		dst[0] = exponent
		for i := range MXFP4Nibbles {
			low, high := src[i/2], src[MXFP4Nibbles/2+i/2] // elements i and i+16
			if i%2 == 0 {
				dst[1+i] = low&15 | high<<4
			} else {
				dst[1+i] = low>>4 | high&0xf0
			}
		}
		dst, src = dst[1+MXFP4Nibbles:], src[MXFP4Nibbles:]
	}
}
