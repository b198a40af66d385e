package wire

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
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

func TestBodiesThatDoNotCome(t *testing.T) {
	cause := errors.New("the server has no time")
	for _, c := range []struct {
		name  string
		after time.Duration // when the request's context ends; 0: never
		takes time.Duration
		want  func(error) bool
	}{
		{"a client that stops", 0, ReadTimeout, func(err error) bool { return Of(err).Status == http.StatusRequestTimeout }},
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
				err := Read(connected{httptest.NewRecorder(), server}, request, 1000, nil, &struct{}{})
				if took := time.Since(began); err == nil || !c.want(err) || took != c.takes {
					t.Errorf("after %v: %v", took, err)
				}
			})
		})
	}
}
