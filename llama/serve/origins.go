package serve

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// origins says under which names the server may be asked, and from which web pages. It is immutable.
type origins struct {
	hosts []string // names of the server, in small letters; empty: any
	pages []string // origins with pages that may ask and read
	kinds []originKind
	all   bool // any page may
	guard *http.CrossOriginProtection
}

// newOrigins makes the origins of Options.Hosts and Options.Origins.
func newOrigins(hosts, pages []string) (*origins, error) {
	o := &origins{pages: pages, all: slices.Contains(pages, "*"), guard: http.NewCrossOriginProtection()}
	for i, host := range hosts {
		host = strings.ToLower(strings.Trim(host, "[]"))
		if host == "" || strings.ContainsAny(host, "/*") {
			return nil, fmt.Errorf("serve: Options.Hosts[%d] is %q; it must be a name or an address, without a port", i, hosts[i])
		}
		o.hosts = append(o.hosts, host)
	}
	for i, page := range pages {
		if page == "*" {
			continue
		}
		if strings.Contains(page, "*") {
			kind, err := newOriginKind(page)
			if err != nil {
				return nil, fmt.Errorf("serve: Options.Origins[%d]: %w", i, err)
			}
			o.kinds = append(o.kinds, kind)
			continue
		}
		if err := o.guard.AddTrustedOrigin(page); err != nil {
			return nil, fmt.Errorf("serve: Options.Origins[%d]: %w", i, err)
		}
	}
	return o, nil
}

// judge returns an error if a request comes from a host or page that may not send it, and sets the headers that let pages of other origins
// read the answer (the Fetch standard calls that CORS). A forbidden page is refused even if it could not read the answer, since computing
// it costs.
func (o *origins) judge(h http.Header, r *http.Request) error {
	if len(o.hosts) > 0 && !slices.Contains(o.hosts, hostname(r.Host)) {
		return &wire.Error{Status: http.StatusForbidden, Code: "unknown_host",
			Message: fmt.Sprintf("the server is not called %.80q", r.Host)}
	}
	if len(o.pages) > 0 {
		h.Add("Vary", "Origin")
	}
	origin := r.Header.Get("Origin")
	known := origin != "" && slices.ContainsFunc(o.kinds, func(k originKind) bool { return k.has(origin) })
	if origin != "" && (o.all || known || slices.Contains(o.pages, origin)) {
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Expose-Headers", "X-Request-Id, Request-Id, Retry-After, "+ask.DroppedMessages+", "+ask.Warnings)
		if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
			h.Set("Access-Control-Allow-Methods", "GET, POST")
			h.Set("Access-Control-Allow-Headers", r.Header.Get("Access-Control-Request-Headers"))
			h.Set("Access-Control-Max-Age", "600")
		}
	}
	if o.all || known {
		return nil
	}
	if err := o.guard.Check(r); err != nil {
		return &wire.Error{Status: http.StatusForbidden, Code: "cross_origin", Err: err,
			Message: fmt.Sprintf("a page of the origin %.80q may not use this server", origin)}
	}
	return nil
}

// originKind is origins with a star in one place or two, each in small letters:
//
//	moz-extension://*          any host
//	https://*.example.com      any host below example.com, however deep, and not example.com itself
//	http://localhost:*         any port, or no port
type originKind struct {
	scheme string
	host   string // what follows the star if below is true
	port   string // "*": any; "": no port
	any    bool   // any host
	below  bool
}

// newOriginKind reads origins with a star. A star anywhere else is an error.
func newOriginKind(text string) (k originKind, err error) {
	var host string
	k.scheme, host, k.port, err = splitOrigin(strings.ToLower(text))
	if err != nil {
		return k, err
	}
	rest, below := strings.CutPrefix(host, "*.")
	k.any, k.below, k.host = host == "*", below, rest
	if !k.any && (rest == "" || strings.Contains(rest, "*")) || k.port != "*" && strings.Contains(k.port, "*") || strings.Contains(k.scheme, "*") {
		return k, fmt.Errorf("the origin %q has a * where it stands for nothing: it may be the host, as in moz-extension://*, come before a dot, "+
			"as in https://*.example.com, or be the port, as in http://localhost:*", text)
	}
	return k, nil
}

// splitOrigin returns the parts of scheme://host or scheme://host:port.
func splitOrigin(text string) (scheme, host, port string, err error) {
	scheme, rest, ok := strings.Cut(text, "://")
	host = rest
	if i := strings.LastIndexByte(rest, ':'); i > strings.LastIndexByte(rest, ']') {
		if host, port = rest[:i], rest[i+1:]; port == "" {
			ok = false
		}
	}
	if !ok || scheme == "" || host == "" || strings.ContainsAny(host, "/?#@ ") || strings.Trim(port, "0123456789*") != "" {
		return "", "", "", fmt.Errorf("%q is no origin: it must be a scheme, a host and, if need be, a port, as in https://example.com:8080, and nothing behind", text)
	}
	return scheme, host, port, nil
}

// has reports whether an origin is of the kind.
func (k originKind) has(origin string) bool {
	scheme, host, port, err := splitOrigin(strings.ToLower(origin))
	if err != nil || scheme != k.scheme || k.port != "*" && port != k.port {
		return false
	}
	if k.below {
		name, ok := strings.CutSuffix(host, "."+k.host)
		return ok && name != ""
	}
	return k.any || host == k.host
}

// hostname returns the name in a Host header: without a port, the brackets of an address and the dot of a complete name, in small letters.
func hostname(host string) string {
	if name, port, err := net.SplitHostPort(host); err == nil && strings.Trim(port, "0123456789") == "" {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}
