// Package page is the web page that people talk to models on. It is embedded in the program, loads nothing from anywhere else, and
// keeps its conversations in the browser.
//
// It speaks the interface that the server offers to everybody: it asks v1/models and v1/chat/completions, relative to its own address,
// so that a program may mount page and interface under a prefix.
package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"time"
)

//go:embed assets
var embedded embed.FS

// policy lets the page run its own scripts and ask its own server, and nothing else. What a model writes is cleaned before it is
// shown; if something slipped through, the browser would refuse to run or load it.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// contentTypes are set by us because what the mime package says depends on the machine's files.
var contentTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".mjs":  "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
	".md":   "text/markdown; charset=utf-8",
	"":      "text/plain; charset=utf-8", // licences
}

// asset is a file as it is sent.
type asset struct {
	content     []byte
	contentType string
	etag        string // a hash of the content
}

// Handler serves the page: its document at /, everything that the document needs below /page/. Anything else is not found, and only
// GET and HEAD are allowed. It may be used by any number of goroutines at once.
func Handler() http.Handler {
	return handler(load())
}

// load is the assets by the paths that they are served at.
func load() map[string]asset {
	assets := map[string]asset{}
	err := fs.WalkDir(embedded, "assets", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := embedded.ReadFile(name)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(content)
		place := "/page" + name[len("assets"):]
		if place == "/page/index.html" {
			place = "/"
		}
		assets[place] = asset{content, contentTypes[path.Ext(name)], `"` + hex.EncodeToString(sum[:16]) + `"`}
		return nil
	})
	if err != nil {
		panic("page: the embedded files cannot be read: " + err.Error()) // they are part of the program: no input leads here
	}
	return assets
}

func handler(assets map[string]asset) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Content-Security-Policy", policy)
		found, ok := assets[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			header.Set("Allow", "GET, HEAD")
			http.Error(w, "the page can only be read: use GET or HEAD", http.StatusMethodNotAllowed)
			return
		}
		header.Set("Content-Type", found.contentType)
		header.Set("ETag", found.etag)
		header.Set("Cache-Control", "no-cache") // keep it, but ask whether it is still the same: a new program may bring another page
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(found.content))
	}
}
