package ask

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// Warnings is the header of an answer that says what of the request is left out.
const Warnings = "X-Warnings"

// maxWarnings bounds what the header says, in bytes. The log says no more.
const maxWarnings = 1024

// LeftOut is something that a request asks for and the server does not have, but that programs ask for which get on without it: a tool of
// another kind than functions, say; or a part of its history that the server cannot use.
type LeftOut struct {
	At   string // its place in the request: "tools[4]"
	Why  string // why it is left out: "the server has no web search"
	Read bool   // it is not left out, but broken: Why says how, and how it is read all the same
}

// warning returns what the header says: plain ASCII, since names of the client's may be in it.
func (l LeftOut) warning() string {
	text := l.At + " is left out: " + l.Why
	if l.Read {
		text = l.At + ": " + l.Why
	}
	var ascii strings.Builder
	for _, r := range text {
		if ' ' <= r && r <= '~' {
			ascii.WriteRune(r)
		} else {
			ascii.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		}
	}
	return ascii.String()
}

// LeftOutTool returns the LeftOut for a tool at a place that is not a function. name may be "".
func LeftOutTool(at, kind, name string) LeftOut {
	what := fmt.Sprintf("tools of the type %+.40q", kind)
	if name != "" {
		what += fmt.Sprintf(" (%+.64q)", name)
	}
	return LeftOut{At: at, Why: "the server has no " + what + ", only functions"}
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

// LeaveOut records, in the answer's header and in the log, the parts of a request that are left out, after those of earlier calls. If the service is strict, it returns
// an error instead.
func (s *Service) LeaveOut(ctx context.Context, left []LeftOut) error {
	if len(left) == 0 {
		return nil
	}
	if i := slices.IndexFunc(left, func(l LeftOut) bool { return !l.Read }); i >= 0 && s.Strict {
		return wire.Unsupported(left[i].At, "%s is not supported: %s", left[i].At, left[i].Why)
	}
	request := RequestOf(ctx)
	var all strings.Builder
	if request.Header != nil {
		all.WriteString(request.Header.Get(Warnings)) // of an earlier call
	}
	for i, l := range left {
		what := "a part of the request is left out"
		if l.Read {
			what = "a part of the request is broken"
		}
		request.Log.Warn(what, slog.String("parameter", l.At), slog.String("why", l.Why))
		warning := l.warning()
		if all.Len()+len(warning) > maxWarnings {
			request.Log.Warn("more parts of the request are left out or broken", slog.Int("parts", len(left)-1-i))
			fmt.Fprintf(&all, "; and %d more", len(left)-i)
			break
		}
		if all.Len() > 0 {
			all.WriteString("; ")
		}
		all.WriteString(warning)
	}
	if request.Header != nil {
		request.Header.Set(Warnings, all.String())
	}
	return nil
}
