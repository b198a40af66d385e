package page

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

var screenshots = flag.String("screenshots", "", "`folder` to write pictures of the page to")

// chrome is the one browser of all tests; each test has a profile of its own in it.
var chrome context.Context

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if _, err := exec.LookPath("chromium"); err != nil {
		log.Print("these tests need Debian's chromium: apt-get install --no-install-recommends chromium fonts-liberation")
		return 1
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath("chromium"), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.WSURLReadTimeout(time.Minute))
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	defer stop()
	ctx, stop := chromedp.NewContext(allocator)
	defer stop()
	if err := chromedp.Do(ctx); err != nil {
		log.Print("chromium does not start: ", err)
		return 1
	}
	chrome = ctx
	defer func() {
		if programsFolder != "" {
			os.RemoveAll(programsFolder)
		}
	}()
	return m.Run()
}

// tab is a window of the browser, and what went wrong in it.
type tab struct {
	t   *testing.T
	ctx context.Context
	url string

	mu       sync.Mutex
	wrong    []string
	expected []string // parts of messages that are no fault
}

// open opens the page at url, which has no slash at its end, in a profile of its own; the scripts of first run before those of the page. When the test ends, the tab must have had no error on its console, no dialog, and no request
// to anywhere but the server.
func open(t *testing.T, url string, first ...string) *tab {
	return openIn(t, url, chromedp.WithNewBrowserContext(), first...)
}

// beside opens another window of the same profile.
func (b *tab) beside() *tab {
	return openIn(b.t, b.url, chromedp.WithExistingBrowserContext(chromedp.FromContext(b.ctx).BrowserContextID))
}

func openIn(t *testing.T, url string, profile chromedp.ContextOption, first ...string) *tab {
	t.Helper()
	return openAt(t, url, "/", profile, first...)
}

// openAt opens the page at a path below url, where all that it may ask for is.
func openAt(t *testing.T, url, path string, profile chromedp.ContextOption, first ...string) *tab {
	ctx, stop := chromedp.NewContext(chrome, profile)
	t.Cleanup(stop)
	ctx, stop = context.WithTimeout(ctx, 3*time.Minute)
	t.Cleanup(stop)
	b := &tab{t: t, ctx: ctx, url: url}
	if err := chromedp.Listen(ctx, b.listen); err != nil {
		t.Fatal(err)
	}
	for _, script := range first {
		if _, err := chromedp.Call(ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script}); err != nil {
			t.Fatal(err)
		}
	}
	b.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(url+path))
	b.waitReady()
	t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
	next:
		for _, wrong := range b.wrong {
			for _, part := range b.expected {
				if strings.Contains(wrong, part) {
					continue next
				}
			}
			t.Error(wrong)
		}
		if t.Failed() && *screenshots != "" {
			b.picture("failed-" + strings.ReplaceAll(t.Name(), "/", "-"))
		}
	})
	return b
}

func (b *tab) listen(event any) {
	var wrong string
	switch event := event.(type) {
	case *runtime.EventExceptionThrown:
		wrong = "exception: " + event.ExceptionDetails.Text
		if exception := event.ExceptionDetails.Exception; exception != nil {
			wrong += " " + exception.Description
		}
	case *runtime.EventConsoleAPICalled:
		if event.Type == runtime.ConsoleAPICalledTypeError || event.Type == runtime.ConsoleAPICalledTypeWarning {
			wrong = fmt.Sprintf("console: %s %s", event.Args[0].Value, event.Args[0].Description)
		}
	case *cdplog.EventEntryAdded:
		if event.Entry.Level == cdplog.EntryLevelError || event.Entry.Level == cdplog.EntryLevelWarning {
			wrong = "log: " + event.Entry.Text + " " + event.Entry.URL
		}
	case *page.EventJavascriptDialogOpening:
		wrong = "a dialog opens: " + event.Message
		go func() { _, _ = chromedp.Call(b.ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{}) }()
	case *network.EventRequestWillBeSent:
		if u := event.Request.URL; !strings.HasPrefix(u, b.url+"/") && !strings.HasPrefix(u, "blob:"+b.url+"/") && !strings.HasPrefix(u, "data:image/") {
			wrong = "a request leaves for " + u
		}
	}
	if wrong != "" {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.wrong = append(b.wrong, wrong)
	}
}

// expect says that messages with this part are no fault.
func (b *tab) expect(part string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expected = append(b.expected, part)
}

func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

func (b *tab) waitReady() {
	b.t.Helper()
	b.until("document.body && 'ready' in document.body.dataset")
}

// until waits for a JavaScript expression to become true.
func (b *tab) until(expression string) {
	b.t.Helper()
	b.wait(expression, func() bool { return js[bool](b, fmt.Sprintf("Boolean(%s)", expression)) })
}

// wait waits until done.
func (b *tab) wait(what string, done func() bool) {
	b.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			b.t.Fatalf("waiting for %s; the page shows:\n%s", what, b.text("body"))
		}
	}
}

// js is the value of a JavaScript expression, which may be a promise.
func js[T any](b *tab, expression string) T {
	b.t.Helper()
	value, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return value
}

// text is the text shown in the first element that the selector finds.
func (b *tab) text(selector string) string {
	b.t.Helper()
	return js[string](b, fmt.Sprintf("document.querySelector(%q)?.innerText ?? ''", selector))
}

// texts are the texts shown in all elements that the selector finds.
func (b *tab) texts(selector string) []string {
	b.t.Helper()
	return js[[]string](b, fmt.Sprintf("[...document.querySelectorAll(%q)].map((element) => element.innerText)", selector))
}

func (b *tab) click(selector string) {
	b.t.Helper()
	b.still() // a click aimed at an element that moves would miss it
	b.do(chromedp.ScrollIntoView(chromedp.CSS(selector)), chromedp.Click(chromedp.CSS(selector), chromedp.NodeVisible))
}

// button clicks the last visible button of this name.
func (b *tab) button(name string) {
	b.t.Helper()
	b.until(fmt.Sprintf(`[...document.querySelectorAll('button')].some((b) => (b.getAttribute('aria-label') ?? b.innerText.trim()) === %q && b.checkVisibility())`, name))
	js[chromedp.Void](b, fmt.Sprintf(`[...document.querySelectorAll('button')].filter((b) => (b.getAttribute('aria-label') ?? b.innerText.trim()) === %q && b.checkVisibility()).at(-1).click()`, name))
}

// fill replaces the text of a field.
func (b *tab) fill(selector, text string) {
	b.t.Helper()
	js[chromedp.Void](b, fmt.Sprintf(`{ const field = document.querySelector(%q); field.focus(); field.select(); }`, selector))
	b.do(chromedp.SendKeys(chromedp.CSS(selector), kb.Backspace+text))
}

// ask sends a message and waits until its answer has ended.
func (b *tab) ask(text string) {
	b.t.Helper()
	b.begin(text)
	b.answered()
}

// begin sends a message.
func (b *tab) begin(text string) {
	b.t.Helper()
	b.fill("#prompt", text)
	b.press("Enter", "Enter", 13, chromedp.ModifierNone)
}

// press presses a key that types nothing.
func (b *tab) press(key, code string, number int64, modifiers chromedp.Modifier) {
	b.t.Helper()
	for _, kind := range []input.DispatchKeyEventType{input.DispatchKeyEventTypeRawKeyDown, input.DispatchKeyEventTypeKeyUp} {
		if _, err := chromedp.Call(b.ctx, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: kind, Key: key, Code: code,
			WindowsVirtualKeyCode: number, NativeVirtualKeyCode: number, Modifiers: int64(modifiers)}); err != nil {
			b.t.Fatal(err)
		}
	}
}

// escape presses the Escape key.
func (b *tab) escape() {
	b.t.Helper()
	b.press("Escape", "Escape", 27, chromedp.ModifierNone)
}

// answered waits until no answer comes.
func (b *tab) answered() {
	b.t.Helper()
	b.until(`document.querySelector('.message') && !document.querySelector('[aria-busy="true"]') && document.querySelector('#send').ariaLabel === 'Send'`)
}

func (b *tab) reload() {
	b.t.Helper()
	b.do(chromedp.Reload())
	b.waitReady()
}

// still waits until nothing moves but what never stops.
func (b *tab) still() {
	b.t.Helper()
	b.until("document.getAnimations().every((a) => a.playState !== 'running' || a.effect.getTiming().iterations === Infinity)")
}

// picture writes a picture of the window into the folder for screenshots, if there is one.
func (b *tab) picture(name string) {
	b.t.Helper()
	if *screenshots == "" {
		return
	}
	b.still()
	png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.MkdirAll(*screenshots, 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(*screenshots, name+".png"), png, 0o644); err != nil {
		b.t.Fatal(err)
	}
}
