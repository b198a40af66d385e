package clients

import (
	"context"
	"testing"
	"time"
)

// leaves checks that an answer ends when its client leaves. begin starts an answer of longSchema's form at the small server; once its first
// piece has come, begin returns a function that reads the rest. ask asks the same server for something short. That server computes one
// answer at a time, so the short one comes soon only if the long one is not computed any more.
func leaves(t *testing.T, begin func(context.Context) (rest func()), ask func()) {
	t.Helper()
	started := time.Now()
	begin(t.Context())()
	long := time.Since(started)

	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	rest := begin(ctx)
	leave()
	rest()
	left := time.Now()
	ask()
	if waited := time.Since(left); waited > long/2 {
		t.Errorf("after its client left, the answer kept another waiting for %v; all of it takes %v", waited, long)
	}
}

// crowd checks the answers to clients when too many ask at once. begin is as for leaves, and ask returns whether it was refused: eight ask
// while a long answer is computed, and the server lets one of them wait.
func crowd(t *testing.T, begin func(context.Context) (rest func()), ask func() (refused bool)) {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	rest := begin(ctx)
	outcomes := make(chan bool)
	const asked = 8
	for range asked {
		go func() { outcomes <- ask() }()
	}
	refused := 0
	for i := range asked {
		if <-outcomes {
			refused++
		}
		if i == 0 {
			if refused == 0 {
				t.Error("the first that came back was answered, and not refused")
			}
			leave() // who waits is answered now
		}
	}
	rest()
	if refused == asked {
		t.Error("nobody was let wait")
	}
}
