package page

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestWebAssembly makes the page of examples/browser, and lets Flint answer in the browser: its answers have the digests of those that this
// machine gives without one. No server helps: the files are all that the page may ask for.
func TestWebAssembly(t *testing.T) {
	folder := t.TempDir()
	program := filepath.Join(folder, "browser")
	root := filepath.Join("..", "..", "..")
	build := exec.Command("go", "build", "-o", program, "./examples/browser")
	build.Dir = root
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	site := filepath.Join(folder, "site")
	make := exec.Command(program, "-out", site)
	make.Dir = root
	if output, err := make.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	h := httptest.NewServer(http.FileServer(http.Dir(site)))
	t.Cleanup(h.Close)
	b := open(t, h.URL)
	t.Log(b.text("#state"))
	for _, c := range []struct{ task, button, question, answer string }{
		{"chat", "Chat", "What is the capital of Japan?", "The capital of Japan is Tokyo."},
		{"calls", "Call functions", "How warm is it in Nairobi?", "It is 17 degrees and sunny in Nairobi."},
		{"form", "Fill a form", "Sam likes apples and salad, is happy, lives in Kyiv and is 18 years old.", "apples"},
	} {
		output, err := exec.Command(program, "-ask", c.task+":"+c.question).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, output)
		}
		_, digest, _ := strings.Cut(strings.TrimSpace(string(output)), "digest ")
		b.button(c.button)
		b.fill("#question", c.question)
		b.button("Ask")
		b.eventually("document.querySelector('.figures')")
		t.Log(b.text(".figures"))
		if got := js[string](b, "document.querySelector('.figures').dataset.digest"); got != digest || len(digest) != 64 {
			t.Errorf("%s: the digest in the browser is %s, and %s without one", c.task, got, digest)
		}
		if said := b.text(".answer"); !strings.Contains(said, c.answer) {
			t.Errorf("%s: the answer is %q, want %q", c.task, said, c.answer)
		}
		b.picture("wasm-" + c.task)
	}
	if city := js[string](b, "document.querySelector('#form').elements.city.value"); city != "Kyiv" {
		t.Errorf("the form has the city %q", city)
	}
	b.button("Chat")
	b.fill("#question", "Tell me a story about a fox.")
	b.button("Ask")
	b.eventually("document.querySelector('.answer')?.innerText.length > 10")
	b.button("Stop")
	b.eventually("document.querySelector('.figures')")
	if fmt.Sprint(b.texts(".failed")) != "[stopped]" {
		t.Errorf("after Stop the page shows %q", b.text("#log"))
	}
}

// eventually is until for what takes long on a machine with much to do: it waits as long as the tab may be open.
func (b *tab) eventually(expression string) {
	b.t.Helper()
	for !js[bool](b, fmt.Sprintf("Boolean(%s)", expression)) {
		time.Sleep(100 * time.Millisecond)
	}
}
