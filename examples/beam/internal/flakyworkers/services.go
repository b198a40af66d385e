package flakyworkers

import (
	"context"
	"fmt"
	"strconv"

	fnpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/fnexecution_v1"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/util/grpcx"
)

// services is the runner's side of the Fn API, for the children of a worker. Children say who they are in the metadata of each call. A
// child that ends a stream is killed: the worker has no use for it without the stream, and knows what to do about dead children.
type services struct {
	fnpb.UnimplementedBeamFnControlServer
	fnpb.UnimplementedBeamFnDataServer
	fnpb.UnimplementedBeamFnStateServer
	fnpb.UnimplementedBeamFnLoggingServer

	*worker
}

// caller returns the child that makes a call.
func (s *services) caller(ctx context.Context) (*child, error) {
	id, err := grpcx.ReadWorkerID(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.children[id]
	if !ok || c.dead {
		return nil, fmt.Errorf("no child %q lives", id)
	}
	c.connected = true
	return c, nil
}

// exchangeWithChild converses with a child until the stream ends, and with it the child.
func exchangeWithChild[S, R any, T interface {
	stream[S, R]
	Context() context.Context
}](s *services, stream T, out func(*child) *queue[S], take func(*child, R)) error {
	c, err := s.caller(stream.Context())
	if err != nil {
		return err
	}
	err = exchange[S, R](s.ctx, &s.running, stream, out(c), func(m R) { take(c, m) })
	s.mu.Lock()
	c.kill()
	s.mu.Unlock()
	return err
}

func (s *services) Control(stream fnpb.BeamFnControl_ControlServer) error {
	return exchangeWithChild(s, stream, func(c *child) *queue[*fnpb.InstructionRequest] { return c.control }, s.handleResponse)
}

func (s *services) Data(stream fnpb.BeamFnData_DataServer) error {
	return exchangeWithChild(s, stream, func(c *child) *queue[*fnpb.Elements] { return c.data }, s.handleOutput)
}

func (s *services) State(stream fnpb.BeamFnState_StateServer) error {
	return exchangeWithChild(s, stream, func(c *child) *queue[*fnpb.StateResponse] { return c.state }, s.handleStateRequest)
}

func (s *services) Logging(stream fnpb.BeamFnLogging_LoggingServer) error {
	for {
		entries, err := stream.Recv()
		if err != nil {
			return nil // what a child logs last may be lost
		}
		s.log.put(entries)
	}
}

func (s *services) GetProcessBundleDescriptor(
	_ context.Context, r *fnpb.GetProcessBundleDescriptorRequest,
) (*fnpb.ProcessBundleDescriptor, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, ok := s.descriptors[r.GetProcessBundleDescriptorId()]
	if !ok {
		return nil, fmt.Errorf("no bundle descriptor %q", r.GetProcessBundleDescriptorId())
	}
	return d.message, nil
}

// handleResponse deals with a child's answer to an instruction.
func (w *worker) handleResponse(c *child, r *fnpb.InstructionResponse) {
	w.mu.Lock()
	defer w.mu.Unlock()
	id := r.GetInstructionId()
	if then, ok := c.asked[id]; ok {
		delete(c.asked, id)
		then(r)
		return
	}
	a, ok := c.attempts[id]
	switch {
	case !ok || c.dead:
	case r.GetError() != "":
		w.attemptFailed(a, r.GetError())
	default:
		a.response = r.GetProcessBundle()
		w.completeAttempt(a)
	}
}

// handleOutput deals with what a child's attempts put out.
func (w *worker) handleOutput(c *child, elements *fnpb.Elements) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, d := range elements.GetData() {
		if a, ok := c.attempts[d.GetInstructionId()]; ok {
			d.InstructionId = a.piece.bundle.id
			w.holdOutput(a, &fnpb.Elements{Data: []*fnpb.Elements_Data{d}}, d.GetIsLast())
		}
	}
	for _, t := range elements.GetTimers() {
		if a, ok := c.attempts[t.GetInstructionId()]; ok {
			t.InstructionId = a.piece.bundle.id
			w.holdOutput(a, &fnpb.Elements{Timers: []*fnpb.Elements_Timers{t}}, t.GetIsLast())
		}
	}
}

// holdOutput holds back what an attempt put out.
func (w *worker) holdOutput(a *attempt, elements *fnpb.Elements, last bool) {
	a.output = append(a.output, elements)
	if last {
		a.streams--
		w.completeAttempt(a)
	}
}

// handleStateRequest passes a child's request for state to prism.
func (w *worker) handleStateRequest(c *child, r *fnpb.StateRequest) {
	w.mu.Lock()
	defer w.mu.Unlock()
	a, ok := c.attempts[r.GetInstructionId()]
	if !ok {
		c.state.put(&fnpb.StateResponse{Id: r.GetId(), Error: fmt.Sprintf("bundle %s is no longer under way", r.GetInstructionId())})
		return
	}
	if c.dead {
		return
	}
	if r.GetGet() == nil {
		a.piece.wrote = true
	}
	w.asked++
	id := strconv.Itoa(w.asked)
	w.stateRequests[id] = stateRequest{c, r.GetId()}
	r.Id, r.InstructionId = id, a.piece.bundle.id
	w.state.put(r)
}
