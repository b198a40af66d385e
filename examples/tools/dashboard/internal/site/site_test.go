package site

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"html"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/examples/tools/dashboard/internal/results"
)

// fake has one run, "results/a".
type fake struct {
	json   string
	detail results.Detail
	err    error
}

func newFake() *fake { return &fake{json: `{"runs":[1]}`, detail: results.Detail{Key: "results/a"}} }

func (f *fake) Overview() (*results.Encoded, error) {
	return &results.Encoded{JSON: []byte(f.json), Tag: `"tag"`, Runs: 1}, f.err
}

func (f *fake) Detail(key string, points int) (*results.Detail, error) {
	if key != f.detail.Key {
		return nil, results.ErrNoRun
	}
	return &f.detail, nil
}

func (f *fake) Keys() []string { return []string{"results/gone", f.detail.Key} }

func ask(t *testing.T, f *fake, method, target string, header ...string) (*http.Response, string) {
	t.Helper()
	handler, err := Handler(f)
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(method, target, nil)
	r.Host = "localhost:8090"
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	body, err := io.ReadAll(w.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.Result(), string(body)
}

func TestHandler(t *testing.T) {
	for _, c := range []struct {
		method, path string
		status       int
		contentType  string
	}{
		{"GET", "/", 200, "text/html; charset=utf-8"},
		{"HEAD", "/", 200, "text/html; charset=utf-8"},
		{"GET", "/assets/dashboard.js", 200, "text/javascript; charset=utf-8"},
		{"GET", "/assets/dashboard.css", 200, "text/css; charset=utf-8"},
		{"GET", "/assets/d3/d3.min.js", 200, "text/javascript; charset=utf-8"},
		{"GET", "/assets/plot/plot.umd.min.js", 200, "text/javascript; charset=utf-8"},
		{"GET", "/data/overview", 200, "application/json"},
		{"HEAD", "/data/overview", 200, "application/json"},
		{"GET", "/data/run?key=results/a", 200, "application/json"},
		{"GET", "/data/run?key=results/b", 404, ""},
		{"GET", "/data/run?key=../../etc/passwd", 404, ""},
		{"GET", "/data/run", 404, ""},
		{"GET", "/data/", 404, ""},
		{"GET", "/assets/", 404, ""},
		{"GET", "/assets/index.html", 404, ""},
		{"GET", "/index.html", 404, ""},
		{"GET", "/favicon.ico", 404, ""},
		{"POST", "/", 405, ""},
		{"PUT", "/data/overview", 405, ""},
		{"DELETE", "/data/run?key=results/a", 405, ""},
		{"OPTIONS", "/", 405, ""},
	} {
		response, _ := ask(t, newFake(), c.method, c.path)
		if response.StatusCode != c.status {
			t.Errorf("%s %s: status %d, not %d", c.method, c.path, response.StatusCode, c.status)
		}
		if got := response.Header.Get("Content-Type"); c.contentType != "" && got != c.contentType {
			t.Errorf("%s %s: content type %q, not %q", c.method, c.path, got, c.contentType)
		}
		if response.StatusCode == 405 && response.Header.Get("Allow") != "GET, HEAD" {
			t.Errorf("%s %s: allows %q", c.method, c.path, response.Header.Get("Allow"))
		}
		for _, name := range []string{"X-Content-Type-Options", "Referrer-Policy", "Content-Security-Policy", "Cross-Origin-Resource-Policy"} {
			if response.Header.Get(name) == "" {
				t.Errorf("%s %s: there is no %s", c.method, c.path, name)
			}
		}
	}
}

// A foreign name that was made to lead to this machine (DNS rebinding) is refused.
func TestHosts(t *testing.T) {
	for host, want := range map[string]int{
		"localhost": 200, "localhost:8090": 200, "LOCALHOST.:8090": 200, "127.0.0.1:8090": 200, "[::1]:8090": 200, "[::1]": 200, "results.localhost": 200,
		"evil.example": 403, "evil.example:8090": 403, "localhost.evil.example": 403, "127.0.0.1.evil.example": 403, "": 403, "[": 403, "evillocalhost": 403,
	} {
		if response, body := ask(t, newFake(), "GET", "/data/overview", "Host", host); response.StatusCode != want || want == 403 && strings.Contains(body, "runs") {
			t.Errorf("%q: status %d, not %d", host, response.StatusCode, want)
		}
	}
}

func TestUnchangedThingsAreNotSentAgain(t *testing.T) {
	for _, path := range []string{"/", "/assets/dashboard.js", "/data/overview"} {
		first, _ := ask(t, newFake(), "GET", path)
		tag := first.Header.Get("ETag")
		if again, body := ask(t, newFake(), "GET", path, "If-None-Match", tag); tag == "" || again.StatusCode != http.StatusNotModified || body != "" {
			t.Errorf("%s: with the tag %q: status %d, %d bytes", path, tag, again.StatusCode, len(body))
		}
	}
	if response, _ := ask(t, newFake(), "GET", "/data/overview", "If-None-Match", `"other"`); response.StatusCode != http.StatusOK {
		t.Errorf("with another tag: status %d", response.StatusCode)
	}
}

func TestFailuresAreToldAsText(t *testing.T) {
	f := newFake()
	f.err = errors.New("the disk is <gone>")
	response, body := ask(t, f, "GET", "/data/overview")
	if response.StatusCode != 500 || !strings.HasPrefix(response.Header.Get("Content-Type"), "text/plain") || !strings.Contains(body, "the disk is <gone>") {
		t.Errorf("status %d, %s: %s", response.StatusCode, response.Header.Get("Content-Type"), body)
	}
	if _, err := Export(io.Discard, f, time.Now()); !errors.Is(err, f.err) {
		t.Errorf("an export: %v", err)
	}
}

func TestExportIsOneFileThatLoadsNothing(t *testing.T) {
	f := newFake()
	const hostile = "</script><script>window.hacked=1</script><!--data--><!--scripts-->"
	text, err := json.Marshal(map[string]string{"folder": hostile})
	if err != nil {
		t.Fatal(err)
	}
	f.json, f.detail.Error = string(text), hostile
	var file bytes.Buffer
	done, err := Export(&file, f, time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC))
	if err != nil || done.Bytes != file.Len() || done.Runs != 1 || done.Points != servedPoints {
		t.Fatalf("%+v, %v, %d bytes", done, err, file.Len())
	}
	document := file.String()
	around := regexp.MustCompile(`(?s)(<script[^>]*>|<style>).*?(</script>|</style>)`).ReplaceAllString(document, "$1$2")
	for _, wrong := range []string{"hacked", "<!--", " src=", `rel="stylesheet"`, " style=", "http:", "https:", "//"} {
		if strings.Contains(strings.ReplaceAll(around, "http://www.w3.org/2000/svg", ""), wrong) {
			t.Errorf("around its scripts and styles the file has %q", wrong)
		}
	}
	// Every block is what the policy says, or data.
	policy := regexp.MustCompile(`<meta http-equiv="Content-Security-Policy" content="([^"]*)">`).FindStringSubmatch(document)
	if policy == nil {
		t.Fatal("the file has no policy")
	}
	allowed := html.UnescapeString(policy[1])
	if strings.Contains(allowed, "unsafe") || strings.Contains(allowed, "self") || !strings.HasPrefix(allowed, "default-src 'none'") {
		t.Errorf("the policy is %s", allowed)
	}
	scripts := regexp.MustCompile(`(?s)<script([^>]*)>(.*?)</script>`).FindAllStringSubmatch(document, -1)
	kinds := map[string]int{}
	for _, s := range scripts {
		if strings.HasPrefix(s[1], ` type="application/json"`) {
			kinds["data"]++
			if !json.Valid([]byte(s[2])) {
				t.Errorf("a block is no JSON: %.100s", s[2])
			}
			continue
		}
		kinds["script"]++
		if s[1] != "" || !strings.Contains(allowed, sourceOf([]byte(s[2]))) {
			t.Errorf("the policy does not allow the script <script%s>%.60s", s[1], s[2])
		}
	}
	if kinds["data"] != 2 || kinds["script"] != 3 {
		t.Errorf("the file has %v", kinds)
	}
	style := regexp.MustCompile(`(?s)<style>(.*?)</style>`).FindStringSubmatch(document)
	if style == nil || !strings.Contains(allowed, sourceOf([]byte(style[1]))) {
		t.Error("the policy does not allow the style sheet")
	}
	var overview struct {
		Exported time.Time
		Folder   string
	}
	for _, s := range scripts {
		if strings.Contains(s[1], `id="overview"`) {
			if err := json.Unmarshal([]byte(s[2]), &overview); err != nil {
				t.Fatal(err)
			}
		}
	}
	if overview.Folder != hostile || overview.Exported.Year() != 2026 {
		t.Errorf("the overview is %+v", overview)
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

func TestEveryFileIsPartOfThePage(t *testing.T) {
	for name := range files(t) {
		base := path.Base(name)
		switch {
		case strings.HasPrefix(name, "js/") && !slices.Contains(scriptNames, base), strings.HasPrefix(name, "css/") && !slices.Contains(styleNames, base):
			t.Errorf("%s is not listed in assets.go", name)
		}
	}
}

// The page works without a network: nothing in it names another place, apart from the name of SVG's elements.
func TestNoFileNamesAnotherPlace(t *testing.T) {
	address := regexp.MustCompile(`(?i)(?:https?:|wss?:)?//[\w-]+(?:\.[\w-]+)+[^\s'"]*`)
	for name, content := range files(t) {
		if strings.HasPrefix(name, "vendor/") {
			continue // addresses in comments and licences
		}
		for _, found := range address.FindAllString(content, -1) {
			if found != "http://www.w3.org/2000/svg" {
				t.Errorf("%s names %s", name, found)
			}
		}
		if path.Ext(name) == ".css" && (strings.Contains(content, "url(") || strings.Contains(content, "@import")) {
			t.Errorf("%s loads something", name)
		}
	}
}

// Text never becomes HTML or a script.
func TestNothingMakesHTML(t *testing.T) {
	makes := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|setHTML|createContextualFragment|DOMParser|eval\(|new Function|\.html\(`)
	for name, content := range files(t) {
		if found := makes.FindString(content); found != "" && !strings.HasPrefix(name, "vendor/") {
			t.Errorf("%s uses %s", name, found)
		}
	}
}

// The policy forbids scripts and styles within the served document; a browser would leave them out without a word.
func TestTheDocumentHasNoScriptOrStyleOfItsOwn(t *testing.T) {
	document := files(t)["index.html"]
	for _, pattern := range []string{`<style`, `<script`, `\sstyle=`, `\son\w+=`, `javascript:`} {
		if found := regexp.MustCompile(pattern).FindString(document); found != "" {
			t.Errorf("the document has %q", found)
		}
	}
	for _, place := range []string{"policy", "styles", "data", "scripts"} {
		if strings.Count(document, "<!--"+place+"-->") != 1 {
			t.Errorf("the document has not one place for %s", place)
		}
	}
}

// What ends a script early, seen by a browser, must not stand in one.
func TestScriptsMayStandInADocument(t *testing.T) {
	p, err := load()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range append(p.scripts, p.styles) {
		if found := regexp.MustCompile(`(?i)</(script|style)|<!--`).Find(s.content); found != nil {
			t.Errorf("%s has %s", s.name, found)
		}
	}
}

func TestVendoredFilesAreAsPublished(t *testing.T) {
	all := files(t)
	sums := map[string]string{}
	for _, match := range regexp.MustCompile(`(?m)^\| (\S+) \| ([0-9a-f]{64}) \|$`).FindAllStringSubmatch(all["vendor/VENDORED.md"], -1) {
		sums[match[1]] = match[2]
	}
	seen := 0
	for name, content := range all {
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
	if seen != len(sums) || seen == 0 {
		t.Errorf("VENDORED.md lists %d files, and there are %d", len(sums), seen)
	}
}
