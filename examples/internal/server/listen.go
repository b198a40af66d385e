package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/antigravity-go/antigravity/llama/serve"
)

// listener is the server's open port.
type listener struct {
	net.Listener
	tls      *tls.Config // nil: HTTP without TLS
	url      string      // for a client on this machine
	loopback bool        // only this machine reaches it
	names    []string    // that a client on this machine calls it by
}

// listen opens the address.
func (c *command) listen() (*listener, error) {
	l := &listener{}
	scheme := "http"
	if c.tlsCert != "" {
		pair, err := tls.LoadX509KeyPair(c.tlsCert, c.tlsKey)
		if err != nil {
			return nil, fmt.Errorf("-tls-cert %s -tls-key %s: %w", c.tlsCert, c.tlsKey, err)
		}
		scheme, l.tls = "https", &tls.Config{Certificates: []tls.Certificate{pair}}
	}
	var err error
	l.Listener, err = net.Listen("tcp", c.addr)
	if err != nil {
		return nil, fmt.Errorf("-addr %s: %w", c.addr, err)
	}
	most, err := connectionLimit(c.connections)
	if err != nil {
		return nil, errors.Join(err, l.Listener.Close())
	}
	l.Listener = limitConnections(l.Listener, most, l.tls == nil)
	at := l.Addr().(*net.TCPAddr)
	l.loopback = at.IP.IsLoopback()
	host := at.IP.String()
	l.names = []string{"localhost", "127.0.0.1", "::1", host}
	if given, _, err := net.SplitHostPort(c.addr); err == nil && given != "" {
		l.names = append(l.names, given)
	}
	if at.IP.IsUnspecified() {
		host = "localhost"
	}
	l.url = scheme + "://" + net.JoinHostPort(host, fmt.Sprint(at.Port))
	return l, nil
}

// The bounds of a connection. Sending an answer has no bound here: the server gives clients time to read, piece by piece.
const (
	headerTimeout  = 10 * time.Second
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 64 << 10
	lastBytes      = 2 * time.Second // what the last answers have to leave the machine
)

// serve answers requests until the context ends; then it lets no more in, and waits for those that are being answered.
func (c *command) serve(ctx context.Context, l *listener, server *serve.Server, log *slog.Logger, stderr io.Writer) error {
	h := &http.Server{
		Handler: markInUse(server), ConnContext: withConnection, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		TLSConfig: l.tls, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	failed := make(chan error, 1)
	go func() {
		if l.tls != nil {
			failed <- h.ServeTLS(l, "", "")
			return
		}
		failed <- h.Serve(l)
	}()
	select {
	case err := <-failed:
		return fmt.Errorf("serve at %s: %w", l.url, err)
	case <-ctx.Done():
	}
	if n := server.Stats().Running; n > 0 {
		fmt.Fprintf(stderr, "requests that are being answered: %d; waiting for them, at most %v; Ctrl-C ends them now\n", n, c.grace)
	}
	graceful, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.grace)
	defer cancel()
	err := server.Shutdown(graceful)
	if errors.Is(err, context.DeadlineExceeded) {
		fmt.Fprintf(stderr, "the requests that were left after %v have been told that the server is shutting down\n", c.grace)
		err = nil
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastBytes)
	defer cancel()
	if h.Shutdown(last) != nil {
		h.Close() // connections on which no request ever came
	}
	return err
}
