package flakyworkers

import (
	"context"
	"fmt"

	fnpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/fnexecution_v1"
)

// handleInstruction deals with an instruction of prism's.
func (w *worker) handleInstruction(ctx context.Context, prism fnpb.BeamFnControlClient, r *fnpb.InstructionRequest) {
	process := r.GetProcessBundle()
	if process == nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.handleOther(r)
		return
	}
	d, err := w.describe(ctx, prism, process.GetProcessBundleDescriptorId())
	w.mu.Lock()
	defer w.mu.Unlock()
	b := w.bundleFor(r.GetInstructionId())
	if err != nil {
		w.failBundle(b, err.Error())
		return
	}
	b.request, b.descriptor = process, d
	w.startBundle(b)
}

// describe returns the descriptor with the ID, which is asked for once.
func (w *worker) describe(ctx context.Context, prism fnpb.BeamFnControlClient, id string) (*descriptor, error) {
	w.mu.Lock()
	d, ok := w.descriptors[id]
	w.mu.Unlock()
	if ok {
		return d, nil
	}
	message, err := prism.GetProcessBundleDescriptor(ctx, &fnpb.GetProcessBundleDescriptorRequest{ProcessBundleDescriptorId: id})
	if err != nil {
		return nil, fmt.Errorf("asking prism for bundle descriptor %q: %w", id, err)
	}
	d, err = describe(message, w.address)
	if err != nil {
		return nil, fmt.Errorf("reading bundle descriptor %q: %w", id, err)
	}
	w.mu.Lock()
	w.descriptors[id] = d
	w.mu.Unlock()
	return d, nil
}

// handleOther deals with an instruction that is no bundle. About a bundle that no child, or more than one, is at work on, prism
// gets an empty answer.
func (w *worker) handleOther(r *fnpb.InstructionRequest) {
	answer := &fnpb.InstructionResponse{InstructionId: r.GetInstructionId()}
	switch {
	case r.GetProcessBundleProgress() != nil:
		w.progress(r.GetProcessBundleProgress(), answer)
	case r.GetProcessBundleSplit() != nil:
		w.split(r.GetProcessBundleSplit(), answer)
	case r.GetFinalizeBundle() != nil:
		w.finalize(r.GetFinalizeBundle(), answer)
	case r.GetMonitoringInfos() != nil:
		answer.Response = &fnpb.InstructionResponse_MonitoringInfos{MonitoringInfos: w.metrics.expand(r.GetMonitoringInfos())}
		w.control.put(answer)
	default:
		answer.Error = fmt.Sprintf("the worker does not know this instruction: %v", r)
		w.control.put(answer)
	}
}

// progress asks the child how far a bundle is.
func (w *worker) progress(request *fnpb.ProcessBundleProgressRequest, answer *fnpb.InstructionResponse) {
	respond := func(r *fnpb.ProcessBundleProgressResponse) {
		if r == nil {
			r = &fnpb.ProcessBundleProgressResponse{}
		}
		r.MonitoringData, r.MonitoringInfos = w.metrics.shorten(r.GetMonitoringInfos()), nil
		answer.Response = &fnpb.InstructionResponse_ProcessBundleProgress{ProcessBundleProgress: r}
		w.control.put(answer)
	}
	p := w.onlyPiece(request.GetInstructionId())
	if p == nil {
		respond(nil)
		return
	}
	asked := &fnpb.ProcessBundleProgressRequest{InstructionId: p.attempt.id}
	p.attempt.child.sendInstruction(&fnpb.InstructionRequest{
		InstructionId: answer.GetInstructionId(), Request: &fnpb.InstructionRequest_ProcessBundleProgress{ProcessBundleProgress: asked},
	}, func(r *fnpb.InstructionResponse) { respond(r.GetProcessBundleProgress()) })
}

// onlyPiece returns the piece of a bundle that was left whole and is under way, or nil.
func (w *worker) onlyPiece(bundle string) *piece {
	b, ok := w.bundles[bundle]
	if !ok || len(b.pieces) != 1 || b.pieces[0].attempt == nil || b.pieces[0].attempt.child.dead {
		return nil
	}
	return b.pieces[0]
}

// split asks the child to split a bundle, and keeps the part that is left.
func (w *worker) split(request *fnpb.ProcessBundleSplitRequest, answer *fnpb.InstructionResponse) {
	respond := func(r *fnpb.ProcessBundleSplitResponse) {
		answer.Response = &fnpb.InstructionResponse_ProcessBundleSplit{ProcessBundleSplit: r}
		w.control.put(answer)
	}
	none := &fnpb.ProcessBundleSplitResponse{}
	p := w.onlyPiece(request.GetInstructionId())
	if p == nil || !p.divisible() {
		respond(none)
		return
	}
	a := p.attempt
	a.splits++
	asked := &fnpb.ProcessBundleSplitRequest{InstructionId: a.id, DesiredSplits: request.GetDesiredSplits()}
	a.child.sendInstruction(&fnpb.InstructionRequest{
		InstructionId: answer.GetInstructionId(), Request: &fnpb.InstructionRequest_ProcessBundleSplit{ProcessBundleSplit: asked},
	}, func(r *fnpb.InstructionResponse) {
		a.splits--
		s := r.GetProcessBundleSplit()
		if len(s.GetChannelSplits()) == 0 || p.attempt != a || a.child.dead { // no split, or of an attempt that does not count
			respond(none)
		} else if err := p.split(s); err != nil { // the attempt does a part only, and this worker does not know the other
			respond(none)
			w.attemptFailed(a, fmt.Sprintf("the worker could not follow a split: %v", err))
			return
		} else {
			w.counts.splits.Add(1)
			respond(s)
		}
		if p.attempt == a {
			w.completeAttempt(a)
		}
	})
}

// finalize asks the children to finalize the attempts that counted: prism has kept their output. It does not wait for their answers.
func (w *worker) finalize(request *fnpb.FinalizeBundleRequest, answer *fnpb.InstructionResponse) {
	for _, a := range w.finalizing[request.GetInstructionId()] {
		asked := &fnpb.FinalizeBundleRequest{InstructionId: a.id}
		a.child.sendInstruction(&fnpb.InstructionRequest{
			InstructionId: "finalize " + a.id, Request: &fnpb.InstructionRequest_FinalizeBundle{FinalizeBundle: asked},
		}, func(*fnpb.InstructionResponse) {})
	}
	delete(w.finalizing, request.GetInstructionId())
	answer.Response = &fnpb.InstructionResponse_FinalizeBundle{FinalizeBundle: &fnpb.FinalizeBundleResponse{}}
	w.control.put(answer)
}

// handleInput keeps input of bundles. Prism ends a bundle's input in one message that ends its data and its timers.
func (w *worker) handleInput(elements *fnpb.Elements) {
	w.mu.Lock()
	defer w.mu.Unlock()
	parts := map[string]*fnpb.Elements{} // by instruction
	part := func(id string) *fnpb.Elements {
		if parts[id] == nil {
			parts[id] = &fnpb.Elements{}
		}
		return parts[id]
	}
	for _, d := range elements.GetData() {
		p := part(d.GetInstructionId())
		p.Data = append(p.Data, d)
	}
	for _, t := range elements.GetTimers() {
		p := part(t.GetInstructionId())
		p.Timers = append(p.Timers, t)
	}
	for id, p := range parts {
		b := w.bundleFor(id)
		b.input = append(b.input, p)
		for _, d := range p.GetData() {
			b.complete = b.complete || d.GetIsLast()
		}
		w.startBundle(b)
	}
}

// handleStateResponse passes an answer of prism's to the child that asked for state.
func (w *worker) handleStateResponse(r *fnpb.StateResponse) {
	w.mu.Lock()
	defer w.mu.Unlock()
	q, ok := w.stateRequests[r.GetId()]
	if !ok {
		return
	}
	delete(w.stateRequests, r.GetId())
	r.Id = q.id
	q.child.state.put(r)
}
