package engine

import (
	"math"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// Kept has the final states of the latest tokens of a conversation, for a head that predicts further tokens. It belongs to one goroutine at a time.
//
// Example, of 4 rows at most: a prompt of 6 tokens leaves the states of tokens 2 to 5. Two steps of answers add those of 6 and 7, and a step that begins at
// token 7 again, since a guess was wrong, replaces the last one.
//
// Invariants: rows is nil, or [2·most, hidden]; its first n rows are the states of tokens first, first+1, …; 0 ≤ n ≤ 2·most.
type Kept struct {
	most     int
	rows     *tensor.Tensor
	first, n int

	// The earliest token that has been computed since the head looked, and its id; math.MaxInt: no token was.
	from int
	id   int32

	view   tensor.Tensor
	copied copying
	normed backend.Call[backend.RMSNorm, *backend.RMSNorm]
}

// reserve allocates memory for the latest most states on a device, or more.
func (k *Kept) reserve(d backend.Backend, most, hidden int) (err error) {
	k.most = most
	k.forget()
	k.rows, err = tensor.New(d, tensor.F32, tensor.ShapeOf(2*most, hidden))
	return err
}

// forget makes it empty.
func (k *Kept) forget() { k.first, k.n, k.from = 0, 0, math.MaxInt }

// take adds the states of the job's last rows, most of them at most, normed.
func (k *Kept) take(p *pass, j *Job, final *norm) error {
	if k.from >= j.Start {
		k.from, k.id = j.Start, j.Tokens[0]
	}
	n := min(j.rows, k.most)
	start := j.Start + j.Rows - n
	switch {
	case start < k.first || start > k.first+k.n:
		k.first, k.n = start, 0
	default:
		k.n = start - k.first
	}
	if k.n+n > 2*k.most { // keep the latest, in the front half at most
		left := min(k.most, k.n/2)
		if err := k.copy(p, k.rows, k.n-left, 0, left); err != nil {
			return err
		}
		k.first, k.n = k.first+k.n-left, left
	}
	if err := k.copy(p, &p.x, j.first+j.rows-n, k.n, n); err != nil {
		return err
	}
	if err := k.rows.SliceInto(&k.view, k.n, k.n+n); err != nil {
		return err
	}
	k.n += n
	return k.normed.Run(p.device, backend.RMSNorm{X: &k.view, W: final.weight, Eps: final.eps})
}

// copy copies n rows of a tensor to rows from to on.
func (k *Kept) copy(p *pass, src *tensor.Tensor, from, to, n int) error {
	width := k.rows.Shape().Dim(1)
	return k.copied.Run(p.device, backend.CopySlice{Src: src, Dst: k.rows, From: from * width, To: to * width, N: n * width})
}

// end returns the token after the last one that has its state here.
func (k *Kept) end() int { return k.first + k.n }

// of makes view the states of tokens from … to-1, which must be there.
func (k *Kept) of(view *tensor.Tensor, from, to int) error {
	return k.rows.SliceInto(view, from-k.first, to-k.first)
}

// bytes returns the memory on the device.
func (k *Kept) bytes() int64 {
	if k.rows == nil {
		return 0
	}
	return int64(k.rows.Size())
}

// free gives the memory back.
func (k *Kept) free() error {
	if k.rows == nil {
		return nil
	}
	t := k.rows
	k.rows = nil
	k.forget()
	return t.Free()
}
