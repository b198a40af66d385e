package server

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// listenLimited serves h on at most that many connections, and returns the address and the listener. If accepted is not nil, it gets a
// value for each connection that the server has taken.
func listenLimited(t *testing.T, most int, h http.HandlerFunc, accepted chan<- bool) (string, *connections) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := limitConnections(l, most, true)
	s := &http.Server{Handler: markInUse(h), ConnContext: withConnection, ConnState: func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew && accepted != nil {
			accepted <- true
		}
	}}
	over := make(chan struct{})
	go func() {
		defer close(over)
		s.Serve(c)
	}()
	t.Cleanup(func() {
		s.Close()
		<-over
	})
	return l.Addr().String(), c
}

// dial opens a connection, which the end of the test closes.
func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// get asks for a path on a connection that stays open, and returns the status.
func get(t *testing.T, conn net.Conn, path string) string {
	t.Helper()
	if _, err := io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
		return err.Error()
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(line)
}

func TestIdleConnectionsKeepNobodyOut(t *testing.T) {
	const most = 4
	accepted := make(chan bool, 10*most+2)
	address, c := listenLimited(t, most, func(w http.ResponseWriter, _ *http.Request) {}, accepted)
	kept := dial(t, address)
	<-accepted
	get(t, kept, "/")
	for i := range 10 * most { // on which nothing happens, or half a request
		conn := dial(t, address)
		<-accepted
		if i%2 == 0 {
			io.WriteString(conn, "GET / HTT")
		}
		if i%2 == 1 {
			if status := get(t, kept, "/"); !strings.Contains(status, "200") {
				t.Fatalf("a connection that is used is closed: %s", status)
			}
		}
	}
	if status := get(t, dial(t, address), "/health"); !strings.Contains(status, "200") {
		t.Errorf("beside idle connections: %s", status)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open > most || c.idle.Len() > most {
		t.Errorf("%d connections are open, %d of them idle", c.open, c.idle.Len())
	}
}

func TestFullConnectionsSaySo(t *testing.T) {
	const most = 3
	var inside sync.WaitGroup
	inside.Add(most)
	end := make(chan struct{})
	address, _ := listenLimited(t, most, func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/long" {
			inside.Done()
			<-end
		}
	}, nil)
	answers := make(chan string, most)
	for range most {
		conn := dial(t, address)
		go func() { answers <- get(t, conn, "/long") }()
	}
	inside.Wait()
	if status := get(t, dial(t, address), "/health"); !strings.Contains(status, "503") {
		t.Errorf("when requests use all connections: %s", status)
	}
	close(end)
	for range most {
		if status := <-answers; !strings.Contains(status, "200") {
			t.Errorf("a request was broken off: %s", status)
		}
	}
	if status := get(t, dial(t, address), "/health"); !strings.Contains(status, "200") {
		t.Errorf("afterwards: %s", status)
	}
}

func TestConnectionLimit(t *testing.T) {
	most, err := connectionLimit(0)
	if err != nil || most < 1 || most > mostConnections {
		t.Errorf("%d, %v", most, err)
	}
	if most, err := connectionLimit(2); err != nil || most != 2 {
		t.Errorf("%d, %v", most, err)
	}
}
