// Package fetch gets files of images from addresses that requests name, for operators who allow that. A request must not make the server ask what only the
// server can reach: so each address that is dialed, that of a redirect too, must be a public one, after its name is resolved.
package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"
)

// The bounds of a fetch.
const (
	maxBytes     = 20 << 20 // of a file
	maxTime      = 20 * time.Second
	maxRedirects = 3
	maxURL       = 8 << 10 // bytes of a URL
)

// Fetcher gets files by http and https. It is safe for concurrent use.
type Fetcher struct{ client http.Client }

// New makes a fetcher of public addresses.
func New() *Fetcher { return newFetcher(Public) }

// newFetcher makes a fetcher of the addresses that allowed allows.
func newFetcher(allowed func(netip.Addr) bool) *Fetcher {
	dialer := net.Dialer{Timeout: maxTime, Control: func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil || !allowed(at.Addr()) {
			return errPrivate // without the address: who asks must not learn what names mean here
		}
		return nil
	}}
	return &Fetcher{http.Client{
		Transport: &http.Transport{ // no proxy: it would resolve names itself
			DialContext: dialer.DialContext, DisableCompression: true, DisableKeepAlives: true, TLSHandshakeTimeout: maxTime,
			ResponseHeaderTimeout: maxTime, MaxResponseHeaderBytes: 64 << 10, ForceAttemptHTTP2: false,
		},
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects {
				return fmt.Errorf("it leads on more than %d times", maxRedirects)
			}
			return check(r.URL)
		},
	}}
}

var errPrivate = errors.New("its address is not a public one")

// check refuses URLs that are no plain address of a file.
func check(u *url.URL) error {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("it has the scheme %.20q: it must be http or https", u.Scheme)
	case u.Hostname() == "":
		return errors.New("it names no host")
	case u.User != nil:
		return errors.New("it has a user's name: it must be an address that anybody may read")
	}
	return nil
}

// Get returns the file at an address. It asks hold before it takes memory for n more bytes.
func (f *Fetcher) Get(ctx context.Context, address string, hold func(n int64) error) ([]byte, error) {
	if len(address) > maxURL {
		return nil, fmt.Errorf("the image's URL is longer than %d bytes", maxURL)
	}
	u, err := url.Parse(address)
	if err == nil {
		err = check(u)
	}
	if err != nil {
		return nil, fmt.Errorf("the image's URL: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	data, err := f.get(ctx, u, hold)
	switch {
	case err == nil:
		return data, nil
	case ctx.Err() != nil:
		return nil, fmt.Errorf("fetching the image from %.100s took longer than %v", u.Hostname(), maxTime)
	case errors.Is(err, errPrivate):
		return nil, fmt.Errorf("fetching the image from %.100s: %w", u.Hostname(), errPrivate)
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	return nil, fmt.Errorf("fetching the image from %.100s: %w", u.Hostname(), err)
}

func (f *Fetcher) get(ctx context.Context, u *url.URL, hold func(n int64) error) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "image/*")
	r.Header.Set("User-Agent", "antigravity")
	answer, err := f.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	switch {
	case answer.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("its status is %d", answer.StatusCode)
	case answer.ContentLength > maxBytes:
		return nil, errLarge
	}
	var file []byte
	chunk := make([]byte, 64<<10)
	for {
		n, err := answer.Body.Read(chunk)
		if len(file)+n > maxBytes {
			return nil, errLarge
		}
		if need := len(file) + n - cap(file); need > 0 {
			grown := max(cap(file), need) // twice as much as before, or more
			if err := hold(int64(grown)); err != nil {
				return nil, err
			}
			file = append(make([]byte, 0, cap(file)+grown), file...)
		}
		file = append(file, chunk[:n]...)
		switch {
		case err == io.EOF:
			return file, nil
		case err != nil:
			return nil, err
		}
	}
}

var errLarge = fmt.Errorf("it has more than %d bytes", maxBytes)

// special are ranges of addresses that are not private by name, and that no public server has.
var special = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"), netip.MustParsePrefix("192.0.2.0/24"),
	netip.MustParsePrefix("192.88.99.0/24"), netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("203.0.113.0/24"),
	netip.MustParsePrefix("240.0.0.0/4"), netip.MustParsePrefix("2001::/23"), netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("2002::/16"),
	netip.MustParsePrefix("3fff::/20"),
}

// global is where public addresses of IPv6 are. Others, such as 64:ff9b::/96, may lead to addresses of IPv4.
var global = netip.MustParsePrefix("2000::/3")

// Public reports whether an address is one of the public internet.
func Public(a netip.Addr) bool {
	a = a.Unmap()
	if !a.IsGlobalUnicast() || a.IsPrivate() || a.Zone() != "" || a.Is6() && !global.Contains(a) {
		return false
	}
	for _, p := range special {
		if p.Contains(a) {
			return false
		}
	}
	return true
}
