//go:build opencl && (amd64 || arm64)

package opencl

import (
	"fmt"
	"runtime"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// maxMove bounds the scratch memory for moves within a buffer, in bytes.
const maxMove = 8 << 20

// copies moves bytes: within the device, to it and from it.
type copies struct{ *queue }

// CopyFrom returns a copy of t on the device.
func (c *copies) CopyFrom(t *tensor.Tensor) (*tensor.Tensor, error) {
	result, err := tensor.New(c.owner, t.DType(), t.Shape())
	if err != nil {
		return nil, err
	}
	if err := c.copyBytes("CopyFrom", t, result, 0, 0, t.Size()); err != nil {
		result.Free()
		return nil, err
	}
	return result, nil
}

// copySlice copies elements; the host does not wait.
func (c *copies) copySlice(op *backend.CopySlice) error {
	from, to, size := op.Bytes()
	return c.copyBytes("CopySlice", op.Src, op.Dst, from, to, size)
}

// copyBytes copies size bytes of src, wherever it is, to dst.
func (c *copies) copyBytes(what string, src, dst *tensor.Tensor, from, to, size int) error {
	if size == 0 {
		return nil
	}
	if err := c.lockOpen(what); err != nil {
		return err
	}
	source, target := c.operand(src), c.operand(dst)
	var visible []byte // what the host sees of src
	if !source.ok {
		visible = src.Data()
	}
	if !target.ok || (!source.ok && visible == nil) {
		c.mu.Unlock()
		elements := src.DType().BlockLen()
		block := src.DType().BlockBytes()
		return c.opOnHost(&backend.CopySlice{Src: src, Dst: dst, From: from / block * elements, To: to / block * elements, N: size / block * elements})
	}
	defer c.mu.Unlock()
	if !source.ok {
		err := c.staging.write(c.context, target.mem, target.at+to, visible[from:from+size])
		runtime.KeepAlive(src) // its memory is visible
		if err != nil {
			return c.fail(fmt.Sprintf("%s of %v", what, src), err)
		}
		return c.enqueued(what, nil)
	}
	from, to = source.at+from, target.at+to
	if source.mem == target.mem && from < to+size && to < from+size {
		return c.move(what, target, from, to, size)
	}
	return c.enqueued(what, c.context.Copy(source.mem, target.mem, from, to, size))
}

// move copies within a buffer, through scratch memory, in an order that does not overwrite bytes before they are copied.
func (c *copies) move(what string, o operand, from, to, size int) error {
	if from == to {
		return nil
	}
	scratch, err := c.scratchOf(moveScratch, min(size, maxMove))
	if err != nil {
		return err
	}
	for done := 0; done < size; {
		n := min(size-done, maxMove)
		at := done
		if to > from { // the last first
			at = size - done - n
		}
		if err := c.enqueued(what, c.context.Copy(o.mem, scratch, from+at, 0, n)); err != nil {
			return err
		}
		if err := c.enqueued(what, c.context.Copy(scratch, o.mem, 0, to+at, n)); err != nil {
			return err
		}
		done += n
	}
	return nil
}

// ReadBuffer waits for t and copies its bytes to the host.
func (c *copies) ReadBuffer(t *tensor.Tensor, dst []byte) error {
	if err := backend.CheckReadBuffer(t, dst); err != nil {
		return err
	}
	if err := c.lockOpen("ReadBuffer"); err != nil {
		return err
	}
	source := c.operand(t)
	if !source.ok {
		c.mu.Unlock()
		return c.onHost("ReadBuffer", func() error { return c.host.ReadBuffer(t, dst) })
	}
	defer c.mu.Unlock()
	c.pending = 0
	if err := c.staging.read(c.context, source.mem, source.at, dst); err != nil {
		return c.fail(fmt.Sprintf("read %v", t), err)
	}
	return nil
}
