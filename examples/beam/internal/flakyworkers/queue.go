package flakyworkers

import (
	"context"
	"sync"
)

// queue carries messages to the one goroutine that writes a gRPC stream. put never waits, so it may be called under a lock. What
// waits here is bounded by what prism has under way: a few bundles.
type queue[M any] struct {
	mu       sync.Mutex
	messages []M
	filled   chan struct{} // holds one token whenever messages may be waiting
}

func newQueue[M any]() *queue[M] { return &queue[M]{filled: make(chan struct{}, 1)} }

func (q *queue[M]) put(m M) {
	q.mu.Lock()
	q.messages = append(q.messages, m)
	q.mu.Unlock()
	select {
	case q.filled <- struct{}{}:
	default:
	}
}

// drain writes messages in their order until the context ends or write fails.
func (q *queue[M]) drain(ctx context.Context, write func(M) error) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-q.filled:
		}
		q.mu.Lock()
		messages := q.messages
		q.messages = nil
		q.mu.Unlock()
		for _, m := range messages {
			if write(m) != nil {
				return // reading the stream fails, too, and whoever reads it deals with that
			}
		}
	}
}

// stream is either end of a gRPC stream.
type stream[S, R any] interface {
	Send(S) error
	Recv() (R, error)
}

// exchange writes what comes into out and gives what arrives to take, until the stream ends; it returns why. The writer is a
// goroutine of the group and ends soon after.
func exchange[S, R any](ctx context.Context, group *sync.WaitGroup, s stream[S, R], out *queue[S], take func(R)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	group.Go(func() { out.drain(ctx, s.Send) })
	for {
		m, err := s.Recv()
		if err != nil {
			return err
		}
		take(m)
	}
}
