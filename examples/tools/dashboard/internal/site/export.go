package site

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"time"

	"github.com/antigravity-go/antigravity/examples/tools/dashboard/internal/results"
)

// Exported says what an export came to.
type Exported struct {
	Bytes  int
	Runs   int
	Points int // of a timeline at most
}

// The points of all timelines together are bounded, so that the file stays one that a browser opens quickly.
const (
	allPoints   = 400_000
	leastPoints = 60
)

// Export writes the page with all results in it: one file that a browser opens without a server and without a network. Runs that disappear
// while it is written are left out of the timelines.
func Export(w io.Writer, source Source, now time.Time) (Exported, error) {
	p, err := load()
	if err != nil {
		return Exported{}, err
	}
	overview, err := source.Overview()
	if err != nil {
		return Exported{}, err
	}
	var data bytes.Buffer
	stamp, err := json.Marshal(now.UTC().Truncate(time.Second))
	if err != nil {
		return Exported{}, err
	}
	// The overview is an object: the time of the export becomes its first member.
	fmt.Fprintf(&data, "<script type=\"application/json\" id=\"overview\">{\"exported\":%s,%s</script>\n", stamp, overview.JSON[1:])
	keys := source.Keys()
	points := min(max(allPoints/max(len(keys), 1), leastPoints), servedPoints)
	for i, key := range keys {
		detail, err := source.Detail(key, points)
		if errors.Is(err, results.ErrNoRun) {
			continue
		}
		if err != nil {
			return Exported{}, fmt.Errorf("export %s: %w", key, err)
		}
		text, err := json.Marshal(detail) // escapes <, > and &, so that nothing in it ends the block
		if err != nil {
			return Exported{}, fmt.Errorf("export %s: %w", key, err)
		}
		fmt.Fprintf(&data, "<script type=\"application/json\" id=\"run-%d\">%s</script>\n", i, text)
	}
	var scripts bytes.Buffer
	for _, s := range p.scripts {
		fmt.Fprintf(&scripts, "<script>%s</script>\n", s.content)
	}
	policy := "<meta http-equiv=\"Content-Security-Policy\" content=\"" + html.EscapeString(p.exportedPolicy()) + "\">"
	document := p.fillIn([]byte(policy), []byte("<style>"+string(p.styles.content)+"</style>"), data.Bytes(), scripts.Bytes())
	if _, err := w.Write(document); err != nil {
		return Exported{}, fmt.Errorf("write the export: %w", err)
	}
	return Exported{len(document), overview.Runs, points}, nil
}
