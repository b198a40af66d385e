package checkpoint

// Within has the larger tensor of each format that holds a tensor as some of its rows. Files that have no such tensor have the tensor itself.
type Within struct{ HuggingFace, GGUF Whole }

// Whole is a larger tensor that holds a tensor as some of its rows. The zero value stands for no larger tensor.
//
// The rows may lie together, or in groups: a projection that gives a query and a gate for each head, of 2 elements each, has queries in the
// rows 0 1 4 5 8 9 …, which is First 0, Size 2 and Every 4.
type Whole struct {
	Name        string
	Rows        int // of the larger tensor
	First       int // the first of the tensor's rows there
	Every, Size int // the rows are Size of every Every rows from First on; Every 0: they lie together
}

// Row returns the larger tensor's row for one of the tensor's rows.
func (w *Whole) Row(row int) int {
	if w.Every == 0 {
		return w.First + row
	}
	return w.First + row/w.Size*w.Every + row%w.Size
}

// whole returns the larger tensor of a name, of a layer, and which of its rows are a part's.
func (c *Config) whole(f *family, fused *fusedPart, p Part, is *Layer, name string) Whole {
	w, groups := Whole{Name: name}, 1
	if fused.groups != nil {
		groups = fused.groups(c, is)
	}
	for _, other := range fused.parts {
		rows := c.rows(f, other, is)
		if other == p {
			w.First, w.Size = w.Rows/groups, rows/groups
		}
		w.Rows += rows
	}
	if w.Every = w.Rows / groups; groups == 1 {
		w.Every, w.Size = 0, 0
	}
	return w
}
