package flakyworkers

import (
	"fmt"

	fnpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/fnexecution_v1"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
)

// bundle is one ProcessBundle instruction of prism's, from its first message until prism has the answer. It is done in pieces, each of
// which is a bundle to some child.
//
// All of it is guarded by the worker's lock. Prism hears nothing of a bundle but splits, and one success of all pieces or one failure.
type bundle struct {
	id         string
	request    *fnpb.ProcessBundleRequest // nil until the instruction has come, which the data may overtake
	descriptor *descriptor                // set with request
	input      []*fnpb.Elements           // in prism's order
	complete   bool                       // all input has come
	pieces     []*piece                   // nil until the bundle has begun; together, their inputs are input
	unfinished int                        // pieces
	over       bool                       // prism has the answer: pieces that are still under way do not count
}

// bundleFor returns the bundle with prism's ID, a new one if there is no such bundle.
func (w *worker) bundleFor(id string) *bundle {
	b, ok := w.bundles[id]
	if !ok {
		b = &bundle{id: id}
		w.bundles[id] = b
	}
	return b
}

// startBundle gives the bundle out once all of it has come.
func (w *worker) startBundle(b *bundle) {
	if b.request == nil || !b.complete || b.pieces != nil || b.over {
		return
	}
	w.counts.bundles.Add(1)
	for i, input := range b.divide(w.options.Largest) {
		b.pieces = append(b.pieces, &piece{id: fmt.Sprintf("%s.%d", b.id, i), bundle: b, input: input})
	}
	b.unfinished = len(b.pieces)
	w.counts.pieces.Add(int64(len(b.pieces)))
	w.waiting = append(w.waiting, b.pieces...)
	w.dispatch()
}

// divide returns the bundle's input in pieces of at most largest elements. If largest is 0, or the bundle cannot be cut, it is one piece.
func (b *bundle) divide(largest int) [][]*fnpb.Elements {
	whole := [][]*fnpb.Elements{b.input}
	data, transform := dataOf(b.input)
	if largest == 0 || b.descriptor.whole || b.descriptor.input == nil || len(data) == 0 {
		return whole
	}
	var pieces [][]*fnpb.Elements
	for len(data) > 0 {
		some, err := b.descriptor.input.first(data, int64(largest))
		if err != nil {
			return whole
		}
		pieces = append(pieces, inputOf(transform, some))
		data = data[len(some):]
	}
	return pieces
}

// dataOf returns a copy of the elements in an input, one after the other, and the transform that they are for.
func dataOf(input []*fnpb.Elements) (data []byte, transform string) {
	for _, elements := range input {
		for _, d := range elements.GetData() {
			data, transform = append(data, d.GetData()...), d.GetTransformId()
		}
	}
	return data, transform
}

// inputOf returns elements as an input that ends with them.
func inputOf(transform string, data []byte) []*fnpb.Elements {
	return []*fnpb.Elements{{Data: []*fnpb.Elements_Data{
		{TransformId: transform, Data: data},
		{TransformId: transform, IsLast: true},
	}}}
}

// finishBundle sends prism what all pieces have put out, once all have succeeded.
func (w *worker) finishBundle(b *bundle) {
	if b.unfinished > 0 || b.over {
		return
	}
	w.forgetBundle(b)
	answer := &fnpb.ProcessBundleResponse{}
	var metrics [][]*pipepb.MonitoringInfo
	for i, p := range b.pieces {
		for _, elements := range p.attempt.output {
			if i < len(b.pieces)-1 { // the last piece's streams end the bundle's
				elements = withoutEndMarks(elements)
			}
			w.data.put(elements)
		}
		r := p.attempt.response
		answer.ResidualRoots = append(answer.ResidualRoots, r.GetResidualRoots()...)
		metrics = append(metrics, r.GetMonitoringInfos())
		if r.GetRequiresFinalization() {
			answer.RequiresFinalization = true
			w.finalizing[b.id] = append(w.finalizing[b.id], p.attempt)
		}
	}
	answer.MonitoringData = w.metrics.shorten(merge(metrics))
	w.control.put(&fnpb.InstructionResponse{
		InstructionId: b.id, Response: &fnpb.InstructionResponse_ProcessBundle{ProcessBundle: answer},
	})
}

// withoutEndMarks returns the elements without the mark that they end their stream.
func withoutEndMarks(elements *fnpb.Elements) *fnpb.Elements {
	for _, d := range elements.GetData() {
		d.IsLast = false
	}
	for _, t := range elements.GetTimers() {
		t.IsLast = false
	}
	return elements
}

// failBundle reports to prism that the bundle has failed, which ends its job.
func (w *worker) failBundle(b *bundle, why string) {
	if !b.over {
		w.forgetBundle(b)
		w.control.put(&fnpb.InstructionResponse{InstructionId: b.id, Error: why})
	}
}

// forgetBundle forgets a bundle that prism gets the answer to.
func (w *worker) forgetBundle(b *bundle) {
	b.over = true
	delete(w.bundles, b.id)
}
