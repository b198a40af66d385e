package backend

import (
	"fmt"

	"github.com/antigravity-go/antigravity/tensor"
)

// The checks of operands. Each operation of each backend calls the check of its name before it computes. A check returns the operation's
// dimensions, or an error that names the operation with the shapes and types of the operands. CheckRMSNorm, for example:
//
//	x f32[2 8], w f32[8]   rows 2, dim 8
//	x f32[2 8], w f32[4]   backend: RMSNorm of f32[2 8]@host with weights f32[4]@host: the weights must be as long as a row

// needF32 returns an error unless all tensors are F32.
func needF32(op string, ts ...*tensor.Tensor) error {
	for _, t := range ts {
		if t.DType() != tensor.F32 {
			return fmt.Errorf("backend: %s of %v: the element type must be f32", op, t)
		}
	}
	return nil
}

// needWritable returns an error when an output is read-only.
func needWritable(op string, out *tensor.Tensor) error {
	if out.Buffer().ReadOnly() {
		return fmt.Errorf("backend: %s to %v: %w", op, out, tensor.ErrReadOnly)
	}
	return nil
}

// CheckMatMul checks out [M, N] = a [M, K] · b [K, N], all F32.
func CheckMatMul(a, b, out *tensor.Tensor) (m, n, k int, err error) {
	if err := needF32("MatMul", a, b, out); err != nil {
		return 0, 0, 0, err
	}
	m, k, n = a.Shape().Rows(), a.Shape().Dim(-1), b.Shape().Dim(-1)
	if b.Shape().NDim() != 2 || b.Shape().Dim(0) != k || out.Shape().Rows() != m || out.Shape().Dim(-1) != n {
		return 0, 0, 0, fmt.Errorf("backend: MatMul of a %v, b %v to %v: shapes must be [M K], [K N] and [M N]", a, b, out)
	}
	return m, n, k, needWritable("MatMul", out)
}

// CheckMatMulTransposed checks out [M, N] = a [M, K] · (w [N, K])ᵀ, with a and out F32 and K whole blocks of w.
func CheckMatMulTransposed(a, w, out *tensor.Tensor) (m, n, k int, err error) {
	if err := needF32("MatMulTransposed", a, out); err != nil {
		return 0, 0, 0, err
	}
	m, n, k = a.Shape().Rows(), w.Shape().Dim(0), w.Shape().Dim(-1)
	switch {
	case w.Shape().NDim() != 2 || a.Shape().Dim(-1) != k || out.Shape().Rows() != m || out.Shape().Dim(-1) != n:
		err = fmt.Errorf("backend: MatMulTransposed of a %v, w %v to %v: shapes must be [M K], [N K] and [M N]", a, w, out)
	case !w.DType().Format().Valid() || k%w.DType().BlockLen() != 0:
		err = fmt.Errorf("backend: MatMulTransposed of a %v, w %v: %d columns of type %v cannot be multiplied", a, w, k, w.DType())
	default:
		err = needWritable("MatMulTransposed", out)
	}
	return m, n, k, err
}

// CheckSame checks an in-place operation of F32 tensors of one shape. The operation writes the first.
func CheckSame(op string, ts ...*tensor.Tensor) error {
	if err := needF32(op, ts...); err != nil {
		return err
	}
	for _, t := range ts[1:] {
		if t.Shape() != ts[0].Shape() {
			return fmt.Errorf("backend: %s of %v and %v: the shapes must be equal", op, ts[0], t)
		}
	}
	return needWritable(op, ts[0])
}

// CheckSoftcap checks x = limit·tanh(x/limit).
func CheckSoftcap(x *tensor.Tensor, limit float32) error {
	if err := needLimit("Softcap", x, limit); err != nil {
		return err
	}
	return CheckSame("Softcap", x)
}

// CheckAddAssign checks a += b, where b has a's shape or is one row of it.
func CheckAddAssign(a, b *tensor.Tensor) error { return checkRows("AddAssign", a, b) }

// CheckMulAssign checks a *= b, where b has a's shape or is one row of it.
func CheckMulAssign(a, b *tensor.Tensor) error { return checkRows("MulAssign", a, b) }

// checkRows checks an operation that changes a by b, which has a's shape or is one row for each row of a.
func checkRows(op string, a, b *tensor.Tensor) error {
	if b.Shape().Rows() == 1 && b.Shape().Dim(-1) == a.Shape().Dim(-1) {
		if err := needF32(op, a, b); err != nil {
			return err
		}
		return needWritable(op, a)
	}
	return CheckSame(op, a, b)
}

// CheckSoftplus checks a and bias, which is one row of a, or nil.
func CheckSoftplus(a, bias *tensor.Tensor) error {
	const op = "Softplus"
	if bias == nil {
		return CheckSame(op, a)
	}
	if err := needF32(op, a, bias); err != nil {
		return err
	}
	if bias.Shape().NumElements() != a.Shape().Dim(-1) {
		return fmt.Errorf("backend: %s of %v with biases %v: the biases must be as long as a row", op, a, bias)
	}
	return needWritable(op, a)
}

// CheckRMSNorm checks a norm of the rows of x [.., dim] with weights w [dim].
func CheckRMSNorm(x, w *tensor.Tensor) (rows, dim int, err error) {
	if err := needF32("RMSNorm", x, w); err != nil {
		return 0, 0, err
	}
	rows, dim = x.Shape().Rows(), x.Shape().Dim(-1)
	if w.Shape().NumElements() != dim {
		return 0, 0, fmt.Errorf("backend: RMSNorm of %v with weights %v: the weights must be as long as a row", x, w)
	}
	return rows, dim, needWritable("RMSNorm", x)
}

// CheckLayerNorm checks a norm of the rows of x [.., dim] with weights w [dim] and b [dim], which may be nil.
func CheckLayerNorm(x, w, b *tensor.Tensor) (rows, dim int, err error) {
	list := [3]*tensor.Tensor{x, w, b}
	most := 3
	if b == nil {
		most = 2
	}
	if err := needF32("LayerNorm", list[:most]...); err != nil {
		return 0, 0, err
	}
	rows, dim = x.Shape().Rows(), x.Shape().Dim(-1)
	for _, t := range list[1:most] {
		if t.Shape().NumElements() != dim {
			return 0, 0, fmt.Errorf("backend: LayerNorm of %v with %v: weights and biases must be as long as a row", x, t)
		}
	}
	return rows, dim, needWritable("LayerNorm", x)
}

// CheckGated checks a = act(a)·b for a b of a's shape or nil.
func CheckGated(op string, a, b *tensor.Tensor) error {
	if b == nil {
		return CheckSame(op, a)
	}
	return CheckSame(op, a, b)
}

// CheckAttendTexts checks q and out [rows, heads, headDim], k and v [rows, kvHeads, headDim], and texts, which have all rows, with one row
// at least each. The dimensions' Slots is the length of the longest text.
func CheckAttendTexts(q, k, v, out *tensor.Tensor, texts []int, reach int) (d AttentionDims, err error) {
	const op = "AttendTexts"
	if err := CheckSame(op, out, q); err != nil {
		return d, err
	}
	if err := needF32(op, k, v); err != nil {
		return d, err
	}
	qs, ks := q.Shape(), k.Shape()
	if qs.NDim() != 3 || ks.NDim() != 3 || v.Shape() != ks || qs.Dim(0) != ks.Dim(0) || qs.Dim(2) != ks.Dim(2) || ks.Dim(1) < 1 || qs.Dim(1)%ks.Dim(1) != 0 {
		return d, fmt.Errorf("backend: %s of q %v, k %v, v %v: shapes must be [rows heads headDim] and [rows kvHeads headDim], heads a multiple of kvHeads", op, q, k, v)
	}
	d = AttentionDims{Tokens: qs.Dim(0), Heads: qs.Dim(1), KVHeads: ks.Dim(1), HeadDim: qs.Dim(2)}
	left := d.Tokens
	for i, n := range texts {
		if n < 1 || n > left {
			return d, fmt.Errorf("backend: %s of text %d of %d rows, with %d rows left: a text has rows, and the texts as many as there are", op, i, n, left)
		}
		left -= n
		d.Slots = max(d.Slots, n)
	}
	switch {
	case left != 0:
		return d, fmt.Errorf("backend: %s of %d rows, %d of which are no text's", op, d.Tokens, left)
	case reach < 0:
		return d, fmt.Errorf("backend: %s with a reach of %d rows", op, reach)
	}
	return d, nil
}

// CheckNormMatMul checks x [M, K], its scratch normed, and outs[i] [M, N] for ws[i] [N, K].
func CheckNormMatMul(x, normed *tensor.Tensor, ws, outs []*tensor.Tensor) error {
	if err := CheckSame("NormMatMul", normed, x); err != nil {
		return err
	}
	if len(ws) != len(outs) {
		return fmt.Errorf("backend: NormMatMul of %d weights to %d outputs", len(ws), len(outs))
	}
	for i, w := range ws {
		if _, _, _, err := CheckMatMulTransposed(x, w, outs[i]); err != nil {
			return err
		}
	}
	return nil
}

// CheckProject checks x and normed [M, K], of one shape, and outs[i] [M, N] for maps[i] of weights [N, K] and biases [N] or nil. With gelu there are
// one or two outs, of one shape.
func CheckProject(x *tensor.Tensor, norm LayerNorm, normed *tensor.Tensor, maps []Linear, outs []*tensor.Tensor, gelu bool) error {
	if norm.Weight != nil {
		if err := CheckSame("Project", normed, x); err != nil {
			return err
		}
		if _, _, err := CheckLayerNorm(normed, norm.Weight, norm.Bias); err != nil {
			return err
		}
	}
	if len(maps) != len(outs) {
		return fmt.Errorf("backend: Project by %d maps to %d outputs", len(maps), len(outs))
	}
	for i := range maps {
		if err := maps[i].check(x, outs[i]); err != nil {
			return err
		}
	}
	switch {
	case gelu && (len(outs) < 1 || len(outs) > 2):
		return fmt.Errorf("backend: Project to %d outputs with GELU: there must be one or two", len(outs))
	case gelu:
		return CheckSame("Project", outs...)
	}
	return nil
}

// CheckProjectAdd checks x [M, K], to of [N, K] and [N] or nil, and product and out [M, N].
func CheckProjectAdd(x *tensor.Tensor, to Linear, product, out *tensor.Tensor) error {
	if err := to.check(x, product); err != nil {
		return err
	}
	return CheckSame("ProjectAdd", out, product)
}

// check checks a map of x to out.
func (l *Linear) check(x, out *tensor.Tensor) error {
	_, n, _, err := CheckMatMulTransposed(x, l.Weight, out)
	if err != nil || l.Bias == nil {
		return err
	}
	if l.Bias.Shape().NumElements() != n {
		return fmt.Errorf("backend: a product of weights %v with the bias %v: the bias must have an element for each of their rows", l.Weight, l.Bias)
	}
	return needF32("Project", l.Bias)
}

// CheckRoPE checks x [tokens, heads, headDim] and table [tokens, headDim].
func CheckRoPE(x, table *tensor.Tensor) (tokens, heads, headDim int, err error) {
	if err := needF32("RoPE", x, table); err != nil {
		return 0, 0, 0, err
	}
	tokens, heads, headDim = x.Shape().Dim(0), x.Shape().Dim(1), x.Shape().Dim(2)
	if x.Shape().NDim() != 3 || headDim%2 != 0 || table.Shape().NDim() != 2 || table.Shape().Dim(0) != tokens || table.Shape().Dim(1) != headDim {
		return 0, 0, 0, fmt.Errorf("backend: RoPE of %v with table %v: shapes must be [tokens heads headDim] and [tokens headDim], headDim even", x, table)
	}
	return tokens, heads, headDim, needWritable("RoPE", x)
}

// AttentionDims are the dimensions of an attention. Slots is the largest number of slots that a head has.
type AttentionDims struct{ Tokens, Heads, KVHeads, HeadDim, Slots int }

// CacheType reports whether d is a type that keys and values can be cached in.
func CacheType(d tensor.DType) bool {
	return d == tensor.F32 || d == tensor.F16 || d == tensor.Q8_0 || d == tensor.Q4_0
}

// CheckGather checks table [rows, dim], indices within it, and out [len(indices), dim] of type F32.
func CheckGather(table *tensor.Tensor, indices []int32, out *tensor.Tensor) (dim int, err error) {
	if err := needF32("Gather", out); err != nil {
		return 0, err
	}
	rows, dim := table.Shape().Dim(0), table.Shape().Dim(-1)
	if table.Shape().NDim() != 2 || !table.DType().Format().Valid() || out.Shape().Rows() != len(indices) || out.Shape().Dim(-1) != dim {
		return 0, fmt.Errorf("backend: Gather of %d rows of %v to %v: shapes must be [rows dim] and [%d dim]", len(indices), table, out, len(indices))
	}
	for _, index := range indices {
		if index < 0 || int(index) >= rows {
			return 0, fmt.Errorf("backend: Gather of row %d of %v", index, table)
		}
	}
	return dim, needWritable("Gather", out)
}

// CheckCopySlice checks a copy of n elements and returns it in bytes.
func CheckCopySlice(src, dst *tensor.Tensor, srcOff, dstOff, n int) (srcByte, dstByte, bytes int, err error) {
	if src.DType() != dst.DType() {
		return 0, 0, 0, fmt.Errorf("backend: CopySlice from %v to %v: the element types must be equal", src, dst)
	}
	if srcOff < 0 || dstOff < 0 || n < 0 || n > src.Shape().NumElements()-srcOff || n > dst.Shape().NumElements()-dstOff {
		return 0, 0, 0, fmt.Errorf("backend: CopySlice of %d elements from %v at %d to %v at %d: out of range", n, src, srcOff, dst, dstOff)
	}
	var sizes [3]int
	for i, elements := range [3]int{srcOff, dstOff, n} {
		if sizes[i], err = src.DType().Bytes(elements); err != nil {
			return 0, 0, 0, fmt.Errorf("backend: CopySlice from %v to %v: %w", src, dst, err)
		}
	}
	return sizes[0], sizes[1], sizes[2], needWritable("CopySlice", dst)
}

// CheckCast checks that dst has src's number of elements, in rows of the same length, and that both types have formats.
func CheckCast(src, dst *tensor.Tensor) error {
	if src.Shape().NumElements() != dst.Shape().NumElements() || src.Shape().Dim(-1) != dst.Shape().Dim(-1) {
		return fmt.Errorf("backend: Cast of %v to %v: the rows must be as many and as long", src, dst)
	}
	if f, g := src.DType().Format(), dst.DType().Format(); !f.Valid() || !g.Valid() {
		return fmt.Errorf("backend: Cast of %v to %v: no such conversion", src, dst)
	}
	return needWritable("Cast", dst)
}

// CheckReadBuffer checks that dst has t's size.
func CheckReadBuffer(t *tensor.Tensor, dst []byte) error {
	if len(dst) != t.Size() {
		return fmt.Errorf("backend: ReadBuffer of %v (%d bytes) to %d bytes", t, t.Size(), len(dst))
	}
	return nil
}

// CheckLargest checks that x [rows, n] is F32 and that the same number of elements, at most n, is wanted of each row. It returns that
// number.
func CheckLargest(x *tensor.Tensor, indices []int32, values []float32) (k int, err error) {
	if err := needF32("Largest", x); err != nil {
		return 0, err
	}
	rows, n := x.Shape().Rows(), x.Shape().Dim(-1)
	if rows < 1 || len(indices)%rows != 0 || len(indices)/rows > n || len(values) != len(indices) {
		return 0, fmt.Errorf("backend: Largest of %v to %d indices and %d values: both must be as many, the same number for each of the rows "+
			"and no more than a row has elements", x, len(indices), len(values))
	}
	return len(indices) / rows, nil
}

// CheckMask checks that x [rows, n] is F32, and that allowed has the words of as many rows of n bits. It returns the words of a row.
func CheckMask(x *tensor.Tensor, allowed []uint64) (words int, err error) {
	if err := needF32("Mask", x); err != nil {
		return 0, err
	}
	rows, n := x.Shape().Rows(), x.Shape().Dim(-1)
	if words = (n + 63) / 64; len(allowed) != rows*words {
		return 0, fmt.Errorf("backend: Mask of %v by %d words: there must be %d, %d a row", x, len(allowed), rows*words, words)
	}
	return words, needWritable("Mask", x)
}
