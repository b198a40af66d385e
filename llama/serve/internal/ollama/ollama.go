// Package ollama is Ollama's interface: chat, generate, embeddings, and facts about models. Each file has its parameters in structs and
// rules; any other parameter is an error.
//
// The names, the defaults (temperature 0.8, top_k 40, top_p 0.9 unless the model's files recommend others, streams unless the request says
// otherwise) and the form of answers, lines of JSON with times in nanoseconds, are Ollama's. What Ollama leaves open, or does otherwise, is decided so:
//
//   - Models are there as the server's operator says: requests do not fetch, make, copy or delete them. keep_alive gives a model back at
//     once if it is 0, and otherwise says nothing: models stay until others need their memory.
//   - num_ctx is read, and has no effect: a conversation may always have the model's whole context.
//   - Vectors are those of /v1/embeddings, scaled as the model's files say.
//   - A conversation that does not fit loses its oldest turns unless truncate is false; the answer's header X-Dropped-Messages says how
//     many messages that were. A text to embed loses its end.
//   - think is an upper bound: a model that does not think keeps it, and answers. Of Ollama's it is an error.
//   - An answer ends when the context is full, with the done_reason "length": nothing is shifted out.
//   - A schema in format is kept as a whole or refused. Calls come whole, with arguments that are objects.
//   - If the last message of a conversation is the assistant's, the answer goes on with it.
//   - In a raw prompt, a text that looks like a special token is text, and the begin-of-text token comes first if the model wants one.
//   - temperature, top_p, max_output_tokens and tool_choice are also read at the top level, next to options, as a provider of the AI SDK sends them.
//   - Templates are the model's own: template is refused.
package ollama

import (
	"cmp"
	"context"
	"net/http"
	"strings"

	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// API is the interface. Its methods are safe for concurrent use.
type API struct {
	Service *ask.Service
}

// version is the version of Ollama that has this interface: programs ask for it to find out which features they may use.
const version = "0.14.0"

// Version serves GET /api/version.
func (a *API) Version(w http.ResponseWriter, _ *http.Request) error {
	return wire.Write(w, http.StatusOK, map[string]string{"version": version})
}

// Running serves GET / if there is no page: programs look there whether a server runs.
func Running(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte("Ollama is running")) // a client that is gone reads nothing
	return nil
}

// Shape returns an error in Ollama's form. It has no member for the parameter that is wrong: the message begins with its name, unless it
// has it anyway.
func Shape(e *wire.Error) any {
	message := e.Message
	if !strings.Contains(message, e.Param) {
		message = e.Param + ": " + message
	}
	return map[string]string{"error": message}
}

// name returns the name of the model that a request means: name or, if that is "", the only model's.
func (a *API) name(name string) string { return cmp.Or(name, a.Service.Models.Only()) }

// lease takes the model of a name, of any kind. The errors of names are Ollama's to the word, since programs look for them.
func (a *API) lease(ctx context.Context, name string) (*ask.Model, error) {
	m, err := a.Service.OpenAny(ctx, a.name(name))
	return m, named(err, name)
}

// named returns the error of a model that was asked for by a name.
func named(err error, name string) error {
	if e, ok := err.(*wire.Error); ok && e.Code == "model_not_found" {
		unknown := *e
		unknown.Message = "model '" + clipped(name) + "' not found"
		return &unknown
	}
	return err
}

// clipped returns the beginning of a text that an error repeats.
func clipped(text string) string {
	const most = 80
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
