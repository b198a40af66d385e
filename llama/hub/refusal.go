package hub

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// StatusError is a server's refusal.
type StatusError struct {
	URL    string // that was requested, without its query
	Status int    // as http.StatusForbidden
	Code   string // the hub's word for it, as GatedRepo or RevisionNotFound; "": no word
	Reason string // what the server says about it, shortened
	Advice string // what to do; "": nothing is known to help
}

// Error has all fields, the advice first.
func (e *StatusError) Error() string {
	text := fmt.Sprintf("%s answers %d %s", e.URL, e.Status, http.StatusText(e.Status))
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	if e.Advice != "" {
		text = fmt.Sprintf("%s (%s)", e.Advice, text)
	}
	return text
}

// The hub's words for refusals.
const (
	codeGated      = "GatedRepo"
	codeNoRevision = "RevisionNotFound"
	codeNoFile     = "EntryNotFound"
	codeNoRepo     = "RepoNotFound"
)

// maxReason bounds the quotation of a server's reason, in bytes.
const maxReason = 300

// refusal returns the error for an answer: a *StatusError, temporary where waiting may help.
func refusal(r *http.Response, s *settings) error {
	reason := strings.Map(func(c rune) rune {
		if unicode.IsPrint(c) {
			return c
		}
		return ' '
	}, r.Header.Get("X-Error-Message"))
	if len(reason) > maxReason {
		reason = strings.ToValidUTF8(reason[:maxReason], "") + " …"
	}
	e := &StatusError{URL: displayURL(r.Request.URL), Status: r.StatusCode, Code: r.Header.Get("X-Error-Code"), Reason: reason}
	after := retryAfter(r.Header, time.Now())
	if sameOrigin(r.Request.URL, s.endpoint) {
		e.Advice = advice(e, s, r.Request.URL.Path, after)
	}
	switch {
	case r.StatusCode == http.StatusRequestTimeout, r.StatusCode == http.StatusTooEarly, r.StatusCode == http.StatusTooManyRequests,
		r.StatusCode >= 500 && r.StatusCode != http.StatusNotImplemented:
		return &retryableError{e, after}
	}
	return e
}

// advice says what to do about the hub's refusal.
func advice(e *StatusError, s *settings, path string, after time.Duration) string {
	const makeToken = "make a token that may read at https://huggingface.co/settings/tokens and set HF_TOKEN to it, or run `hf auth login`"
	page := s.endpoint.String()
	if owner, name, ok := repositoryIn(strings.TrimPrefix(path, strings.TrimSuffix(s.endpoint.Path, "/"))); ok {
		page += "/" + owner + "/" + name
	}
	switch {
	case e.Status == http.StatusTooManyRequests && s.token == "":
		return fmt.Sprintf("too many requests from here; try again %s, or with a token, which the hub allows more: %s", formatDelay(after), makeToken)
	case e.Status == http.StatusTooManyRequests:
		return "too many requests; try again " + formatDelay(after)
	case e.Code == codeGated && s.token == "":
		return fmt.Sprintf("the model is gated: accept its conditions at %s, and %s", page, makeToken)
	case e.Code == codeGated:
		return fmt.Sprintf("the model is gated, and whoever the token from %s belongs to has no access yet: ask for it at %s; "+
			"a fine-grained token must be allowed to read gated repositories, too", s.tokenFrom, page)
	case e.Code == codeNoRevision:
		return fmt.Sprintf("the model is there, but not this branch, tag or commit: %s/tree/main shows which there are", page)
	case e.Code == codeNoFile:
		return "the model is there, but not this file"
	case e.Status == http.StatusUnauthorized && strings.Contains(e.Reason, "Invalid"):
		return fmt.Sprintf("the token from %s is not valid: replace it or, for a public model, take it away", s.tokenFrom)
	case (e.Status == http.StatusUnauthorized || e.Status == http.StatusNotFound || e.Code == codeNoRepo) && s.token == "":
		return fmt.Sprintf("there is no such model, or it is private: check the name at %s or, if the model is private, %s", page, makeToken)
	case e.Status == http.StatusUnauthorized, e.Status == http.StatusNotFound, e.Code == codeNoRepo:
		return fmt.Sprintf("there is no such model, or whoever the token from %s belongs to may not see it: check the name at %s", s.tokenFrom, page)
	case e.Status == http.StatusForbidden:
		return "access is refused: see " + page
	}
	return ""
}

// repositoryIn returns the owner and the name of the repository in a path of the hub: /owner/name/resolve/… or /api/models/owner/name/….
func repositoryIn(path string) (owner, name string, ok bool) {
	parts := strings.SplitN(strings.TrimPrefix(strings.TrimPrefix(path, "/api/models"), "/"), "/", 3)
	return parts[0], parts[min(1, len(parts)-1)], len(parts) == 3
}

// formatDelay says when something may be tried again.
func formatDelay(after time.Duration) string {
	if after <= 0 {
		return "later"
	}
	return "in " + after.Round(time.Second).String()
}

// maxAfter bounds what a server may ask for, so that a wrong number is no time without end.
const maxAfter = 24 * time.Hour

// retryAfter returns how long a server asks to wait, 0 if it does not: Retry-After in seconds or as a date, or the hub's RateLimit with
// the seconds to its next window as t.
func retryAfter(h http.Header, now time.Time) time.Duration {
	text := strings.TrimSpace(h.Get("Retry-After"))
	if date, err := http.ParseTime(text); err == nil {
		return min(max(date.Sub(now), 0), maxAfter)
	}
	if text == "" {
		for field := range strings.SplitSeq(h.Get("RateLimit"), ";") {
			if t, ok := strings.CutPrefix(strings.TrimSpace(field), "t="); ok {
				text = t
			}
		}
	}
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil || !(seconds > 0) {
		return 0
	}
	return time.Duration(min(seconds, maxAfter.Seconds()) * float64(time.Second))
}
