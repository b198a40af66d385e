package ask

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/constrain"
	"github.com/antigravity-go/antigravity/llama/serve/internal/budget"
	"github.com/antigravity-go/antigravity/llama/serve/internal/models"
	"github.com/antigravity-go/antigravity/llama/serve/internal/queue"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
	"github.com/antigravity-go/antigravity/tensor"
)

// Why a request ends before its answer does. The server cancels requests with these.
var (
	ErrTimeout  = errors.New("the request took longer than the server allows")
	ErrShutdown = errors.New("the server is shutting down")
)

// shutdownRetry is when to try again at a server that is shutting down: another one may have taken its place by then.
const shutdownRetry = 5 * time.Second

// memoryRetry is the Retry-After of a server without free memory for requests: most bodies have arrived within that time.
const memoryRetry = 5 * time.Second

// Explain returns err in words for the client. For a context's error it returns the cause.
func Explain(ctx context.Context, err error, names FieldNames) *wire.Error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		err = context.Cause(ctx)
	}
	if e, ok := errors.AsType[*wire.Error](err); ok {
		return e
	}
	if e, ok := errors.AsType[*llama.ParamError](err); ok {
		param := names.find(e.Field)
		if param == "" {
			return wire.Invalid("", "%s", trim(err))
		}
		return wire.Invalid(param, "%s is %v; it must be %s", param, e.Value, e.Want)
	}
	if e, ok := errors.AsType[*llama.ContextFullError](err); ok {
		help := "shorten it"
		if name := names["truncation"]; name != "" {
			help = name + ` "auto" leaves the oldest turns of a conversation out`
		}
		return &wire.Error{Status: http.StatusBadRequest, Code: "context_length_exceeded", Param: names["prompt"], Err: err,
			Counts:  &wire.Counts{Prompt: e.Have + e.Want, Context: e.Have + e.Room},
			Message: fmt.Sprintf("the prompt has %d tokens, %d more than the %d that fit this model's context: %s", e.Have+e.Want, e.Want-e.Room, e.Have+e.Room, help)}
	}
	if _, ok := errors.AsType[*constrain.UnsupportedError](err); ok {
		return &wire.Error{Status: http.StatusBadRequest, Code: "unsupported_schema", Message: trim(err), Err: err}
	}
	if e, ok := errors.AsType[*constrain.AnswerError](err); ok {
		param := names["schema"]
		if e.Form == "tools" || param == "" {
			param = names["tools"]
		}
		return &wire.Error{Status: http.StatusBadRequest, Code: "unsupported_schema", Param: param, Message: param + ": " + trim(e), Err: err}
	}
	if e, ok := errors.AsType[*models.UnknownError](err); ok {
		if e.Name == "" {
			return wire.Missing("model", "one of "+strings.Join(e.Known, ", "))
		}
		return &wire.Error{Status: http.StatusNotFound, Code: "model_not_found", Param: "model",
			Message: fmt.Sprintf("there is no model %.80q; there are: %s", e.Name, strings.Join(e.Known, ", "))}
	}
	if e, ok := errors.AsType[*queue.FullError](err); ok {
		return &wire.Error{Status: http.StatusTooManyRequests, Code: "queue_full", RetryAfter: e.RetryAfter,
			Message: fmt.Sprintf("too many requests wait already (%d); try again in %v", e.Waiting, e.RetryAfter.Round(time.Second))}
	}
	if e, ok := errors.AsType[*budget.FullError](err); ok {
		return &wire.Error{Status: http.StatusServiceUnavailable, Code: "requests_full", RetryAfter: memoryRetry, Err: e,
			Message: "the requests that are being served hold as much memory as this server gives them together; try again later"}
	}
	if errors.Is(err, tensor.ErrNoMemory) {
		return &wire.Error{Status: http.StatusServiceUnavailable, Code: "out_of_memory", RetryAfter: memoryRetry, Err: err,
			Message: "the machine has no memory left for the conversation; try again later"}
	}
	if e, ok := errors.AsType[*queue.TooManyError](err); ok {
		return wire.Invalid("n", "the request asks for %d answers at once, and this server computes and queues at most %d", e.N, e.Most)
	}
	if e, ok := errors.AsType[*models.TooLargeError](err); ok {
		return &wire.Error{Status: http.StatusServiceUnavailable, Code: "model_too_large", Param: "model", Err: err,
			Message: fmt.Sprintf("the model %.80q does not fit into the memory that this server gives to models", e.Name)}
	}
	switch {
	case errors.Is(err, ErrTimeout):
		return &wire.Error{Status: http.StatusGatewayTimeout, Code: "timeout", Message: ErrTimeout.Error(), Err: err}
	case errors.Is(err, ErrShutdown), errors.Is(err, llama.ErrClosed), errors.Is(err, models.ErrClosed), errors.Is(err, queue.ErrClosed):
		return &wire.Error{Status: http.StatusServiceUnavailable, Code: "shutting_down", RetryAfter: shutdownRetry, Message: ErrShutdown.Error(), Err: err}
	case errors.Is(err, context.Canceled):
		return &wire.Error{Status: wire.StatusGone, Code: "client_gone", Message: "the client is gone", Err: err}
	case errors.Is(err, llama.ErrUnsupported), errors.Is(err, errors.ErrUnsupported):
		return &wire.Error{Status: http.StatusBadRequest, Code: "unsupported_value", Message: trim(err), Err: err}
	}
	return wire.ErrorOf(err)
}

// trim returns an error's text without the names of the packages that it came from.
func trim(err error) string {
	text := err.Error()
	for _, name := range []string{"llama: ", "constrain: "} {
		text = strings.ReplaceAll(strings.TrimPrefix(text, name), ": "+name, ": ")
	}
	return strings.Replace(text, "llama: unsupported: ", "", 1)
}
