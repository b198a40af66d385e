package wire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"
)

// connected is a ResponseWriter over a connection that a request's body is read from.
type connected struct {
	http.ResponseWriter
	net.Conn
}

func (c connected) Write(p []byte) (int, error)       { return c.ResponseWriter.Write(p) }
func (c connected) SetReadDeadline(t time.Time) error { return c.Conn.SetReadDeadline(t) }

// free lets a body take any memory.
func free(int64) error { return nil }

func TestBodiesThatDoNotCome(t *testing.T) {
	cause := errors.New("the server has no time")
	for _, c := range []struct {
		name  string
		after time.Duration // when the request's context ends; 0: never
		takes time.Duration
		want  func(error) bool
	}{
		{"a client that stops", 0, ReadTimeout, func(err error) bool { return ErrorOf(err).Status == http.StatusRequestTimeout }},
		{"a request that ends meanwhile", 10 * time.Second, 10 * time.Second, func(err error) bool { return errors.Is(err, cause) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, server := net.Pipe()
				defer client.Close()
				go client.Write([]byte(`{"model":`)) // and no more
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				if c.after > 0 {
					time.AfterFunc(c.after, func() { cancel(cause) })
				}
				request := httptest.NewRequestWithContext(ctx, "POST", "/", server)
				began := time.Now()
				_, err := Body(connected{httptest.NewRecorder(), server}, request, 1000, free)
				if took := time.Since(began); err == nil || !c.want(err) || took != c.takes {
					t.Errorf("after %v: %v", took, err)
				}
			})
		})
	}
}

// slowDeadline is a ResponseWriter that takes a while to set a deadline. It notes how many are being set.
type slowDeadline struct {
	http.ResponseWriter
	setting atomic.Int64
}

func (s *slowDeadline) SetReadDeadline(time.Time) error {
	s.setting.Add(1)
	defer s.setting.Add(-1)
	time.Sleep(time.Second)
	return nil
}

// leaving is a body. Its client leaves while it is read.
type leaving struct {
	io.Reader
	leave func()
}

func (l leaving) Read(p []byte) (int, error) {
	l.leave()
	synctest.Wait() // for what follows when the context ends
	return l.Reader.Read(p)
}

// panics is a body that cannot be read.
type panics struct{}

func (panics) Read([]byte) (int, error) { panic("a test's own") }

// TestNothingTouchesARequestAfterItsBody has clients leave while their body is read: however the reading ends, nothing touches the request
// once Body is over.
func TestNothingTouchesARequestAfterItsBody(t *testing.T) {
	full := errors.New("full")
	for name, c := range map[string]struct {
		body io.Reader
		hold func(int64) error
	}{
		"a body that is there":     {bytes.NewReader([]byte("{}")), free},
		"a body that is too large": {bytes.NewReader(make([]byte, 101)), free},
		"a body that ends early":   {iotest.ErrReader(io.ErrUnexpectedEOF), free},
		"a body without memory":    {bytes.NewReader(make([]byte, 90)), func(n int64) error { return full }},
		"a body that panics":       {panics{}, free},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, leave := context.WithCancel(t.Context())
				w := &slowDeadline{ResponseWriter: httptest.NewRecorder()}
				request := httptest.NewRequestWithContext(ctx, "POST", "/", leaving{c.body, leave})
				hold := func(n int64) error { leave(); synctest.Wait(); return c.hold(n) }
				func() {
					defer func() { _ = recover() }()
					_, _ = Body(w, request, 100, hold)
				}()
				if n := w.setting.Load(); n != 0 {
					t.Errorf("%d deadlines are being set after the body", n)
				}
				synctest.Wait()
				if n := w.setting.Load(); n != 0 {
					t.Errorf("%d deadlines are set later", n)
				}
			})
		})
	}
}

// TestBodiesTakeMemoryAsTheyCome reads bodies of all lengths, with and without their announcement, and counts the bytes that hold is asked
// for.
func TestBodiesTakeMemoryAsTheyCome(t *testing.T) {
	const limit = 1 << 20
	for _, size := range []int{0, 1, firstRead - 1, firstRead, firstRead + 1, 100_000, limit - 1, limit} {
		for _, announced := range []int64{int64(size), -1} {
			request := httptest.NewRequest("POST", "/", iotest.OneByteReader(bytes.NewReader(make([]byte, size))))
			if size > 10_000 {
				request.Body = io.NopCloser(iotest.HalfReader(bytes.NewReader(make([]byte, size))))
			}
			request.ContentLength = announced
			held := int64(0)
			body, err := Body(httptest.NewRecorder(), request, limit, func(n int64) error { held += n; return nil })
			if err != nil || len(body) != size || held != int64(cap(body)) || held > max(firstRead, 2*int64(size)+1) {
				t.Errorf("%d bytes, announced as %d: %d of %d, %d held, %v", size, announced, len(body), cap(body), held, err)
			}
		}
	}
	full := errors.New("full")
	var asked []int64
	hold := func(n int64) error {
		if asked = append(asked, n); len(asked) == 3 {
			return full
		}
		return nil
	}
	request := httptest.NewRequest("POST", "/", bytes.NewReader(make([]byte, limit)))
	if _, err := Body(httptest.NewRecorder(), request, limit, hold); err != full || len(asked) != 3 || asked[0] != firstRead {
		t.Errorf("an announcement took memory: asked for %v, %v", asked, err)
	}
	request = httptest.NewRequest("POST", "/", bytes.NewReader(make([]byte, limit+1)))
	if _, err := Body(httptest.NewRecorder(), request, limit, free); ErrorOf(err).Status != http.StatusRequestEntityTooLarge {
		t.Errorf("one byte too many: %v", err)
	}
}
