package hub

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// The client makes requests that survive bad lines. A request ends with an error if nothing arrives for a while (stallReader). Errors that
// may pass are wrapped in a retryableError, and retry makes another attempt after a delay; other errors end the work at once. An attempt
// that made progress begins the count anew. For example, with 3 attempts and tuning.wait w:
//
//	attempt 1   503            wait w, and up to a quarter more
//	attempt 2   cut off        wait 2w, and up to a quarter more
//	attempt 3   503            that error is returned
//
//	attempt 1   429 with Retry-After: 300   returned at once, since the server asks for more than longestWait

// client makes requests.
type client struct {
	http  *http.Client
	limit chan struct{} // as many elements as there may be files' bodies read at once
	s     *settings
}

func newClient(s *settings) *client {
	transport := s.transport
	if transport == nil {
		// HTTP/2 would send all ranges through one connection, for which many servers and lines have a limit.
		protocols := new(http.Protocols)
		protocols.SetHTTP1(true)
		transport = &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: connectWithin}).DialContext, TLSHandshakeTimeout: connectWithin,
			ResponseHeaderTimeout: s.tuning.stall, MaxIdleConnsPerHost: s.connections, Protocols: protocols,
		}
	}
	return &client{limit: make(chan struct{}, s.connections), s: s, http: &http.Client{
		Transport: &authorized{transport, s.endpoint, s.token},
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects {
				return &redirectError{fmt.Sprintf("more than %d redirects", maxRedirects)}
			}
			return checkRedirect(via[0].URL, r.URL)
		},
	}}
}

// checkRedirect returns an error if an answer from one URL leads to another URL that must not be followed.
func checkRedirect(from, to *url.URL) error {
	if from.Scheme == "https" && to.Scheme != "https" {
		return &redirectError{fmt.Sprintf("the answer of %s leads from https to %s, where anybody could change the answer", displayURL(from), displayURL(to))}
	}
	return nil
}

const maxRedirects = 10

// connectWithin is how long connecting may take: somebody without a network waits for it before what the cache has is taken.
const connectWithin = 10 * time.Second

// redirectError is why a redirect, or a link to a next page, is not followed.
type redirectError struct{ reason string }

// Error returns the reason.
func (e *redirectError) Error() string { return e.reason }

// authorized adds the token to requests to one server. It does so where requests leave, since net/http's client, which is to leave it
// out when it is redirected, sends it to servers below the first one's name, too.
type authorized struct {
	http.RoundTripper
	endpoint *url.URL
	token    string
}

// RoundTrip makes a request.
func (a *authorized) RoundTrip(r *http.Request) (*http.Response, error) {
	if a.token != "" && sameOrigin(r.URL, a.endpoint) {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+a.token)
	}
	return a.RoundTripper.RoundTrip(r)
}

// retryableError is an error after which another attempt may succeed.
type retryableError struct {
	error
	after time.Duration // what the server asks for before the next attempt; 0: nothing
}

// Unwrap returns the error itself.
func (t *retryableError) Unwrap() error { return t.error }

// get requests a URL, from an offset on if part is not empty, and returns the answer if it brings what the request asks for. The answer's
// body ends with an error when it delivers nothing for a while, and must be closed.
func (c *client) get(ctx context.Context, address string, part span) (*http.Response, error) {
	watch, cancel := context.WithCancelCause(ctx)
	request, err := http.NewRequestWithContext(watch, http.MethodGet, address, nil)
	if err != nil {
		cancel(nil)
		return nil, fmt.Errorf("%s is no URL to request", address)
	}
	request.Header.Set("User-Agent", "antigravity")
	request.Header.Set("Accept-Encoding", "identity") // a range of a compressed file would be of other bytes
	if part.from < part.to {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", part.from, part.to-1))
	}
	response, err := c.http.Do(request)
	if err != nil {
		cancel(nil)
		return nil, requestError(ctx, request.URL, err)
	}
	response.Body = newStallReader(watch, cancel, response.Body, c.s.tuning.stall)
	if err := c.check(response); err != nil {
		response.Body.Close()
		return nil, err
	}
	return response, nil
}

// requestError adds the request to its error. Parts of a URL that may be secret are left out.
func requestError(ctx context.Context, u *url.URL, err error) error {
	var outer *url.Error
	if errors.As(err, &outer) {
		err = outer.Err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var redirect *redirectError
	var certificate *tls.CertificateVerificationError
	lasting := errors.As(err, &redirect) || errors.As(err, &certificate)
	if err = fmt.Errorf("request %s: %w", displayURL(u), err); lasting {
		return err
	}
	return &retryableError{error: err}
}

// displayURL returns a URL without user, query and fragment.
func displayURL(u *url.URL) string { return u.Scheme + "://" + u.Host + u.EscapedPath() }

// check returns an error if an answer does not bring the requested file.
func (c *client) check(r *http.Response) error {
	encoding := r.Header.Get("Content-Encoding")
	switch {
	case r.StatusCode != http.StatusOK && r.StatusCode != http.StatusPartialContent:
		return refusal(r, c.s)
	case encoding != "" && !strings.EqualFold(encoding, "identity"):
		return fmt.Errorf("%s comes as %.20q, which was not asked for", displayURL(r.Request.URL), encoding)
	}
	return nil
}

// stallReader is a body that ends with an error when it delivers nothing for a while.
type stallReader struct {
	io.ReadCloser
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	stall  time.Duration
}

// errStalled is why a request ends that nothing comes of.
var errStalled = errors.New("the server sends nothing any more")

func newStallReader(ctx context.Context, cancel context.CancelCauseFunc, body io.ReadCloser, stall time.Duration) *stallReader {
	w := &stallReader{body, ctx, cancel, time.AfterFunc(stall, func() { cancel(errStalled) }), stall}
	w.timer.Stop() // it runs during reads: what happens between them is not the server's affair
	return w
}

// Read reads the bytes that have come.
func (w *stallReader) Read(b []byte) (int, error) {
	w.timer.Reset(w.stall)
	n, err := w.ReadCloser.Read(b)
	w.timer.Stop()
	switch {
	case err == nil || err == io.EOF:
		return n, err
	case w.ctx.Err() != nil && context.Cause(w.ctx) != errStalled:
		return n, w.ctx.Err()
	case w.ctx.Err() != nil:
		err = errStalled
	}
	return n, &retryableError{error: err}
}

// Close ends the request.
func (w *stallReader) Close() error {
	w.timer.Stop()
	err := w.ReadCloser.Close()
	w.cancel(nil)
	return err
}

// The bounds on attempts.
const (
	triesToAsk   = 3               // questions
	triesToFetch = 6               // ranges, of attempts that bring nothing
	longestWait  = 2 * time.Minute // that a server may ask for
)

// retry calls try until it returns no error or a lasting one, or until too many attempts in a row made no progress. about names the
// attempts in the log.
func (c *client) retry(ctx context.Context, about string, tries int, try func() (progress bool, err error)) error {
	for failures := 1; ; failures++ {
		progress, err := try()
		var t *retryableError
		switch {
		case err != nil && ctx.Err() != nil:
			return ctx.Err()
		case !errors.As(err, &t):
			return err
		}
		if progress {
			failures = 1
		}
		delay := c.s.tuning.wait << (failures - 1)
		delay += rand.N(delay/4 + 1) // so that many programs do not come back all at once
		delay = max(delay, t.after)
		if failures >= tries || t.after > longestWait {
			return t.error
		}
		c.s.log.Warn("trying again", "file", about, "in", delay.Round(time.Millisecond), "because", t.error)
		timer := time.NewTimer(delay)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

// ask requests a small answer and hands it to a function, which sees at most limit bytes. It returns the answer's header.
func (c *client) ask(ctx context.Context, address string, tries int, limit int64, read func(io.Reader) error) (header http.Header, err error) {
	err = c.retry(ctx, address, tries, func() (bool, error) {
		response, err := c.get(ctx, address, span{})
		if err != nil {
			return false, err
		}
		defer response.Body.Close()
		header = response.Header
		body := &io.LimitedReader{R: response.Body, N: limit}
		err = read(body)
		var t *retryableError
		switch {
		case err == nil || errors.As(err, &t) || ctx.Err() != nil:
			return false, err
		case body.N == 0:
			return false, fmt.Errorf("the answer of %s has more than %d bytes", displayURL(response.Request.URL), limit)
		case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF): // cut short, however it was cut
			return false, &retryableError{error: fmt.Errorf("the answer of %s: %w", displayURL(response.Request.URL), err)}
		}
		return false, fmt.Errorf("the answer of %s is not a hub's: %w", displayURL(response.Request.URL), err)
	})
	return header, err
}

// contentRange takes apart the header that says which bytes of how large a file an answer has.
func contentRange(header string) (part span, size int64, err error) {
	wrong := fmt.Errorf("the header Content-Range is %.60q, where bytes FIRST-LAST/SIZE belongs", header)
	text, ok := strings.CutPrefix(header, "bytes ")
	bounds, total, ok2 := strings.Cut(text, "/")
	first, last, ok3 := strings.Cut(bounds, "-")
	if !ok || !ok2 || !ok3 {
		return part, 0, wrong
	}
	var numbers [3]int64
	for i, digits := range []string{first, last, total} {
		if numbers[i], err = strconv.ParseInt(digits, 10, 64); err != nil || numbers[i] < 0 || numbers[i] > maxFileSize {
			return part, 0, wrong
		}
	}
	if part = (span{numbers[0], numbers[1] + 1}); part.from >= part.to || part.to > numbers[2] {
		return part, 0, wrong
	}
	return part, numbers[2], nil
}
