package site

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/antigravity-go/antigravity/examples/tools/dashboard/internal/results"
)

// Source has the page's data: a results.Store.
type Source interface {
	Overview() (*results.Encoded, error)
	Detail(key string, points int) (*results.Detail, error)
	Keys() []string
}

// servedPoints is about how many points of a timeline are sent: more than a screen has columns.
const servedPoints = 2000

// Handler serves the page at /, its parts below /assets/, and the results below /data/. It answers only requests that name this machine as
// their host, so that a page of another site reads nothing even if the site's name was made to lead here (DNS rebinding). Only GET and HEAD
// are allowed. It may be used by any number of goroutines at once.
func Handler(source Source) (http.Handler, error) {
	p, err := load()
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	tags := "<link rel=\"stylesheet\" href=\"assets/" + p.styles.name + "\">"
	mux.HandleFunc("/assets/"+p.styles.name, p.styles.serve)
	scripts := ""
	for _, s := range p.scripts {
		scripts += "<script src=\"assets/" + s.name + "\"></script>\n"
		mux.HandleFunc("/assets/"+s.name, s.serve)
	}
	document := part{"index.html", htmlType, p.fillIn(nil, []byte(tags), nil, []byte(scripts))}
	mux.HandleFunc("/{$}", document.serve)
	mux.HandleFunc("/data/overview", func(w http.ResponseWriter, r *http.Request) {
		o, err := source.Overview()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("ETag", o.Tag)
		w.Header().Set("Cache-Control", "no-cache")
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(o.JSON))
	})
	mux.HandleFunc("/data/run", func(w http.ResponseWriter, r *http.Request) {
		detail, err := source.Detail(r.URL.Query().Get("key"), servedPoints)
		var text []byte
		if err == nil {
			text, err = json.Marshal(detail)
		}
		switch {
		case errors.Is(err, results.ErrNoRun):
			http.Error(w, err.Error(), http.StatusNotFound)
		case err != nil:
			http.Error(w, err.Error(), http.StatusInternalServerError)
		default:
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Cache-Control", "no-store")
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(text))
		}
	})
	return guard(mux), nil
}

// guard sets the headers of all answers, and refuses what nobody should ask.
func guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Content-Security-Policy", servedPolicy)
		switch {
		case !local(r.Host):
			http.Error(w, fmt.Sprintf("the dashboard is not called %.80q: ask for localhost", r.Host), http.StatusForbidden)
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			h.Set("Allow", "GET, HEAD")
			http.Error(w, "results can only be read: use GET or HEAD", http.StatusMethodNotAllowed)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// local reports whether a Host header names this machine: as localhost, or by an address of it, which no name server can lead elsewhere.
func local(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	_, err := netip.ParseAddr(host)
	return err == nil
}

func (p *part) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", p.contentType)
	w.Header().Set("ETag", p.etag())
	w.Header().Set("Cache-Control", "no-cache") // keep it, but ask whether it is still the same: a new program may bring another page
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(p.content))
}
