//go:build opencl && (amd64 || arm64)

package opencl

import (
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// feed computes the networks of a layer's experts for few rows by two kernels, where their operations apart take five to eight launches: one
// multiplies with gate and up and joins the results, one multiplies with down and adds the rows of the pairs up. On devices on which the last group
// may not go on with what others have left, a third one adds them up.
//
//	one row, 8 of 128 experts   feed_gate on 8 pairs, feed_down on 8 pairs; the last group adds their rows
//	512 rows                    the operations apart: pairs of an expert are multiplied together
func (e *experts) feed(op *backend.FeedExperts) error {
	d, n := op.Dims(), &op.Network
	if d.Pairs == 0 || groups(d.Pairs, max(1, d.Experts)) > 1 {
		return e.plain(op)
	}
	e.mu.Lock()
	f := &e.feeds
	if !e.takes(f, op, d) {
		e.mu.Unlock()
		return e.plain(op)
	}
	defer e.mu.Unlock()
	if err := e.feedGate(f, d, n); err != nil {
		return err
	}
	return e.feedDown(f, d)
}

// feeding is the operands of a FeedExperts.
type feeding struct {
	gate, up, down                   weights
	x, chosen, factors, hidden, y    operand
	out                              operand
	gateBias, upBias, downBias       operand
	gateBiased, upBiased, downBiased int
	ofGate, ofDown                   teams // how the products are divided
}

// takes fills in the operands; false: no kernel takes them, or the kernels are not ready.
func (e *experts) takes(f *feeding, op *backend.FeedExperts, d backend.ExpertDims) bool {
	n := &op.Network
	*f = feeding{}
	for _, w := range [...]struct {
		to   *weights
		of   *tensor.Tensor
		k, n int
	}{{&f.gate, n.Gate, d.K, d.N}, {&f.up, n.Up, d.K, d.N}, {&f.down, n.Down, d.N, d.K}} {
		table, ok := multiplicable(e.queue, w.of, w.k)
		if !ok || len(table.parts) != 1 || !table.whole(w.n) {
			return false
		}
		*w.to = table
	}
	if f.gate.format.name != f.up.format.name {
		return false
	}
	for _, o := range [...]struct {
		to *operand
		of *tensor.Tensor
	}{{&f.x, op.X}, {&f.chosen, op.Chosen}, {&f.factors, op.Weights}, {&f.hidden, op.Gate}, {&f.y, op.Down}, {&f.out, op.Out}} {
		if *o.to = e.operand(o.of); !o.to.ok {
			return false
		}
	}
	for _, b := range [...]struct {
		to     *operand
		biased *int
		of     *tensor.Tensor
	}{{&f.gateBias, &f.gateBiased, n.GateBias}, {&f.upBias, &f.upBiased, n.UpBias}, {&f.downBias, &f.downBiased, n.DownBias}} {
		*b.to = f.out // some buffer, which is not used
		if b.of != nil {
			*b.biased = 1
			if *b.to = e.operand(b.of); !b.to.ok {
				return false
			}
		}
	}
	if !f.x.float4s() || !f.hidden.float4s() {
		return false
	}
	f.ofGate, _ = e.tuning.known(productShape{kernel: "norm_swiglu", format: f.gate.format.name, n: d.N, k: d.K})
	f.ofDown, _ = e.tuning.known(productShape{kernel: "matvec", format: f.down.format.name, n: d.K, k: d.N})
	gateReady := e.readyProduct("feed_gate", "feed_gate", &f.gate, f.ofGate)
	return e.readyProduct("feed_down", "feed_down", &f.down, f.ofDown) && gateReady
}

// feedGate enqueues the products with gate and up.
func (e *experts) feedGate(f *feeding, d backend.ExpertDims, n *backend.ExpertNetwork) error {
	kernel, err := e.kernel(e.tuning.program("feed_gate", f.gate.format.name, f.gate.lanes, f.ofGate), "feed_gate")
	if err != nil {
		return err
	}
	for _, w := range [...]*weights{&f.gate, &f.up} {
		w.pass(kernel, &w.parts[0], w.first, w.first+d.N)
	}
	f.gate.dims(kernel)
	floats(floats(quads(kernel, f.x), f.hidden).Int(d.N), f.chosen).Int(d.Pairs / d.Rows).Int(d.Experts)
	floats(floats(kernel, f.gateBias).Int(f.gateBiased), f.upBias).Int(f.upBiased).Int(int(n.Activation)).Float(n.Limit)
	return e.run("FeedExperts", kernel, f.ofGate.Group, f.ofGate.blocks(d.N, f.gate.lanes), d.Pairs, 1)
}

// feedDown enqueues the products with down, and the sum.
func (e *experts) feedDown(f *feeding, d backend.ExpertDims) error {
	choices := d.Pairs / d.Rows
	kernel, err := e.kernel(e.tuning.program("feed_down", f.down.format.name, f.down.lanes, f.ofDown), "feed_down")
	if err != nil {
		return err
	}
	blocks := f.ofDown.blocks(d.K, f.down.lanes)
	left, err := e.counts(d.Rows * blocks)
	if err != nil {
		return err
	}
	f.down.pass(kernel, &f.down.parts[0], f.down.first, f.down.first+d.K)
	f.down.dims(kernel)
	floats(floats(quads(kernel, f.hidden), f.y).Int(d.K), f.chosen).Int(d.Experts)
	floats(floats(kernel, f.downBias).Int(f.downBiased), f.factors, f.out).Int(choices).Mem(left)
	if err := e.run("FeedExperts", kernel, f.ofDown.Group, blocks, d.Pairs, 1); err != nil || e.tuning.lastGroup != "" {
		return err
	}
	if kernel, err = e.kernel(elementwise, "sum_experts"); err != nil {
		return err
	}
	return e.run("FeedExperts", floats(kernel, f.y, f.factors, f.out).Int(d.K).Int(choices), groupSize, groups(d.K, groupSize), d.Rows, 1)
}
