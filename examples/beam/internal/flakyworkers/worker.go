package flakyworkers

import (
	"context"
	"fmt"
	"math"
	"net"
	"sync"
	"time"

	fnpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/fnexecution_v1"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/util/grpcx"
	"google.golang.org/grpc"
)

// worker is what prism takes for one worker: its children's bundles are its own.
//
// Everything that arrives, from prism or from a child, is dealt with under mu. Nothing waits while mu is held: messages to send go to
// queues. The queues here lead to prism, a child's queues to the child.
type worker struct {
	id      string // prism's
	address string // for children
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

	mu            sync.Mutex
	stopping      bool
	started       int   // children so far
	notStarted    error // why the latest child that could not be started was not
	children      map[string]*child
	descriptors   map[string]*descriptor
	bundles       map[string]*bundle    // those that prism has no answer to, by its instruction ID
	waiting       []*piece              // those that no child has, and that are to be tried
	finalizing    map[string][]*attempt // those that prism has yet to finalize, by the bundle's ID
	metrics       shortIDs
	stateRequests map[string]stateRequest // requests for state that prism has not answered, by their ID there
	asked         int                     // requests for state so far
}

// stateRequest is a child's request for state.
type stateRequest struct {
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
		finalizing: map[string][]*attempt{}, stateRequests: map[string]stateRequest{},
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
		exchange(w.ctx, &w.running, control, w.control, func(r *fnpb.InstructionRequest) { w.handleInstruction(ctx, controls, r) })
	})
	w.running.Go(func() { exchange(w.ctx, &w.running, data, w.data, w.handleInput) })
	w.running.Go(func() { exchange(w.ctx, &w.running, state, w.state, w.handleStateResponse) })
	w.running.Go(func() { exchange(w.ctx, &w.running, log, w.log, func(*fnpb.LogControl) {}) })
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
