package source

import (
	"context"
	"fmt"

	"github.com/antigravity-go/antigravity/backend"

	"github.com/antigravity-go/antigravity/tensor"
)

// convertAtOnce is how many elements are converted between two looks at the context.
const convertAtOnce = 4 << 20

// convert returns t in another type: itself if it has that type already, else a copy in memory of our own.
func convert(ctx context.Context, t *tensor.Tensor, d tensor.DType, host backend.Backend) (*tensor.Tensor, error) {
	if t.DType() == d {
		return t, nil
	}
	if cols := t.Shape().Dim(-1); cols%d.BlockLen() != 0 {
		return nil, fmt.Errorf("convert %v to %v: rows of %d are no whole blocks of %d", t, d, cols, d.BlockLen())
	}
	result, err := tensor.New(host, d, t.Shape())
	if err != nil {
		return nil, err
	}
	if err := castRows(ctx, t, result, host); err != nil {
		result.Free()
		return nil, fmt.Errorf("convert: %w", err)
	}
	return result, nil
}

// castRows converts some rows after the other. A tensor with one dimension is one row.
func castRows(ctx context.Context, t, result *tensor.Tensor, host backend.Backend) error {
	d := result.DType()
	if t.Shape().NDim() == 1 {
		return host.Run(&backend.Cast{Src: t, Dst: result})
	}
	rows := t.Shape().Dim(0)
	step := max(convertAtOnce/max(t.Shape().NumElements()/max(rows, 1), 1), 1)
	for lo := 0; lo < rows; lo += step {
		if err := ctx.Err(); err != nil {
			return err
		}
		from, err := t.Slice(lo, min(lo+step, rows))
		if err != nil {
			return err
		}
		to, err := result.Slice(lo, min(lo+step, rows))
		if err != nil {
			return err
		}
		if err := host.Run(&backend.Cast{Src: from, Dst: to}); err != nil {
			return err
		}
		if d == tensor.F32 || d == tensor.BF16 || to.Data() == nil { // the former have as large numbers as any weights
			continue
		}
		if i := d.Format().FirstNotFinite(to.Data()); i >= 0 {
			return d.Format().NotFinite(lo + i*d.BlockLen()/t.Shape().Dim(-1))
		}
	}
	return nil
}
