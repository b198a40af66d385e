package source

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/parallel"
	"github.com/antigravity-go/antigravity/tensor"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
)

// A Loader prepares tensors on several goroutines. For each one TargetType says its type on the device; the file's bytes are read as a
// view if they can be, brought into the wanted order and type, and given to the device in its layout. For example, on the CPU:
//
//	tensor in the file                          asked   on the device
//	matrix of a linear layer, Q4_0              0       Q4_0, in the order that the CPU computes with
//	matrix of a linear layer, BF16              Q4_0    converted to Q4_0, then put in that order
//	output head, BF16                           Q4_0    converted to Q8_0
//	table of embeddings that is only looked up  Q4_0    the view of the file
//	vector of a norm, F16                       Q4_0    F32, with Stored's change of its elements
//	matrix with an adapter to be added          0       merged, see prepareMerged

// Loader brings stored tensors into the type and the layout that a device computes with. It is safe for concurrent use.
type Loader struct {
	device  backend.Backend
	host    backend.Backend // on the host's memory: converts weights on their way to the device, and adds adapters to them
	own     bool            // the device is host
	done    func()
	threads int
	asked   tensor.DType
	merge   *Merge
	mapped  bool // see MapExperts
}

// NewLoader makes a loader for a device, with up to threads threads on the host; 0: GOMAXPROCS. Linear layers get the type asked; 0: as
// stored. merge is added to them; nil: nothing is. Close the loader when all is loaded.
func NewLoader(b backend.Backend, threads int, asked tensor.DType, merge *Merge) *Loader {
	l := &Loader{device: b, threads: threads, asked: asked, merge: merge}
	if own, ok := b.(*cpu.Backend); ok {
		l.host, l.own, l.done = own, true, func() {}
		return l
	}
	own := cpu.New(threads) // another device may not compute on the host's memory
	l.host, l.done = own, func() { own.Close() }
	return l
}

// MapExperts makes Load leave matrices of experts in mapped files if the device can compute with them there: slower, but without a copy in
// memory.
func (l *Loader) MapExperts(on bool) {
	_, onHost := l.device.(*cpu.Backend)
	l.mapped = on && onHost
}

// Close gives back what the loader worked with.
func (l *Loader) Close() { l.done() }

// Memory returns the memory in which tensors on their way are kept.
func (l *Loader) Memory() tensor.Memory { return l.host.Memory() }

// atOnce is how many bytes of tensors, as the files have them, Load works with at the same time, or one tensor if it has more: so that a model takes little
// more memory while it is loaded than afterwards, also with many threads.
const atOnce = 256 << 20

// Load prepares all tensors, several at a time, until the context ends. set is given each one that is ready, and owns it; if the tensor lies in a mapped file,
// release says to the system that its pages are not needed for now, else it is nil. loaded is called with the bytes of it in the file. Both are called by several
// goroutines at once. also runs meanwhile, and its error ends Load. viewed reports whether some of the tensors are views of the files, which must then stay open.
func (l *Loader) Load(ctx context.Context, tensors []model.Tensor, stored []Stored, set func(t *model.Tensor, ready *tensor.Tensor, release func()), loaded func(bytes int), also func() error) (viewed bool, err error) {
	var views atomic.Bool
	workers, failing := errgroup.WithContext(ctx)
	workers.SetLimit(max(l.threads, 2) + 1)
	workers.Go(func() error { return parallel.Call(also) })
	room := semaphore.NewWeighted(atOnce)
	for i := range tensors {
		takes := min(int64(stored[i].Bytes()), atOnce)
		if room.Acquire(failing, takes) != nil { // Wait has the reason
			break
		}
		workers.Go(func() (err error) {
			defer room.Release(takes)
			defer parallel.Catch(&err)() // a mapped file may be cut short
			ready, view, err := l.prepareMerged(ctx, &stored[i], &tensors[i])
			if err != nil {
				return fmt.Errorf("the tensor %s: %w", stored[i].name, err)
			}
			var again func()
			if view && stored[i].inMap() {
				again = stored[i].release
			}
			set(&tensors[i], ready, again)
			if view {
				views.Store(true)
			} else {
				stored[i].release()
			}
			loaded(stored[i].Bytes())
			return nil
		})
	}
	if err := workers.Wait(); err != nil {
		return views.Load(), err
	}
	return views.Load(), ctx.Err() // it may have ended before the last tensor was begun
}

// TargetType returns the type in which a tensor of a role is kept, if files have it in the type stored and the caller wants linear layers in the type
// asked; asked is 0 if the caller wants them as stored. The head decides between neighbouring tokens and gets eight bits, as the usual four-bit files
// give it six.
func TargetType(role model.Role, stored, asked tensor.DType) tensor.DType {
	switch {
	case role == model.Vector:
		return tensor.F32
	case asked == 0 || role == model.Lookup || role == model.Pooled || role == model.Routing:
		return stored
	case role == model.Logits && asked.Quantized():
		return tensor.Q8_0
	default:
		return asked
	}
}

// BytesAs returns how many bytes a tensor takes in the type in which it is kept, if it has a role and the caller wants a type; see TargetType.
func BytesAs(s *Stored, role model.Role, asked tensor.DType) int64 {
	n, err := TargetType(role, s.dtype, asked).Bytes(s.shape.NumElements())
	if err != nil { // loading will say so
		n = s.Bytes()
	}
	return int64(n)
}

// prepareMerged is prepare for a tensor to which adapters may be added. A table that is only looked up in stays as it lies in the file, if the device computes
// on the host's memory; that of the inputs of layers always does, since it may be as large as all other tensors together, and a token needs one row.
func (l *Loader) prepareMerged(ctx context.Context, s *Stored, t *model.Tensor) (ready *tensor.Tensor, view bool, err error) {
	if pairs := l.merge.of(t); len(pairs) > 0 {
		ready, err = l.merged(ctx, s, pairs)
		return ready, false, err
	}
	if t.Part == model.PerLayerEmbedding || l.own && t.Role == model.Lookup {
		ready, _, view, err = s.read(ctx, l.Memory(), true)
		return ready, view, err
	}
	return l.prepare(ctx, s, t.Role, l.asked)
}

// prepare brings a tensor into the type and the layout that the device computes with. What it returns may be a view of the file.
func (l *Loader) prepare(ctx context.Context, s *Stored, role model.Role, asked tensor.DType) (ready *tensor.Tensor, view bool, err error) {
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	d := TargetType(role, s.dtype, asked)
	if s.rare != nil && s.rare.Whole() {
		d = s.dtype
	}
	if l.mapped && role == model.Expert && d == s.dtype && s.Mappable() {
		t, view, err := s.asStored(ctx, l.Memory())
		if err != nil {
			return nil, false, err
		}
		return t, view, nil
	}
	c, converts := l.device.(backend.Converter) // it changes type and order of rows itself
	converts = converts && role != model.Vector
	t, order, view, err := s.read(ctx, l.Memory(), !converts)
	if err != nil {
		return nil, false, err
	}
	defer func() { // also when a device panics
		if t != ready {
			t.Free()
		}
	}()
	if converts {
		ready, err = c.PrepareAs(ctx, t, d, order)
	} else {
		ready, err = l.prepareAs(ctx, s, t, role, d)
	}
	return ready, view && ready == t, err
}

// prepareAs is prepare for a tensor on the host that has its rows in Hugging Face's order. What it returns may be t.
func (l *Loader) prepareAs(ctx context.Context, s *Stored, t *tensor.Tensor, role model.Role, d tensor.DType) (ready *tensor.Tensor, err error) {
	converted, err := convert(ctx, t, d, l.host)
	if err != nil {
		return nil, err
	}
	defer func() {
		if converted != t && converted != ready {
			converted.Free()
		}
	}()
	if role != model.Vector {
		return backend.Prepare(ctx, l.device, converted)
	}
	adjusted, err := s.adjusted(converted, l.host)
	if err != nil {
		return nil, err
	}
	if ready, err = adjusted.ToDevice(l.device); adjusted != ready && adjusted != converted {
		adjusted.Free()
	}
	return ready, err
}

// Pair prepares what an adapter adds to one matrix, with zeros so that the inner dimension is a multiple of unit: a [inner, in] and b
// [out, inner], which belong to the caller.
func (l *Loader) Pair(ctx context.Context, p *Pair, unit int) (a, b *tensor.Tensor, err error) {
	defer parallel.Catch(&err)()
	inner := (p.rank() + unit - 1) / unit * unit
	if a, err = l.factor(ctx, &p.a, inner, p.a.shape.Dim(1)); err == nil {
		if b, err = l.factor(ctx, &p.b, p.b.shape.Dim(0), inner); err == nil {
			return a, b, nil
		}
		a.Free()
	}
	return nil, nil, fmt.Errorf("the adapter's tensors of %s: %w", p.Of.HuggingFace.Name, err)
}

// factor prepares one of an adapter's matrices, with further rows and columns of zeros.
func (l *Loader) factor(ctx context.Context, f *factor, rows, cols int) (ready *tensor.Tensor, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t, err := f.read(ctx, l.host, rows, cols)
	if err != nil {
		return nil, err
	}
	defer func() { // also when a device panics
		if t != ready {
			t.Free()
		}
	}()
	if c, ok := l.device.(backend.Converter); ok {
		return c.PrepareAs(ctx, t, t.DType(), nil)
	}
	return backend.Prepare(ctx, l.device, t)
}
