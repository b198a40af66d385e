package hubtest

import (
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"
)

// noTime keeps answers without a date.
var noTime time.Time

// isFile reports whether a request is for a file's content.
func isFile(r *http.Request) bool { return !strings.HasPrefix(r.URL.Path, "/api/") }

// Cuts returns a fault that ends connections after some bytes of a file, in as many answers as times says. The numbers of bytes are
// random, below most.
func Cuts(times, most int, seed uint64) func(http.Handler) http.Handler {
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(seed, seed))
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			cut := isFile(r) && times > 0
			after := random.IntN(most)
			mu.Unlock()
			if !cut {
				next.ServeHTTP(w, r)
				return
			}
			next.ServeHTTP(&cuttingWriter{ResponseWriter: w, left: after, cut: func() {
				mu.Lock()
				times--
				mu.Unlock()
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			}}, r)
		})
	}
}

// cuttingWriter sends left bytes, and then fails.
type cuttingWriter struct {
	http.ResponseWriter
	left int
	cut  func()
}

// Write sends bytes until it cuts.
func (c *cuttingWriter) Write(b []byte) (int, error) {
	n := min(len(b), c.left)
	n, err := c.ResponseWriter.Write(b[:n])
	c.left -= n
	if err == nil && n < len(b) {
		c.cut()
	}
	return n, err
}

// NoRanges is a fault: whatever is asked for, files come from their beginning.
func NoRanges(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Del("Range")
		next.ServeHTTP(w, r)
	})
}

// WrongBytes returns a fault that changes a byte of each of some answers with files.
func WrongBytes(times int) func(http.Handler) http.Handler {
	var mu sync.Mutex
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			if isFile(r) && times != 0 {
				w = &changingWriter{ResponseWriter: w, change: func(b []byte) {
					if times != 0 {
						b[len(b)/2] ^= 1
						times--
					}
				}}
			}
			next.ServeHTTP(w, r)
		})
	}
}

// changingWriter changes the bytes of files that are sent.
type changingWriter struct {
	http.ResponseWriter
	change func([]byte)
	status int
}

// WriteHeader notes the status: the body of a redirect is no file.
func (c *changingWriter) WriteHeader(status int) {
	c.status = status
	c.ResponseWriter.WriteHeader(status)
}

// Write sends bytes.
func (c *changingWriter) Write(b []byte) (int, error) {
	if len(b) > 0 && (c.status == 0 || c.status == http.StatusOK || c.status == http.StatusPartialContent) {
		b = append([]byte(nil), b...)
		c.change(b)
	}
	return c.ResponseWriter.Write(b)
}

// Header returns a fault that changes the header of each answer with a file, before it is sent.
func Header(change func(http.Header)) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if isFile(r) {
				w = &headerWriter{ResponseWriter: w, change: change}
			}
			next.ServeHTTP(w, r)
		})
	}
}

// headerWriter changes the header.
type headerWriter struct {
	http.ResponseWriter
	change func(http.Header)
}

// WriteHeader sends the header.
func (h *headerWriter) WriteHeader(status int) {
	if status == http.StatusOK || status == http.StatusPartialContent {
		h.change(h.Header())
	}
	h.ResponseWriter.WriteHeader(status)
}

// NextPage returns a fault: every listing of a repository names a URL as that of its next page.
func NextPage(url string) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.Path, "/tree/") {
				w.Header().Set("Link", "<"+url+">; rel=\"next\"")
			}
			next.ServeHTTP(w, r)
		})
	}
}
