//go:build opencl && (amd64 || arm64)

package opencl

import (
	"fmt"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// maxMove bounds the scratch memory for moves within a buffer, in bytes.
const maxMove = 8 << 20

// CopyFrom returns a copy of t on the device.
func (b *Backend) CopyFrom(t *tensor.Tensor) (*tensor.Tensor, error) {
	result, err := tensor.New(b, t.DType(), t.Shape())
	if err != nil {
		return nil, err
	}
	if err := b.copyBytes("CopyFrom", t, result, 0, 0, t.Size()); err != nil {
		result.Free()
		return nil, err
	}
	return result, nil
}

// CopySlice copies elements; the host does not wait.
func (b *Backend) CopySlice(src, dst *tensor.Tensor, srcOff, dstOff, n int) error {
	from, to, size, err := backend.CheckCopySlice(src, dst, srcOff, dstOff, n)
	if err != nil {
		return err
	}
	return b.copyBytes("CopySlice", src, dst, from, to, size)
}

// copyBytes copies size bytes of src, wherever it is, to dst.
func (b *Backend) copyBytes(what string, src, dst *tensor.Tensor, from, to, size int) error {
	if size == 0 {
		return nil
	}
	source, target := b.operand(src), b.operand(dst)
	switch {
	case !target.ok || (!source.ok && src.Data() == nil):
		return b.onHost(func() error { return b.hostCopy(src, dst, from, to, size) })
	case !source.ok:
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.closed {
			return fmt.Errorf("opencl: %s: %w", what, ErrClosed)
		}
		return b.enqueued(what, b.staging.write(b.context, target.mem, target.at+to, src.Data()[from:from+size]))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return fmt.Errorf("opencl: %s: %w", what, ErrClosed)
	}
	from, to = source.at+from, target.at+to
	if source.mem == target.mem && from < to+size && to < from+size {
		return b.move(what, target, from, to, size)
	}
	return b.enqueued(what, b.context.Copy(source.mem, target.mem, from, to, size))
}

// move copies within a buffer, through scratch memory, in an order that leaves what is yet to be copied alone.
func (b *Backend) move(what string, o operand, from, to, size int) error {
	if from == to {
		return nil
	}
	scratch, err := b.scratchOf(moveScratch, min(size, maxMove))
	if err != nil {
		return err
	}
	for done := 0; done < size; {
		n := min(size-done, maxMove)
		at := done
		if to > from { // the last first
			at = size - done - n
		}
		if err := b.enqueued(what, b.context.Copy(o.mem, scratch, from+at, 0, n)); err != nil {
			return err
		}
		if err := b.enqueued(what, b.context.Copy(scratch, o.mem, 0, to+at, n)); err != nil {
			return err
		}
		done += n
	}
	return nil
}

// hostCopy copies by way of the host's view of both.
func (b *Backend) hostCopy(src, dst *tensor.Tensor, from, to, size int) error {
	for _, t := range [...]*tensor.Tensor{src, dst} {
		if t.Buffer().Mapped() {
			continue
		}
		if err := t.Buffer().Map(); err != nil {
			return fmt.Errorf("opencl: copy %v to %v: %w", src, dst, err)
		}
		defer t.Buffer().Unmap()
	}
	copy(dst.Data()[to:to+size], src.Data()[from:from+size])
	return nil
}

// ReadBuffer waits for t and copies its bytes to the host.
func (b *Backend) ReadBuffer(t *tensor.Tensor, dst []byte) error {
	if err := backend.CheckReadBuffer(t, dst); err != nil {
		return err
	}
	source := b.operand(t)
	if !source.ok {
		return b.onHost(func() error { return b.Base.ReadBuffer(t, dst) })
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return fmt.Errorf("opencl: ReadBuffer of %v: %w", t, ErrClosed)
	}
	b.pending = 0
	if err := b.context.Read(source.mem, source.at, dst); err != nil {
		return b.fail(fmt.Sprintf("read %v", t), err)
	}
	return nil
}
