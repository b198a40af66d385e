package serve_test

import (
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve"
)

var soakRequests = flag.Int("soak", 0, "how many requests TestSoak sends; 0: 600, which says little of memory")

// level is what a process has in use at a moment.
type level struct {
	heap, resident          int64 // bytes
	goroutines, descriptors int
}

// levelNow returns the present level, after a collection of garbage.
func levelNow() level {
	runtime.GC()
	runtime.GC() // what finalizers and pools let go of
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	l := level{heap: int64(s.HeapAlloc), resident: resident(), goroutines: runtime.NumGoroutine()}
	if open, err := os.ReadDir("/proc/self/fd"); err == nil {
		l.descriptors = len(open)
	}
	return l
}

// TestSoak sends requests of all kinds to every path, over both versions of HTTP: right and wrong ones, whole answers and streams, and at every
// moment clients leave. Memory, goroutines and descriptors stay flat: from the third tenth of the requests on they hardly grow.
func TestSoak(t *testing.T) {
	effort.Turn(t, 8)
	model, err := embedded()
	if err != nil {
		t.Fatal(err)
	}
	n := *soakRequests
	if n == 0 {
		n = 600
		if testing.Short() {
			t.Skip("it takes some seconds")
		}
	}
	watch := &storm{}
	s, err := serve.New(serve.Options{Models: []serve.Model{{Name: "flint", Loaded: model}}, Observer: watch, MaxTokens: 3,
		Pool: llama.PoolOptions{MaxBytes: 16 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var urls []string
	var clients []*http.Client
	for _, second := range []bool{false, true} {
		h := httptest.NewUnstartedServer(s)
		h.EnableHTTP2 = second
		h.StartTLS()
		defer h.Close()
		h.Client().Transport.(*http.Transport).MaxIdleConnsPerHost = 16
		urls, clients = append(urls, h.URL), append(clients, h.Client())
	}
	requests := stormRequests(len(leavings))
	for _, r := range requests { // and those that stay to the end
		r.moment = ""
		requests = append(requests, r)
	}
	step := 7919 // with len(requests) it has no divisor in common, so that all kinds are mixed
	var whole atomic.Int64
	var levels [11]level
	levels[0] = levelNow()
	for tenth := range 10 {
		var next atomic.Int64
		var all sync.WaitGroup
		for range 12 {
			all.Go(func() {
				for {
					i := int(next.Add(1)) - 1
					if i >= n/10 {
						return
					}
					i += tenth * n / 10
					r := requests[i*step%len(requests)]
					if watch.send(clients[i%2], urls[i%2]+r.path, i, r.moment, r.body) {
						whole.Add(1)
					}
				}
			})
		}
		all.Wait()
		for _, c := range clients {
			c.CloseIdleConnections()
		}
		until(func() bool { return s.Stats().Running == 0 })
		l := levelNow()
		levels[tenth+1] = l
		t.Logf("after %7d requests: RSS %4d MB, heap %6.2f MB, %d goroutines, %d descriptors", (tenth+1)*n/10, l.resident>>20, float64(l.heap)/1e6, l.goroutines, l.descriptors)
	}
	if reached := watch.done.Load(); reached < int64(n)*3/4 || whole.Load() < int64(n)/4 {
		t.Errorf("of %d requests %d reached the server, and %d had an answer", n, reached, whole.Load())
	}
	from, to := levels[3], levels[10]
	if to.goroutines > from.goroutines+16 || to.descriptors > from.descriptors+16 || to.heap > from.heap*5/4+4<<20 || to.resident > from.resident*5/4+16<<20 {
		t.Errorf("from the third tenth to the last it grows from %+v to %+v", from, to)
	}
	if stats := s.Stats(); stats.Memory.Bytes != 0 || stats.Memory.Answers != 0 || stats.Models[0].Answers != 0 || stats.Models[0].Waiting != 0 {
		t.Errorf("nobody asks any more: %+v", stats)
	}
}
