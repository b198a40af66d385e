package server

import (
	"container/list"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"sync"
)

// connections is a net.Listener that keeps a bounded number of connections open. When another one comes, the one that no request has used
// for longest is closed for it. So connections on which nothing happens, however many, keep nobody out. If requests use all of them, the
// new one gets an error and is closed.
//
// Its methods are safe for any number of goroutines.
type connections struct {
	net.Listener
	most int
	full []byte // what a client is sent for which there is no connection

	// Invariants while mu is free: open ≤ most; idle are the open connections that no request uses, the one that was used least recently first.
	mu   sync.Mutex
	open int
	idle list.List // of *connection
}

// connection is one of them.
type connection struct {
	net.Conn
	of *connections

	// Protected by connections.mu: at is its place among the idle ones, nil exactly while requests use it or it is closed.
	at     *list.Element
	users  int // requests that use it: several at once with HTTP/2
	closed bool
}

// busy is what a client without TLS is sent for which there is no connection.
const busy = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"

// limitConnections returns a listener that keeps at most that many connections of l open.
func limitConnections(l net.Listener, most int, plain bool) *connections {
	c := &connections{Listener: l, most: most}
	if plain {
		c.full = []byte(busy)
	}
	return c
}

// Accept is net.Listener's.
func (l *connections) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c, old, ok := l.add(conn)
		if old != nil {
			_ = old.Close() // whoever had it will find out
		}
		if ok {
			return c, nil
		}
		_, _ = conn.Write(l.full) // a few bytes, for which the system has room
		_ = conn.Close()
	}
}

// add takes a new connection in, if there is room, or if an old one can be closed for it.
func (l *connections) add(conn net.Conn) (c, old *connection, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open >= l.most {
		first := l.idle.Front()
		if first == nil {
			return nil, nil, false
		}
		old = first.Value.(*connection)
		l.drop(old)
	}
	l.open++
	c = &connection{Conn: conn, of: l}
	c.at = l.idle.PushBack(c)
	return c, old, true
}

// drop no longer counts a connection, with mu held.
func (l *connections) drop(c *connection) {
	if c.closed {
		return
	}
	c.closed = true
	l.open--
	if c.at != nil {
		l.idle.Remove(c.at)
		c.at = nil
	}
}

// Close closes the connection.
func (c *connection) Close() error {
	c.of.mu.Lock()
	c.of.drop(c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// use notes that a request uses the connection, until the function that it returns is called.
func (c *connection) use() (leave func()) {
	l := c.of
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.users++; c.at != nil {
		l.idle.Remove(c.at)
		c.at = nil
	}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if c.users--; c.users == 0 && !c.closed {
			c.at = l.idle.PushBack(c)
		}
	}
}

type connectionKey struct{}

// withConnection is http.Server.ConnContext: it gives handlers the connection.
func withConnection(ctx context.Context, conn net.Conn) context.Context {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	return context.WithValue(ctx, connectionKey{}, conn)
}

// markInUse returns a handler that marks each request's connection as in use until the request ends.
func markInUse(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(connectionKey{}).(*connection); ok {
			defer c.use()()
		}
		h.ServeHTTP(w, r)
	})
}

// How many connections there are.
const (
	mostConnections  = 4096 // each takes some 30 KB
	otherDescriptors = 16   // files that the program has open besides, at most
)

// errDescriptors says that the process may open too few files.
var errDescriptors = errors.New("the process may open too few files: ulimit -n says how many")

// connectionLimit returns how many connections the process has descriptors for, or what the flag says, if that is not more.
func connectionLimit(flag int) (int, error) {
	most := mostConnections
	if descriptors, ok := maxDescriptors(); ok {
		most = min(most, descriptors-otherDescriptors)
	}
	if flag > 0 {
		most = min(most, flag)
	}
	if most < 1 {
		return 0, errDescriptors
	}
	return most, nil
}
