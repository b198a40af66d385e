package fetch

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

func anywhere(netip.Addr) bool { return true }

func free(int64) error { return nil }

// TestPublic judges addresses.
func TestPublic(t *testing.T) {
	for address, want := range map[string]bool{
		"93.184.216.34": true, "2606:2800:220:1:248:1893:25c8:1946": true, "::ffff:93.184.216.34": true, "172.32.0.1": true, "1.1.1.1": true,
		"127.0.0.1": false, "127.8.8.8": false, "::1": false, "::": false, "0.0.0.0": false, "0.1.2.3": false, "10.0.0.1": false, "172.16.0.1": false,
		"192.168.1.1": false, "169.254.169.254": false, "100.64.0.1": false, "198.18.0.1": false, "224.0.0.1": false, "255.255.255.255": false,
		"fe80::1": false, "fe80::1%eth0": false, "fc00::1": false, "fd00:ec2::254": false, "ff02::1": false, "::ffff:127.0.0.1": false,
		"::ffff:169.254.169.254": false, "64:ff9b::7f00:1": false, "64:ff9b:1::1": false, "2002:7f00:1::": false, "2001::1": false, "::127.0.0.1": false,
		"fec0::1": false, "2001:db8::1": false, "192.0.0.8": false,
	} {
		if got := Public(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: %t", address, got)
		}
	}
}

// TestGet fetches files, and fails for other things.
func TestGet(t *testing.T) {
	large := bytes.Repeat([]byte("x"), 300<<10)
	mux := http.NewServeMux()
	mux.HandleFunc("/file", func(w http.ResponseWriter, r *http.Request) { w.Write([]byte("file")) })
	mux.HandleFunc("/large", func(w http.ResponseWriter, r *http.Request) { w.Write(large) })
	mux.HandleFunc("/endless", func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := w.Write(large); err != nil {
				return
			}
		}
	})
	mux.HandleFunc("/announced", func(w http.ResponseWriter, r *http.Request) { w.Header().Set("Content-Length", "99999999") })
	mux.Handle("/once", http.RedirectHandler("/file", http.StatusFound))
	mux.Handle("/loop", http.RedirectHandler("/loop", http.StatusFound))
	mux.Handle("/elsewhere", http.RedirectHandler("ftp://127.0.0.1/file", http.StatusFound))
	mux.Handle("/known", http.RedirectHandler("http://user@127.0.0.1/file", http.StatusFound))
	s := httptest.NewServer(mux)
	defer s.Close()
	f := newFetcher(anywhere)
	for path, want := range map[string]string{"/file": "file", "/once": "file", "/large": string(large)} {
		var held int64
		data, err := f.Get(t.Context(), s.URL+path, func(n int64) error { held += n; return nil })
		if err != nil || string(data) != want || held < int64(len(want)) || held > 4*int64(len(want)) {
			t.Errorf("%s: %d bytes, %d held, %v", path, len(data), held, err)
		}
	}
	for address, words := range map[string]string{
		s.URL + "/nothing": "its status is 404", s.URL + "/endless": "more than 20971520 bytes", s.URL + "/announced": "more than 20971520 bytes",
		s.URL + "/loop": "more than 3 times", s.URL + "/elsewhere": `the scheme "ftp"`, s.URL + "/known": "a user's name",
		"ftp://127.0.0.1/": `the scheme "ftp"`, "file:///etc/passwd": `the scheme "file"`, "http://": "names no host", "http://user:word@example.org/": "a user's name",
		"http://a b/": "the image's URL", "http://127.0.0.1:1/" + strings.Repeat("a", maxURL): "longer than",
	} {
		if data, err := f.Get(t.Context(), address, free); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%.60s: %d bytes, %v; want %q", address, len(data), err, words)
		}
	}
	full := errors.New("no memory")
	if _, err := f.Get(t.Context(), s.URL+"/large", func(int64) error { return full }); !errors.Is(err, full) {
		t.Errorf("without memory: %v", err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Get(gone, s.URL+"/file", free); err == nil {
		t.Error("a client that is gone gets a file")
	}
}

// TestPrivateAddresses asks for what only this machine reaches, by an address, by a name, and by a redirect.
func TestPrivateAddresses(t *testing.T) {
	asked := false
	inner := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer inner.Close()
	_, port, _ := strings.Cut(strings.TrimPrefix(inner.URL, "http://"), ":")
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0"} {
		if _, err := New().Get(t.Context(), "http://"+host+":"+port+"/", free); err == nil {
			t.Errorf("%s is fetched", host)
		}
	}
	outer := httptest.NewServer(http.RedirectHandler(inner.URL, http.StatusFound))
	defer outer.Close()
	first := true
	f := newFetcher(func(a netip.Addr) bool { // as if the outer server were a public one
		defer func() { first = false }()
		return first || Public(a)
	})
	if _, err := f.Get(t.Context(), outer.URL, free); !errors.Is(err, errPrivate) {
		t.Errorf("a redirect to a private address: %v", err)
	}
	if asked {
		t.Error("the inner server was asked")
	}
}
