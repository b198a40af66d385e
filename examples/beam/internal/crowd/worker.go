package crowd

import (
	"context"
	"fmt"
	"math"
	"net"
	"strconv"
	"sync"
	"time"

	fnpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/fnexecution_v1"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/util/grpcx"
	"google.golang.org/grpc"
)

// worker is what prism takes for one worker: its children's bundles are its own.
//
// Everything that arrives, from prism or from a child, is dealt with under mu, where nothing waits: what is to be sent goes to queues.
// The queues here lead to prism, those of children to them.
type worker struct {
	id      string // prism's
	address string // where children reach it
	options Options
	counts  *counts

	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup // all goroutines but those of gRPC
	prism   *grpc.ClientConn
	server  *grpc.Server

	control *queue[*fnpb.InstructionResponse]
	data    *queue[*fnpb.Elements]
	state   *queue[*fnpb.StateRequest]
	log     *queue[*fnpb.LogEntry_List]

	mu          sync.Mutex
	stopping    bool
	started     int   // children so far
	notStarted  error // why the latest child that could not be started was not
	children    map[string]*child
	descriptors map[string]*descriptor
	bundles     map[string]*bundle    // those that prism has no answer to, by its instruction ID
	waiting     []*piece              // those that no child has, and that are to be tried
	finalizing  map[string][]*attempt // those that prism has yet to finalize, by the bundle's ID
	metrics     shortIDs
	questions   map[string]question // requests for state that prism has not answered, by their ID there
	asked       int                 // requests for state so far
}

// question is a child's request for state.
type question struct {
	child *child
	id    string // the child's
}

// newWorker connects to prism at the address.
func newWorker(ctx context.Context, p *Pool, id, prism string) (*worker, error) {
	conn, err := grpcx.Dial(ctx, prism, time.Minute)
	if err != nil {
		return nil, fmt.Errorf("reaching prism: %w", err)
	}
	w := &worker{
		id: id, options: p.options, counts: &p.counts, prism: conn,
		server:  grpc.NewServer(grpc.MaxRecvMsgSize(math.MaxInt32), grpc.WaitForHandlers(true)),
		control: newQueue[*fnpb.InstructionResponse](), data: newQueue[*fnpb.Elements](), state: newQueue[*fnpb.StateRequest](),
		log:      newQueue[*fnpb.LogEntry_List](),
		children: map[string]*child{}, descriptors: map[string]*descriptor{}, bundles: map[string]*bundle{},
		finalizing: map[string][]*attempt{}, questions: map[string]question{},
		metrics: newShortIDs(),
	}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	if err := w.connect(); err != nil {
		w.stop()
		return nil, err
	}
	return w, nil
}

// connect opens the worker's streams to prism and the services for children.
func (w *worker) connect() error {
	ctx := grpcx.WriteWorkerID(w.ctx, w.id)
	controls := fnpb.NewBeamFnControlClient(w.prism)
	control, err := controls.Control(ctx)
	if err != nil {
		return fmt.Errorf("opening prism's control stream: %w", err)
	}
	data, err := fnpb.NewBeamFnDataClient(w.prism).Data(ctx)
	if err != nil {
		return fmt.Errorf("opening prism's data stream: %w", err)
	}
	state, err := fnpb.NewBeamFnStateClient(w.prism).State(ctx)
	if err != nil {
		return fmt.Errorf("opening prism's state stream: %w", err)
	}
	log, err := fnpb.NewBeamFnLoggingClient(w.prism).Logging(ctx)
	if err != nil {
		return fmt.Errorf("opening prism's logging stream: %w", err)
	}
	listener, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		return fmt.Errorf("listening for children: %w", err)
	}
	w.address = listener.Addr().String()
	services := &services{worker: w}
	fnpb.RegisterBeamFnControlServer(w.server, services)
	fnpb.RegisterBeamFnDataServer(w.server, services)
	fnpb.RegisterBeamFnStateServer(w.server, services)
	fnpb.RegisterBeamFnLoggingServer(w.server, services)
	w.running.Go(func() { w.server.Serve(listener) })

	w.running.Go(func() {
		converse(w.ctx, &w.running, control, w.control, func(r *fnpb.InstructionRequest) { w.instructed(ctx, controls, r) })
	})
	w.running.Go(func() { converse(w.ctx, &w.running, data, w.data, w.fed) })
	w.running.Go(func() { converse(w.ctx, &w.running, state, w.state, w.answered) })
	w.running.Go(func() { converse(w.ctx, &w.running, log, w.log, func(*fnpb.LogControl) {}) })
	return nil
}

// stop ends the worker and its children. It returns when nothing of them is left.
func (w *worker) stop() {
	w.mu.Lock()
	w.stopping = true
	for _, c := range w.children {
		c.kill()
	}
	w.mu.Unlock()
	w.cancel()
	w.server.Stop()
	w.running.Wait()
	w.prism.Close()
}

// instructed deals with an instruction of prism's.
func (w *worker) instructed(ctx context.Context, prism fnpb.BeamFnControlClient, r *fnpb.InstructionRequest) {
	process := r.GetProcessBundle()
	if process == nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.instructedOther(r)
		return
	}
	d, err := w.describe(ctx, prism, process.GetProcessBundleDescriptorId())
	w.mu.Lock()
	defer w.mu.Unlock()
	b := w.bundle(r.GetInstructionId())
	if err != nil {
		w.fail(b, err.Error())
		return
	}
	b.request, b.descriptor = process, d
	w.begin(b)
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

// instructedOther deals with an instruction that is no bundle. About a bundle that no child, or
// more than one, is at work on, prism gets an empty answer.
func (w *worker) instructedOther(r *fnpb.InstructionRequest) {
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
		answer.Error = fmt.Sprintf("the crowd does not know this instruction: %v", r)
		w.control.put(answer)
	}
}

func (w *worker) progress(request *fnpb.ProcessBundleProgressRequest, answer *fnpb.InstructionResponse) {
	respond := func(r *fnpb.ProcessBundleProgressResponse) {
		if r == nil {
			r = &fnpb.ProcessBundleProgressResponse{}
		}
		r.MonitoringData, r.MonitoringInfos = w.metrics.shorten(r.GetMonitoringInfos()), nil
		answer.Response = &fnpb.InstructionResponse_ProcessBundleProgress{ProcessBundleProgress: r}
		w.control.put(answer)
	}
	p := w.only(request.GetInstructionId())
	if p == nil {
		respond(nil)
		return
	}
	p.attempt.child.ask(&fnpb.InstructionRequest{InstructionId: answer.GetInstructionId(), Request: &fnpb.InstructionRequest_ProcessBundleProgress{
		ProcessBundleProgress: &fnpb.ProcessBundleProgressRequest{InstructionId: p.attempt.id},
	}}, func(r *fnpb.InstructionResponse) { respond(r.GetProcessBundleProgress()) })
}

// only returns the piece of a bundle that was left whole and is under way, or nil.
func (w *worker) only(bundle string) *piece {
	b, ok := w.bundles[bundle]
	if !ok || len(b.pieces) != 1 || b.pieces[0].attempt == nil || b.pieces[0].attempt.child.dead {
		return nil
	}
	return b.pieces[0]
}

func (w *worker) split(request *fnpb.ProcessBundleSplitRequest, answer *fnpb.InstructionResponse) {
	respond := func(r *fnpb.ProcessBundleSplitResponse) {
		answer.Response = &fnpb.InstructionResponse_ProcessBundleSplit{ProcessBundleSplit: r}
		w.control.put(answer)
	}
	none := &fnpb.ProcessBundleSplitResponse{}
	p := w.only(request.GetInstructionId())
	if p == nil || !p.divisible() {
		respond(none)
		return
	}
	a := p.attempt
	a.splits++
	a.child.ask(&fnpb.InstructionRequest{InstructionId: answer.GetInstructionId(), Request: &fnpb.InstructionRequest_ProcessBundleSplit{
		ProcessBundleSplit: &fnpb.ProcessBundleSplitRequest{InstructionId: a.id, DesiredSplits: request.GetDesiredSplits()},
	}}, func(r *fnpb.InstructionResponse) {
		a.splits--
		s := r.GetProcessBundleSplit()
		if len(s.GetChannelSplits()) == 0 || p.attempt != a || a.child.dead { // no split, or of an attempt that does not count
			respond(none)
		} else if err := p.split(s); err != nil { // the attempt does a part only, and the crowd does not know the other
			respond(none)
			w.attemptFailed(a, fmt.Sprintf("the crowd could not follow a split: %v", err))
			return
		} else {
			w.counts.splits.Add(1)
			respond(s)
		}
		if p.attempt == a {
			w.settle(a)
		}
	})
}

// finalize tells the children whose attempts counted that prism has kept what they put out. It waits for none of them.
func (w *worker) finalize(request *fnpb.FinalizeBundleRequest, answer *fnpb.InstructionResponse) {
	for _, a := range w.finalizing[request.GetInstructionId()] {
		a.child.ask(&fnpb.InstructionRequest{InstructionId: "finalize " + a.id, Request: &fnpb.InstructionRequest_FinalizeBundle{
			FinalizeBundle: &fnpb.FinalizeBundleRequest{InstructionId: a.id},
		}}, func(*fnpb.InstructionResponse) {})
	}
	delete(w.finalizing, request.GetInstructionId())
	answer.Response = &fnpb.InstructionResponse_FinalizeBundle{FinalizeBundle: &fnpb.FinalizeBundleResponse{}}
	w.control.put(answer)
}

// fed keeps input of bundles. Prism ends a bundle's input in one message that ends its data and its timers.
func (w *worker) fed(elements *fnpb.Elements) {
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
		b := w.bundle(id)
		b.input = append(b.input, p)
		for _, d := range p.GetData() {
			b.complete = b.complete || d.GetIsLast()
		}
		w.begin(b)
	}
}

// answered passes an answer of prism's to the child that asked for state.
func (w *worker) answered(r *fnpb.StateResponse) {
	w.mu.Lock()
	defer w.mu.Unlock()
	q, ok := w.questions[r.GetId()]
	if !ok {
		return
	}
	delete(w.questions, r.GetId())
	r.Id = q.id
	q.child.state.put(r)
}

// responded deals with a child's answer to an instruction.
func (w *worker) responded(c *child, r *fnpb.InstructionResponse) {
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
		w.settle(a)
	}
}

// put deals with what a child's attempts put out.
func (w *worker) put(c *child, elements *fnpb.Elements) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, d := range elements.GetData() {
		if a, ok := c.attempts[d.GetInstructionId()]; ok {
			d.InstructionId = a.piece.bundle.id
			w.putOne(a, &fnpb.Elements{Data: []*fnpb.Elements_Data{d}}, d.GetIsLast())
		}
	}
	for _, t := range elements.GetTimers() {
		if a, ok := c.attempts[t.GetInstructionId()]; ok {
			t.InstructionId = a.piece.bundle.id
			w.putOne(a, &fnpb.Elements{Timers: []*fnpb.Elements_Timers{t}}, t.GetIsLast())
		}
	}
}

func (w *worker) putOne(a *attempt, elements *fnpb.Elements, last bool) {
	a.output = append(a.output, elements)
	if last {
		a.streams--
		w.settle(a)
	}
}

// requested passes a child's request for state to prism.
func (w *worker) requested(c *child, r *fnpb.StateRequest) {
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
	w.questions[id] = question{c, r.GetId()}
	r.Id, r.InstructionId = id, a.piece.bundle.id
	w.state.put(r)
}
