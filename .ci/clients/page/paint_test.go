package page

import (
	"strings"
	"testing"
)

// opening is what the browser says of how the page opened.
type opening struct {
	Files []string // that were loaded, the document first
	Bytes int      // of all of them, as they come without compression
	Paint float64  // milliseconds until something was drawn
	Ready float64  // milliseconds until all scripts were there
}

// openings is the opening of the page that is shown.
const openings = `(() => {
	const files = [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')].filter(({ name }) => !name.includes('/v1/'));
	return {
		Files: files.map(({ name }) => new URL(name).pathname),
		Bytes: files.reduce((sum, { decodedBodySize }) => sum + decodedBodySize, 0),
		Paint: performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0,
		Ready: Math.max(...files.map(({ responseEnd }) => responseEnd)),
	};
})()`

// What an empty page loads is bounded. The times are written down; no bound of theirs would hold on every machine.
func TestFirstPaint(t *testing.T) {
	f := start(t, says("x"))
	b := open(t, f.URL)
	b.until("performance.getEntriesByName('first-contentful-paint').length")
	o := js[opening](b, openings)
	t.Logf("%d files, %d bytes, painted after %.0f ms, all there after %.0f ms", len(o.Files), o.Bytes, o.Paint, o.Ready)
	if o.Bytes == 0 || o.Bytes > 300_000 {
		t.Errorf("%d bytes: %s", o.Bytes, strings.Join(o.Files, " "))
	}
}
