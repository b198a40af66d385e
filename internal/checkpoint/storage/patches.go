package storage

import "slices"

// Rewritten returns how a file of the format `to` has a tensor of a tower that files of the format `from` have with dimensions dims: with which dimensions,
// and which element there is its i-th; nil if they are the same. For example, with p the side of a patch
//
//	[out, 3, 2, p, p], the frame 1      [out, 3, p, p]    the second p·p of each 2·p·p
//	[out, p·p·3], with to.Colours       [out, 3, p, p]    each third, then the next to each third
//	[n, 2, width], rows Alternating     [2, n, width]     the rows 0 2 4 …, then 1 3 5 …
//	[n, width], to.Rows Paired          [n, width]        of each head the rows 0 n/2 1 n/2+1 …
func Rewritten(from, to *Layout, dims []int) (shape []int, element func(i int) int) {
	switch f := from.Frames; {
	case f.Of > 1 && len(dims) == 5:
		area := dims[3] * dims[4]
		return slices.Delete(slices.Clone(dims), 2, 3), func(i int) int { return i/area*f.Of*area + f.At*area + i%area }
	case to.Colours && len(dims) == 2:
		row, side := dims[1], 0
		for 3*(side+1)*(side+1) <= row {
			side++
		}
		area := side * side
		return []int{dims[0], 3, side, side}, func(i int) int { return i - i%row + i%row%area*3 + i%row/area }
	case to.Tables && from.Rows != nil && to.Rows == nil && len(dims) == 3:
		width := dims[2]
		return []int{dims[1], dims[0], width}, func(i int) int { return from.Rows.Stored(i/width)*width + i%width }
	case !to.Tables && len(dims) == 2 && Between(from, to) != nil:
		order, width := Between(from, to), dims[1]
		return dims, func(i int) int { return order(i/width)*width + i%width }
	}
	return dims, nil
}
