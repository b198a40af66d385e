package ask

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"

	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// Warnings is the header of an answer that says what of the request is left out.
const Warnings = "X-Warnings"

// maxWarnings bounds what the header says, in bytes.
const maxWarnings = 1024

// LeftOut is something that a request asks for and the server does not have, but that programs ask for which get on without it: a tool of
// another kind than functions, say.
type LeftOut struct {
	At  string // its place in the request: "tools[4]"
	Why string // why it is left out: "the server has no web search"
}

// LeftOutTool returns the LeftOut for a tool at a place that is not a function. name may be "".
func LeftOutTool(at, kind, name string) LeftOut {
	what := fmt.Sprintf("tools of the type %+.40q", kind)
	if name != "" {
		what += fmt.Sprintf(" (%+.64q)", name)
	}
	return LeftOut{at, "the server has no " + what + ", only functions"}
}

// ToolKind returns the type of a tool, which may be any JSON value. It returns "" if the type is missing or is no word.
func ToolKind(tool json.RawMessage) string {
	var of struct{ Type any }
	if json.Unmarshal(tool, &of) != nil {
		return ""
	}
	kind, _ := of.Type.(string)
	return kind
}

// LeaveOut records, in the answer's header and in the log, the parts of a request that are left out. If the service is strict, it returns
// an error instead.
func (s *Service) LeaveOut(ctx context.Context, left []LeftOut) error {
	if len(left) == 0 {
		return nil
	}
	if s.Strict {
		return wire.Unsupported(left[0].At, "%s is not supported: %s", left[0].At, left[0].Why)
	}
	request := RequestOf(ctx)
	var all strings.Builder
	for i, l := range left {
		request.Log.Warn("a part of the request is left out", slog.String("parameter", l.At), slog.String("why", l.Why))
		warning := fmt.Sprintf("%s is left out: %s", l.At, l.Why)
		if all.Len()+len(warning) > maxWarnings {
			fmt.Fprintf(&all, "; and %d more", len(left)-i)
			break
		}
		if i > 0 {
			all.WriteString("; ")
		}
		all.WriteString(warning)
	}
	if request.Header != nil {
		request.Header.Set(Warnings, all.String())
	}
	return nil
}
