package page

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

var resultsFolder = flag.String("results", "", "absolute path of the `folder` of results that TestDashboardLooks takes its pictures of, in place of invented ones")

// programsFolder holds the programs that were built, "" before; TestMain removes it.
var programsFolder string

// programs builds the dashboard and what invents results for it, once, and returns the folder that they are in.
var programs = sync.OnceValues(func() (string, error) {
	folder, err := os.MkdirTemp("", "dashboard")
	if err != nil {
		return "", err
	}
	programsFolder = folder
	build := exec.Command("go", "build", "-o", folder, "./examples/tools/dashboard", "./examples/tools/dashboard/internal/makesample")
	build.Dir = filepath.Join("..", "..", "..")
	if output, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, output)
	}
	return folder, nil
})

// program is the path of one of the programs.
func program(t *testing.T, name string) string {
	t.Helper()
	folder, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(folder, name)
}

// makeResults invents results and returns their folder.
func makeResults(t *testing.T, folder string, args ...string) string {
	t.Helper()
	if output, err := exec.Command(program(t, "makesample"), append([]string{"-out", folder}, args...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	return folder
}

// serveDashboard runs the dashboard until the test ends and returns its address, without a slash at the end.
func serveDashboard(t *testing.T, folders ...string) string {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	command := exec.CommandContext(ctx, program(t, "dashboard"), append([]string{"-addr", "localhost:0"}, folders...)...)
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(); _ = command.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal("the dashboard tells no address: ", err)
	}
	return strings.TrimSuffix(strings.TrimSpace(line), "/")
}

// drawn waits until the page has drawn once more than before.
func (b *tab) drawn(action func()) {
	b.t.Helper()
	before := js[int](b, "Number(document.body.dataset.rendered)")
	action()
	b.until(fmt.Sprintf("Number(document.body.dataset.rendered) > %d && !document.querySelector('#run:not([data-filled])')", before))
}

// look goes to a state of the dashboard.
func (b *tab) look(state string) {
	b.t.Helper()
	if js[string](b, "location.hash") == state {
		return
	}
	b.drawn(func() { js[chromedp.Void](b, fmt.Sprintf("void (location.hash = %q)", state)) })
}

// marks counts the drawn marks.
func (b *tab) marks(selector string) int {
	b.t.Helper()
	return js[int](b, fmt.Sprintf("document.querySelectorAll(%q).length", selector))
}

var dashboardViews = []string{"throughput", "latency", "memory", "policies", "run", "commits", "table"}

func TestDashboardDrawsEveryView(t *testing.T) {
	b := open(t, serveDashboard(t, makeResults(t, t.TempDir(), "-commits", "4", "-r", "6")))
	for _, c := range []struct {
		view, selector string
		least          int
	}{
		{"throughput", "[data-mark=rect] rect", 240},
		{"throughput", "[data-mark=rule] line", 240},
		{"latency", "[data-mark=rect] rect", 360},
		{"latency", "[data-mark=dot] circle", 60},
		{"memory", "[data-mark=line] path", 100},
		{"memory", "[data-mark=dot] path", 300},
		{"policies", "[data-mark=rect] rect", 100},
		{"run", "#timeline [data-mark=line] path", 4},
		{"run", "#timeline svg", 4},
		{"run", "#profile [data-mark=rect] rect", 14},
		{"commits", "[data-mark=line] path", 10},
		{"commits", "#changes tbody tr", 5},
		{"table", "tbody tr", 120},
		{"table", "tbody td.number", 1000},
	} {
		b.look("#view=" + c.view)
		if got := b.marks(c.selector); got < c.least {
			t.Errorf("%s: %d of %s, want at least %d", c.view, got, c.selector, c.least)
		}
		if got := b.text("#views [aria-current]"); got == "" {
			t.Errorf("%s: no view is marked as the current one", c.view)
		}
		for _, label := range js[[]string](b, "[...document.querySelectorAll('svg.plot')].map((e) => e.getAttribute('aria-label') ?? '')") {
			if label == "" || strings.Contains(label, "undefined") || strings.Contains(label, "NaN") {
				t.Errorf("%s: a picture is called %q", c.view, label)
			}
		}
		if text := b.text("#main"); strings.Contains(text, "undefined") || strings.Contains(text, "NaN") || strings.Contains(text, "[object") {
			t.Errorf("%s: the page shows %s", c.view, text)
		}
	}
}

func TestDashboardFiltersAreInTheAddress(t *testing.T) {
	url := serveDashboard(t, makeResults(t, t.TempDir(), "-commits", "1", "-r", "2"))
	b := open(t, url)
	all := b.marks("[data-mark=rect] rect")
	check := func(axis, value string) {
		t.Helper()
		b.drawn(func() {
			js[chromedp.Void](b, fmt.Sprintf("void (() => { const e = document.querySelector('#filters input[name=%q][value=%q]'); e.focus(); e.click(); })()", axis, value))
		})
	}
	check("model", "pebble")
	if got := b.marks("[data-mark=rect] rect"); got != all/2 {
		t.Errorf("of %d marks %d stay with one of two models", all, got)
	}
	check("kv", "f16")
	equal(t, "the address", js[string](b, "location.hash"), "#view=throughput&model=pebble&kv=f16")
	if focused := js[string](b, "document.activeElement.name ?? ''"); focused != "kv" {
		t.Errorf("after a filter the focus is on %q", focused)
	}
	filtered := b.marks("[data-mark=rect] rect")
	if filtered != all/6 {
		t.Errorf("of %d marks %d stay with one of two models and one of three types", all, filtered)
	}
	// A view's choices are in the address too.
	b.drawn(func() {
		js[chromedp.Void](b, "{ const s = document.querySelector('#control-x'); s.value = 'policy'; s.dispatchEvent(new Event('change')); }")
	})
	b.drawn(func() {
		js[chromedp.Void](b, "{ const s = document.querySelector('#control-series'); s.value = 'window'; s.dispatchEvent(new Event('change')); }")
	})
	address := js[string](b, "location.hash")
	equal(t, "the address", address, "#view=throughput&x=policy&series=window&model=pebble&kv=f16")
	shown := b.text("#main")

	// The address alone shows the same.
	again := open(t, url)
	again.look(address)
	equal(t, "what the address shows", again.text("#main"), shown)
	equal(t, "checked filters", again.marks("#filters input:checked"), 2)

	// Back and forward.
	b.drawn(func() { js[chromedp.Void](b, "history.back()") })
	b.drawn(func() { js[chromedp.Void](b, "history.back()") })
	equal(t, "marks after going back", b.marks("[data-mark=rect] rect"), filtered)
	b.drawn(func() { js[chromedp.Void](b, "history.back()") })
	equal(t, "the address before", js[string](b, "location.hash"), "#view=throughput&model=pebble")
	b.drawn(func() { js[chromedp.Void](b, "history.forward()") })
	equal(t, "the address again", js[string](b, "location.hash"), "#view=throughput&model=pebble&kv=f16")

	// What does not exist.
	b.look("#view=throughput&model=other")
	if text := b.text("#main"); !strings.Contains(text, "No run passes the filters") {
		t.Errorf("with a model that is not there the page shows %s", text)
	}
	b.drawn(func() { b.click("#main .empty a") })
	equal(t, "marks without filters", b.marks("[data-mark=rect] rect"), all)
	b.look("#view=run&run=nowhere")
	if text := b.text("#main"); !strings.Contains(text, "This run is not there") {
		t.Errorf("of a run that is not there the page shows %s", text)
	}
	for _, odd := range []string{"#view=constructor", "#x=__proto__&series=toString&metric=nothing&panels=x", "#view=policies&metric=valueOf&x=commit", "#view=table&sort=-nothing", "#view=commits&series=none&panels=policy", "#%"} {
		b.look(odd)
		if b.marks("#main *") < 5 {
			t.Errorf("%s: the page is empty", odd)
		}
	}
}

func TestDashboardShowsNewRunsAsTheyCome(t *testing.T) {
	folder := t.TempDir()
	b := open(t, serveDashboard(t, folder))
	if text := b.text("#main"); !strings.Contains(text, "No runs yet") || !strings.Contains(text, "examples/tools/suite") {
		t.Errorf("without runs the page shows %s", text)
	}
	makeResults(t, folder, "-small", "-commits", "1", "-r", "1")
	b.until("document.querySelectorAll('[data-mark=rect] rect').length >= 48")
	b.look("#view=table&policy=none")
	b.until("document.querySelectorAll('tbody tr').length === 6")
	makeResults(t, folder, "-small", "-commits", "1", "-r", "2")
	b.until("document.querySelector('#status').innerText.startsWith('48 runs')")
	equal(t, "the address after an update", js[string](b, "location.hash"), "#view=table&policy=none")
	equal(t, "rows after an update", b.marks("tbody tr"), 6)

	// A file that is no run is named, and takes nothing away.
	if err := os.WriteFile(filepath.Join(folder, "broken.run.json"), []byte("{<b>"), 0o644); err != nil {
		t.Fatal(err)
	}
	b.until("document.querySelector('#notices')")
	if text := b.text("#notices"); !strings.Contains(text, "broken.run.json") {
		t.Errorf("the notice is %s", text)
	}
	equal(t, "rows beside a bad file", b.marks("tbody tr"), 6)
}

func TestDashboardTableSortsAndDownloads(t *testing.T) {
	b := open(t, serveDashboard(t, makeResults(t, t.TempDir(), "-small", "-commits", "1", "-r", "2")))
	b.look("#view=table")
	column := func() []float64 {
		var list []float64
		place := js[int](b, "[...document.querySelectorAll('th')].findIndex((th) => th.hasAttribute('aria-sort')) + 1")
		for _, text := range b.texts(fmt.Sprintf("tbody tr td:nth-child(%d)", place)) {
			number, err := strconv.ParseFloat(strings.ReplaceAll(strings.Fields(text)[0], ",", ""), 64)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, number)
		}
		return list
	}
	b.drawn(func() { b.click("#sort-generating") })
	if list := column(); len(list) != 24 || !slices.IsSorted(list) {
		t.Errorf("ascending: %v", list)
	}
	b.drawn(func() { b.click("#sort-generating") })
	list := column()
	slices.Reverse(list)
	if !slices.IsSorted(list) {
		t.Errorf("descending, read backwards: %v", list)
	}
	equal(t, "the address", js[string](b, "location.hash"), "#view=table&sort=-generating")

	// The CSV is what a blob holds: it is read here in place of being kept.
	js[chromedp.Void](b, "{ const real = URL.createObjectURL; URL.createObjectURL = (blob) => { window.csv = blob.text(); return real.call(URL, blob); }; }")
	b.click("#csv")
	text := js[string](b, "window.csv")
	lines := strings.Split(strings.TrimSuffix(text, "\r\n"), "\r\n")
	equal(t, "lines of the CSV", len(lines), 25)
	if !strings.HasPrefix(lines[0], "backend,kv,policy,") || !strings.Contains(lines[0], ",generating,generating_low,generating_high,") {
		t.Errorf("the CSV begins %s", lines[0])
	}
	for _, line := range lines {
		equal(t, "commas in "+line, strings.Count(line, ","), strings.Count(lines[0], ","))
	}
}

// TestDashboardTableFits looks at the table where most screens are: all columns of the usual matrix are to be seen without scrolling.
func TestDashboardTableFits(t *testing.T) {
	b := open(t, serveDashboard(t, makeResults(t, t.TempDir(), "-commits", "1", "-r", "2")))
	for _, width := range []int64{1280, 1440, 1600, 1920} {
		b.see(width, 800, "light")
		b.look("#view=table")
		time.Sleep(50 * time.Millisecond) // a frame, in which the page is drawn for its new width
		if hidden := js[int](b, "(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector('.table'))"); hidden > 0 {
			t.Errorf("at %d pixels %d of the table are hidden", width, hidden)
		}
	}
}

func TestDashboardWarnsOfUnknownCommits(t *testing.T) {
	for _, unknown := range []bool{true, false} {
		b := open(t, serveDashboard(t, makeResults(t, t.TempDir(), "-small", "-commits", "1", "-r", "1", fmt.Sprintf("-unknown=%v", unknown))))
		b.look("#view=commits")
		equal(t, "a warning is there", js[bool](b, "document.querySelector('#unknown-commit') !== null"), unknown)
	}
}

func TestDashboardFollowsLinksToRuns(t *testing.T) {
	b := open(t, serveDashboard(t, makeResults(t, t.TempDir(), "-commits", "1", "-r", "2")))
	b.look("#view=table&model=flint&backend=opencl&kv=q8_0&policy=h2o")
	equal(t, "links to failed runs", b.marks("tbody a.worse"), 3)
	b.drawn(func() { b.click("tbody a.worse") })
	if text := b.text("#run"); !strings.Contains(text, "This run failed") || !strings.Contains(text, "CL_OUT_OF_RESOURCES") {
		t.Errorf("a run that failed shows %s", text)
	}
	b.drawn(func() {
		js[chromedp.Void](b, "{ const s = document.querySelector('#control-repetition'); s.selectedIndex = 0; s.dispatchEvent(new Event('change')); }")
	})
	for _, what := range []string{"bench-1", "AMD EPYC 7B13", "q8_0", "flint", "needle300"} {
		if text := b.text("#run"); !strings.Contains(text, what) {
			t.Errorf("a run's page does not show %s", what)
		}
	}
	if b.marks("#timeline svg [data-mark=dot] path") < 3 {
		t.Error("no eviction is drawn")
	}
	first := js[string](b, "location.hash")
	b.drawn(func() { b.click("#step-Next") })
	if next := js[string](b, "location.hash"); next == first {
		t.Error("the next setting's run is the same")
	}
	// A click on a mark leads to its run.
	b.look("#view=throughput&model=pebble&backend=cpu&kv=f16")
	at := js[[]float64](b, "(() => { document.querySelector('svg.plot').scrollIntoView({block: 'center'}); const box = document.querySelector('svg.plot [data-mark=rect] rect').getBoundingClientRect(); return [box.x + box.width / 2, box.y + 3]; })()")
	b.drawn(func() { b.do(chromedp.MouseEvent("mouseMoved", at[0], at[1]), chromedp.MouseClickXY(at[0], at[1])) })
	if got := js[string](b, "location.hash"); !strings.HasPrefix(got, "#view=run&run=") {
		t.Errorf("a click on a bar leads to %s", got)
	}
}

func TestDashboardHostileStringsChangeNothing(t *testing.T) {
	folder := makeResults(t, t.TempDir(), "-small", "-commits", "1", "-r", "1")
	makeResults(t, filepath.Join(folder, `"><img src=x onerror=window.hacked=1>`), "-hostile")
	served := open(t, serveDashboard(t, folder))
	for _, b := range []*tab{served, exported(t, folder)} {
		js[chromedp.Void](b, `addEventListener('securitypolicyviolation', (event) => console.error('policy: ' + event.violatedDirective + ' ' + event.blockedURI))`)
		for _, view := range dashboardViews {
			for _, filter := range []string{"", "&window=64"} {
				b.look("#view=" + view + filter)
				js[chromedp.Void](b, `for (const element of document.querySelectorAll('body *')) for (const type of ['mouseover', 'pointermove', 'focus', 'load', 'error']) element.dispatchEvent(type.startsWith('pointer') ? new PointerEvent(type, { clientX: 300, clientY: 300, pointerType: 'mouse' }) : new Event(type))`)
				if found := js[string](b, `'hacked' in window ? 'window.hacked is set' : [...document.querySelectorAll('img, iframe, object, body script:not([type]):not([src]):not(body > script), [onerror], [onload]')].map((e) => e.outerHTML).join()`); found != "" {
					t.Errorf("%s%s: %s", view, filter, found)
				}
			}
		}
		b.look("#view=run&window=64")
		if text := b.text("#run"); !strings.Contains(text, "<script>window.hacked=1</script>") {
			t.Errorf("what the run says is not shown: %s", text)
		}
	}
}

// exported writes a folder's results to a file and opens that, without a server.
func exported(t *testing.T, folders ...string) *tab {
	t.Helper()
	file := filepath.Join(t.TempDir(), "index.html")
	if output, err := exec.Command(program(t, "dashboard"), append([]string{"-export", file}, folders...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	return openAt(t, "file://"+filepath.Dir(file), "/index.html", chromedp.WithNewBrowserContext())
}

func TestDashboardExportShowsTheSame(t *testing.T) {
	folder := makeResults(t, t.TempDir(), "-commits", "4", "-r", "2")
	served, file := open(t, serveDashboard(t, folder)), exported(t, folder)
	for _, view := range dashboardViews {
		state := "#view=" + view + "&model=pebble&backend=cpu"
		served.look(state)
		file.look(state)
		equal(t, view+": what the file shows", file.text("#main"), served.text("#main"))
		pictures := "[...document.querySelectorAll('svg.plot')].map((e) => e.outerHTML.replaceAll(/plot-[a-z]+-\\d+/g, '')).join('')"
		if js[string](file, pictures) != js[string](served, pictures) {
			t.Errorf("%s: the file's pictures are others", view)
		}
	}
	if text := file.text("#status"); !strings.Contains(text, "exported") {
		t.Errorf("the file says of itself %s", text)
	}
}

// Two thousand runs are there within seconds, and a filter answers quickly. The bounds are for a machine with much else to do.
func TestDashboardWithManyRuns(t *testing.T) {
	folder := makeResults(t, t.TempDir(), "-commits", "5", "-r", "9")
	begin := time.Now()
	b := open(t, serveDashboard(t, folder))
	loaded := time.Since(begin)
	t.Log(b.text("#status"), "in", loaded)
	if loaded > 20*time.Second {
		t.Errorf("it took %v until the page was there", loaded)
	}
	for _, view := range dashboardViews {
		begin := time.Now()
		b.look("#view=" + view + "&commit=all")
		b.look("#view=" + view)
		took := time.Since(begin)
		t.Log(view, took)
		if took > 10*time.Second {
			t.Errorf("%s: it took %v", view, took)
		}
	}
}

func TestDashboardAxe(t *testing.T) {
	source := axeSource(t)
	b := open(t, serveDashboard(t, makeResults(t, t.TempDir(), "-commits", "4", "-r", "2")))
	js[chromedp.Void](b, source+"; void 0")
	for _, s := range sights {
		b.see(s.width, s.height, s.scheme)
		for _, view := range dashboardViews {
			b.look("#view=" + view + "&model=pebble&kv=f16")
			if found := js[string](b, axe); found != "" {
				t.Errorf("%s, %s: %s", view, s.name, strings.TrimSpace(found))
			}
		}
		b.look("#view=throughput&model=none")
		if found := js[string](b, axe); found != "" {
			t.Errorf("nothing, %s: %s", s.name, strings.TrimSpace(found))
		}
	}
}

func TestDashboardLooks(t *testing.T) {
	folder := *resultsFolder
	if folder == "" {
		folder = makeResults(t, t.TempDir(), "-commits", "5", "-r", "5")
	}
	b := open(t, serveDashboard(t, folder))
	for _, s := range sights {
		if *screenshots == "" {
			break
		}
		b.see(s.width, s.height, s.scheme)
		js[chromedp.Void](b, fmt.Sprintf("void (document.querySelector('#filter-details').open = %v)", s.width >= 900))
		for _, view := range dashboardViews {
			b.look("#view=" + view)
			js[chromedp.Void](b, "scrollTo(0, 0)")
			b.picture("dashboard-" + view + "-" + s.name)
			if s.scheme == "light" {
				js[chromedp.Void](b, "scrollTo(0, innerHeight - 60)")
				b.picture("dashboard-" + view + "-below-" + s.name)
			}
		}
	}
	for _, view := range dashboardViews {
		b.see(1280, 800, "light")
		b.look("#view=" + view)
		for _, width := range []int64{320, 375, 600, 899, 900, 1280, 1600} {
			b.see(width, 800, "light")
			b.until("Number(document.body.dataset.rendered) > 0")
			time.Sleep(50 * time.Millisecond) // a frame, in which the page is drawn for its new width
			if wide := js[bool](b, "document.documentElement.scrollWidth > innerWidth"); wide {
				t.Errorf("%s: at %d pixels the page is wider than its window", view, width)
				b.picture(fmt.Sprintf("dashboard-wide-%s-%d", view, width))
			}
		}
	}
}
