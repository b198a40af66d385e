package page

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

func get(t *testing.T, method, target string, header ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequest(method, target, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	Handler().ServeHTTP(w, r)
	return w.Result()
}

func TestHandler(t *testing.T) {
	for _, c := range []struct {
		method, path string
		status       int
		contentType  string
	}{
		{"GET", "/", 200, "text/html; charset=utf-8"},
		{"HEAD", "/", 200, "text/html; charset=utf-8"},
		{"GET", "/page/js/main.js", 200, "text/javascript; charset=utf-8"},
		{"GET", "/page/vendor/dompurify/purify.es.mjs", 200, "text/javascript; charset=utf-8"},
		{"GET", "/page/css/base.css", 200, "text/css; charset=utf-8"},
		{"GET", "/page/icon.svg", 200, "image/svg+xml"},
		{"GET", "/page/vendor/marked/LICENSE", 200, "text/plain; charset=utf-8"},
		{"POST", "/", 405, ""},
		{"PUT", "/page/js/main.js", 405, ""},
		{"GET", "/index.html", 404, ""},
		{"GET", "/page/index.html", 404, ""},
		{"GET", "/page/", 404, ""},
		{"GET", "/page/js", 404, ""},
		{"GET", "/page/../page.go", 404, ""},
		{"POST", "/nowhere", 404, ""},
		{"GET", "/v1/models", 404, ""},
	} {
		response := get(t, c.method, c.path)
		if response.StatusCode != c.status {
			t.Errorf("%s %s: status %d, not %d", c.method, c.path, response.StatusCode, c.status)
		}
		if got := response.Header.Get("Content-Type"); c.contentType != "" && got != c.contentType {
			t.Errorf("%s %s: content type %q, not %q", c.method, c.path, got, c.contentType)
		}
		if response.StatusCode == 405 && response.Header.Get("Allow") != "GET, HEAD" {
			t.Errorf("%s %s: allows %q", c.method, c.path, response.Header.Get("Allow"))
		}
		for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Content-Security-Policy": policy} {
			if got := response.Header.Get(name); got != want {
				t.Errorf("%s %s: %s is %q, not %q", c.method, c.path, name, got, want)
			}
		}
	}
}

func TestAnUnchangedFileIsNotSentAgain(t *testing.T) {
	first := get(t, "GET", "/page/js/main.js")
	tag := first.Header.Get("ETag")
	if tag == "" {
		t.Fatal("there is no ETag")
	}
	if again := get(t, "GET", "/page/js/main.js", "If-None-Match", tag); again.StatusCode != http.StatusNotModified {
		t.Errorf("status %d, not 304", again.StatusCode)
	}
	if other := get(t, "GET", "/page/js/app.js", "If-None-Match", tag); other.StatusCode != http.StatusOK {
		t.Errorf("another file: status %d, not 200", other.StatusCode)
	}
}

// files yields every embedded file's name, below assets, and content.
func files(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := fs.WalkDir(embedded, "assets", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := embedded.ReadFile(name)
		found[strings.TrimPrefix(name, "assets/")] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestEveryFileHasAContentType(t *testing.T) {
	for name := range files(t) {
		if contentTypes[path.Ext(name)] == "" {
			t.Errorf("%s: nothing says of what type files ending in %q are", name, path.Ext(name))
		}
	}
}

// The page works without a network: nothing in it names another place, apart from the names of SVG's and MathML's elements, and links to
// rules.
func TestNoFileNamesAnotherPlace(t *testing.T) {
	address := regexp.MustCompile(`(?i)(?:https?:|wss?:)?//[\w-]+(?:\.[\w-]+)+[^\s'"]*`)
	allowed := map[string]bool{"http://www.w3.org/2000/svg": true, "http://www.w3.org/1998/Math/MathML": true,
		"https://html.spec.whatwg.org/multipage/server-sent-events.html,": true}
	for name, content := range files(t) {
		if strings.HasPrefix(name, "vendor/") {
			continue // addresses in comments and licences; the next test sees the files that they load
		}
		for _, found := range address.FindAllString(content, -1) {
			if !allowed[found] {
				t.Errorf("%s names %s", name, found)
			}
		}
	}
}

// What a file imports or refers to is embedded too.
func TestEveryReferenceLeadsToAFile(t *testing.T) {
	found := files(t)
	scripts := regexp.MustCompile(`(?m)(?:\bfrom\s*|^import\s*|\bimport\(\s*)['"]([^'"\n]+)['"]`)
	documents := regexp.MustCompile(`(?:src|href)="([^"#]+)"`)
	count := 0
	for name, content := range found {
		switch path.Ext(name) {
		case ".js", ".mjs":
			for _, match := range scripts.FindAllStringSubmatch(content, -1) {
				count++
				if _, ok := found[path.Join(path.Dir(name), match[1])]; !ok || !strings.HasPrefix(match[1], ".") {
					t.Errorf("%s imports %s, which is not there", name, match[1])
				}
			}
		case ".html":
			for _, match := range documents.FindAllStringSubmatch(content, -1) {
				count++
				if _, ok := found[strings.TrimPrefix(match[1], "page/")]; !ok {
					t.Errorf("%s refers to %s, which is not there", name, match[1])
				}
			}
		case ".css":
			if strings.Contains(content, "url(") || strings.Contains(content, "@import") {
				t.Errorf("%s loads something", name)
			}
		}
	}
	if count < 30 {
		t.Errorf("only %d references were found", count)
	}
}

// The policy forbids scripts and styles within the document; a browser would leave them out without a word to whoever wrote them.
func TestTheDocumentHasNoScriptOrStyleOfItsOwn(t *testing.T) {
	document := files(t)["index.html"]
	for _, pattern := range []string{`<style`, `<script>`, `\sstyle=`, `\son\w+=`, `javascript:`} {
		if found := regexp.MustCompile(pattern).FindString(document); found != "" {
			t.Errorf("the document has %q", found)
		}
	}
}

// Text becomes HTML in one file only.
func TestOnlyMarkdownMakesHTML(t *testing.T) {
	makes := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|setHTML|createContextualFragment|DOMParser|eval\(|new Function`)
	for name, content := range files(t) {
		if found := makes.FindString(content); found != "" && !strings.HasPrefix(name, "vendor/") {
			t.Errorf("%s uses %s", name, found)
		}
	}
}

func TestVendoredFilesAreAsPublished(t *testing.T) {
	document, err := os.ReadFile("assets/vendor/VENDORED.md")
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]string{}
	for _, match := range regexp.MustCompile(`(?m)^\| (\S+) \| ([0-9a-f]{64}) \|$`).FindAllStringSubmatch(string(document), -1) {
		sums[match[1]] = match[2]
	}
	seen := 0
	for name, content := range files(t) {
		name, vendored := strings.CutPrefix(name, "vendor/")
		if !vendored || name == "VENDORED.md" {
			continue
		}
		seen++
		sum := sha256.Sum256([]byte(content))
		if got := hex.EncodeToString(sum[:]); got != sums[name] {
			t.Errorf("%s: the sum is %s; VENDORED.md says %q", name, got, sums[name])
		}
	}
	if seen != len(sums) {
		t.Errorf("VENDORED.md lists %d files, and there are %d", len(sums), seen)
	}
}
