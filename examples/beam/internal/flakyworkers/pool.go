// Package flakyworkers puts many workers that may fail in place of the single worker of Beam's embedded runner, prism, which may not.
//
// Prism has one worker, never tries a failed bundle again, and fails a job when its worker dies. Flink, Spark and Dataflow have many
// workers, give failed bundles to others, and outlive dead ones: that is what a pipeline must bear, and what no test could show on prism
// alone. A Pool stands between them. To prism it is a pool of external workers, and each of its workers speaks the worker's side of the Fn
// API; to its children, which are real Beam workers, it speaks the runner's side. It keeps what a bundle needs to be tried again, and holds
// an attempt's output back until the attempt has succeeded. It also makes bundles fail, and kills children, as planned.
//
// If a bundle changed the runner's state before it failed, it is not tried again: prism has the changes already. Our pipelines have no
// state.
package flakyworkers

import (
	"context"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"

	fnpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/fnexecution_v1"
	"google.golang.org/grpc"
)

// Options describe a pool of flaky workers. Children, Slots and Attempts must be at least 1.
type Options struct {
	Children int     // living children at any time
	Slots    int     // bundles that a child has at once
	Start    Starter // how a child is started
	Attempts int     // at a bundle; Dataflow's number is 4
	// Largest is how many elements a bundle has at most; 0 leaves bundles as prism makes them, which is everything that is there.
	Largest int
	// NoReplacement says that children that died are not replaced.
	NoReplacement bool
	// Faults, if it is set, is called at the start of each attempt and returns the fault to plant.
	Faults func() Fault
}

// Counts are what the workers of a pool have done so far.
type Counts struct {
	Bundles  int64 // that prism has given out
	Pieces   int64 // that they were cut into, bundles to children
	Attempts int64 // at pieces
	Failures int64 // planted
	Kills    int64 // planted
	Splits   int64 // that children agreed to
	Started  int64 // children
	Died     int64 // children, before their job's end
}

type counts struct{ bundles, pieces, attempts, failures, kills, splits, started, died atomic.Int64 }

// Pool is a pool of workers for prism. Each worker has children that may fail. Several jobs may use a Pool, each with children of its own.
type Pool struct {
	fnpb.UnimplementedBeamFnExternalWorkerPoolServer

	options Options
	address string
	server  *grpc.Server
	counts  counts

	mu      sync.Mutex
	workers map[string]*worker
	closed  bool
}

// New starts a pool, which must be closed.
func New(options Options) (*Pool, error) {
	if min(options.Children, options.Slots, options.Attempts) < 1 || options.Largest < 0 || options.Start == nil {
		return nil, fmt.Errorf("starting a pool of %d children with %d slots that tries bundles of %d elements %d times: "+
			"all but the elements must be at least 1, and Start be set", options.Children, options.Slots, options.Largest, options.Attempts)
	}
	listener, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		return nil, fmt.Errorf("starting a pool: %w", err)
	}
	p := &Pool{
		options: options, address: listener.Addr().String(), workers: map[string]*worker{},
		server: grpc.NewServer(grpc.WaitForHandlers(true)),
	}
	fnpb.RegisterBeamFnExternalWorkerPoolServer(p.server, p)
	go p.server.Serve(listener) // ends with the server
	return p, nil
}

// Flags returns the arguments that make a Beam program use the pool.
func (p *Pool) Flags() []string {
	return []string{
		"--environment_type=EXTERNAL", "--environment_config=" + p.address,
		"--worker_binary=" + os.DevNull, // or Beam would compile one, to send it to workers that have one
	}
}

// Counts returns what the pool has done so far.
func (p *Pool) Counts() Counts {
	c := &p.counts
	return Counts{
		Bundles: c.bundles.Load(), Pieces: c.pieces.Load(), Attempts: c.attempts.Load(), Failures: c.failures.Load(),
		Kills: c.kills.Load(), Splits: c.splits.Load(), Started: c.started.Load(), Died: c.died.Load(),
	}
}

// Close ends all workers and returns when nothing of them is left.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	workers := p.workers
	p.workers = map[string]*worker{}
	p.mu.Unlock()
	for _, w := range workers {
		w.stop()
	}
	p.server.Stop()
}

// StartWorker is called by prism when a job starts. An error here would end prism's process.
func (p *Pool) StartWorker(ctx context.Context, request *fnpb.StartWorkerRequest) (*fnpb.StartWorkerResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	id := request.GetWorkerId()
	if p.closed || p.workers[id] != nil {
		return &fnpb.StartWorkerResponse{Error: fmt.Sprintf("worker %q: the pool is closed, or has such a worker", id)}, nil
	}
	w, err := newWorker(ctx, p, id, request.GetControlEndpoint().GetUrl())
	if err != nil {
		return &fnpb.StartWorkerResponse{Error: fmt.Sprintf("worker %q: %v", id, err)}, nil
	}
	p.workers[id] = w
	return &fnpb.StartWorkerResponse{}, nil
}

// StopWorker is called by prism when a job has ended. It returns when nothing of the worker is left.
func (p *Pool) StopWorker(_ context.Context, request *fnpb.StopWorkerRequest) (*fnpb.StopWorkerResponse, error) {
	p.mu.Lock()
	w := p.workers[request.GetWorkerId()]
	delete(p.workers, request.GetWorkerId())
	p.mu.Unlock()
	if w != nil {
		w.stop()
	}
	return &fnpb.StopWorkerResponse{}, nil
}
