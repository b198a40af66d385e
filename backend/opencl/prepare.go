//go:build opencl && (amd64 || arm64)

package opencl

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/antigravity-go/antigravity/tensor"
)

// preparation brings weights into the device's layout.
type preparation struct {
	*queue
	substitutes *substitutes
}

// Prepare brings weights [N, K], or those of experts [experts, N, K], into the device's memory and layout: quantised ones are split into quants and scales, as formats.cl
// describes, and F32, F16 and BF16 stay as they are. A table larger than the device's largest buffer is divided by rows, or
// between experts. The
// context is looked at between the parts that are sent.
func (p *preparation) Prepare(ctx context.Context, t *tensor.Tensor) (*tensor.Tensor, error) {
	if w, ok := t.Buffer().(*weightBuffer); ok && w.queue == p.queue {
		return t, nil
	}
	f, ok := formats[t.DType()]
	if !ok || t.Shape().NDim() != 2 && t.Shape().NDim() != 3 || t.Size() == 0 {
		return t.ToDevice(p.owner)
	}
	if f.split == "" && t.Shape().Dim(-1)%f.laneLen != 0 {
		return t.ToDevice(p.owner) // no kernel multiplies these rows: the reference does, and so must see them
	}
	w := &weightBuffer{queue: p.queue, size: t.Size(), weights: weights{format: f, dtype: t.DType(), rowBytes: t.RowBytes()}}
	table, err := t.Reshape(t.Shape().Rows(), t.Shape().Dim(-1))
	if err != nil {
		return nil, err
	}
	w.shapeFor(t.Shape().Dim(-1))
	p.substitutes.foresee(w, t.Shape().Dim(-2), t.Shape().NDim() == 3)
	if err := p.fill(ctx, w, table, t.Shape().Dim(-2)); err != nil {
		return nil, errors.Join(fmt.Errorf("opencl: prepare %v: %w", t, err), w.Free())
	}
	return tensor.Wrap(p.owner, w, t.Shape())
}

// maxUpload bounds the rows that are on their way at once, in bytes: between two of them a context is looked at.
const maxUpload = 8 << 20

// fill allocates the parts and copies the rows. Of experts a part has whole ones, of n rows each.
func (p *preparation) fill(ctx context.Context, w *weightBuffer, t *tensor.Tensor, n int) error {
	count, k := t.Shape().Dim(0), t.Shape().Dim(1)
	quantBytes, scaleBytes := w.rowBytes, 0
	if w.split() {
		blocks := k / w.format.blockLen
		quantBytes, scaleBytes = blocks*w.format.quantBytes, blocks*w.format.scaleBytes
	}
	rowBytes := quantBytes + scaleBytes
	perPart := int(min(p.maxAlloc/int64(rowBytes), 1<<30/int64(max(1, w.stride)))) // so that pieces are numbered in 32 bits
	if count > n {
		perPart = perPart / n * n
	}
	if perPart == 0 {
		return fmt.Errorf("a row of %d bytes does not fit a buffer of %v, which has at most %d", rowBytes, p.device, p.maxAlloc)
	}
	for row := 0; row < count; row += perPart {
		own := part{row: row, rows: min(perPart, count-row)}
		if w.split() {
			own.scalesAt = own.rows * quantBytes / 16
		}
		p.mu.Lock()
		mem, err := p.alloc(own.rows*rowBytes, false)
		p.mu.Unlock()
		if err != nil {
			return err
		}
		own.mem = mem
		w.memory = append(w.memory, mem)
		w.parts = append(w.parts, own)
		perUpload := max(1, int(min(maxUpload, p.maxAlloc)/int64(w.rowBytes)))
		for lo := row; lo < row+own.rows; lo += perUpload {
			if err := ctx.Err(); err != nil {
				return err
			}
			err := p.onHost("Prepare", func() error { return p.uploadRows(w, &own, t, lo, min(lo+perUpload, row+own.rows)) })
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// uploadRows copies rows [lo, hi) of t into a part, by way of what the host sees of t.
func (p *preparation) uploadRows(w *weightBuffer, own *part, t *tensor.Tensor, lo, hi int) error {
	rows, err := t.Slice(lo, hi)
	if err != nil {
		return err
	}
	if err := t.Buffer().Map(); err != nil {
		return err
	}
	defer t.Buffer().Unmap()
	if err := p.lockOpen("send weights"); err != nil {
		return err
	}
	defer p.mu.Unlock()
	defer runtime.KeepAlive(t)
	raw := rows.Data()
	if !w.split() {
		return p.fail("send weights", p.staging.write(p.context, own.mem, (lo-own.row)*w.rowBytes, raw))
	}
	scratch, err := p.scratchOf(panelScratch, len(raw))
	if err != nil {
		return err
	}
	if err := p.staging.write(p.context, scratch, 0, raw); err != nil {
		return p.fail("send weights", err)
	}
	k, err := p.kernel(split, w.format.split)
	if err != nil {
		return err
	}
	total := (hi - lo) * w.stride
	k.Mem(scratch).Int(w.rowBytes).Int(w.stride).Int(total).Mem(own.mem).Int(own.scalesAt).Int(lo - own.row)
	return p.runFlat("Prepare", k, total)
}
