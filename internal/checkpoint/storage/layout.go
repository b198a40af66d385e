// Package storage says how a tensor of a model lies in the files of a format: under which name, as which rows of a larger tensor or in which pieces, in
// which order, and how its elements change when they are read. A [Layout] is that for one tensor and one format. For example,
//
//	the query of a Llama in GGUF            Name blk.0.attn_q.weight, Rows Paired{64}
//	the query of Phi 3 in a folder          Within the first rows of model.layers.0.self_attn.qkv_proj.weight
//	the weights of a norm of Gemma's        Steps Plus(1): what lies in the folder is less by one
//	the decay of Qwen 3.5 in a folder       Steps Decayed{}
//	the gate of experts in a folder         Forms: one tensor for each expert, or one of all, in which gate and up lie together
//
// A reader takes the rows, puts them in order, and applies the steps. A program that writes one format from another moves the rows that Between names,
// and applies the steps that Beyond lists.
package storage

import "slices"

// Layout is how files of one format have a tensor.
type Layout struct {
	Name   string // the tensor's; of one with Forms the usual one
	Within Within // a larger tensor that may have it
	Forms  []Form // the ways in which files may have a tensor of experts, the usual one first; empty for other tensors
	Shape  []int  // the shape that is written, if it differs from the model's; dimensions of 1 do not count when a file is read
	Rows   Order  // nil: rows are in the order that is wanted
	// Columns is the order of columns; nil: the one that is wanted. Readers leave it as it is, since blocks of quantised types hold several columns.
	Columns Order
	// Own says that Name is the name in the folder itself, which wrappers do not change: that of a tensor of a tower.
	Own bool
	// Flat says that the tensor's dimensions after the first one are one: a filter of patches is a matrix.
	Flat bool
	// Tables says that the dimensions before the last one are one: two tables of positions are the rows of one.
	Tables bool
	Frames Frames
	// Colours says that a filter is [out, colours, height, width], and that the colours are wanted innermost.
	Colours bool
	// Transposed says that a matrix [out, in] is stored as [in, out].
	Transposed bool
	// Digits says that the matrix may be stored as bytes [out/4, in], as BitNet's are: two bits of byte [r, j] are element [r + out/4·n, j] and one more, the
	// lowest bits those of n = 0. Ternary says that elements of floats become −1, 0 and 1 times the mean of their magnitudes.
	Digits, Ternary bool
	// Constant, if it is not 0, is every element of a vector that files do not have: a norm without weights, say.
	Constant float32
	// Factor is what elements are multiplied by when they are written from the other format, in which products are multiplied by it; 0: nothing.
	Factor float32
	Steps  []Step // the changes of the elements of a vector or a filter, in this order
}

// Rename gives the tensors of files other names. An empty name stays.
func (l *Layout) Rename(to func(name string) string) {
	l.Forms = slices.Clone(l.Forms)
	names := []*string{&l.Name, &l.Within.Name}
	for i := range l.Forms {
		names = append(names, &l.Forms[i].Name, &l.Forms[i].Exponents)
	}
	for _, name := range names {
		if *name != "" {
			*name = to(*name)
		}
	}
}

// Between returns the row that files of the format `from` have where those of the format `to` have row i, and nil if it is always i.
func Between(from, to *Layout) func(i int) int { return between(from.Rows, to.Rows) }

// ColumnsBetween is Between for columns.
func ColumnsBetween(from, to *Layout) func(i int) int { return between(from.Columns, to.Columns) }

func between(from, to Order) func(i int) int {
	switch {
	case from == to:
		return nil
	case from == nil:
		return to.Wanted
	case to == nil:
		return from.Stored
	}
	return func(i int) int { return from.Stored(to.Wanted(i)) }
}

// Beyond returns the steps of one layout that another one has not: the changes of the elements when the one is written as the other.
func Beyond(from, to *Layout) (list []Step) {
	for _, s := range from.Steps {
		if !slices.Contains(to.Steps, s) {
			list = append(list, s)
		}
	}
	return list
}

// Names returns the names of the tensors of files that have the tensor of a model, or some of it. experts is how many experts there are.
func (l *Layout) Names(experts int) []string {
	names := []string{l.Name, l.Within.Name}
	for i := range l.Forms {
		f := &l.Forms[i]
		names = append(names, f.Of(0), f.Exponents)
		for e := 1; f.Each() && e < experts; e++ {
			names = append(names, f.Of(e))
		}
	}
	return names
}

// Within is a larger tensor that may hold a tensor as some of its rows; files without it have the tensor itself. The zero value stands for no larger tensor.
//
// The rows may lie together, or in groups: a projection that gives a query and a gate for each head, of 2 elements each, has queries in the
// rows 0 1 4 5 8 9 …, which is First 0, Size 2 and Every 4.
type Within struct {
	Name        string
	Rows        int // of the larger tensor
	First       int // the first of the tensor's rows there
	Every, Size int // the rows are Size of every Every rows from First on; Every 0: they lie together
}

// Row returns the larger tensor's row for one of the tensor's rows.
func (w *Within) Row(row int) int {
	if w.Every == 0 {
		return w.First + row
	}
	return w.First + row/w.Size*w.Every + row%w.Size
}

// Frames is a filter of patches of several frames, [out, colours, Of, height, width]. A tensor is the part of the frame At. The zero value stands
// for a filter of one frame.
type Frames struct{ Of, At int }
