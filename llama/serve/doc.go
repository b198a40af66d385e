// Package serve lets programs of any language talk to models: it is an http.Handler with the interfaces of OpenAI, Anthropic and
// Ollama, and a page to talk on in a browser.
//
//	model, err := flint.Load(nil)
//	…
//	server, err := serve.New(serve.Options{Models: []serve.Model{{Name: "flint", Loaded: model}}})
//	…
//	http.Handle("/", server)
//
// What it answers:
//
//	POST /v1/chat/completions        OpenAI's chat: streams, several answers, tools, JSON of a schema, log-probabilities
//	POST /v1/completions             continues a text
//	POST /v1/responses               OpenAI's newer interface, without storage
//	POST /v1/embeddings              vectors of texts, shortened and for a task if the request says so
//	POST /v1/rerank                  documents by how well they answer a query, in Jina's, Cohere's or TEI's form; also /v2/rerank and /rerank
//	GET  /v1/models, /v1/models/{name}
//	POST /v1/messages                Anthropic's
//	POST /v1/messages/count_tokens
//	POST /api/chat, /api/generate    Ollama's
//	POST /api/embed, /api/embeddings
//	GET  /api/tags, /api/ps, /api/version
//	POST /api/show
//	POST /tokenize, /detokenize      llama-server's
//	POST /apply-template, /infill
//	POST /completion
//	GET  /props, /slots
//	GET  /health
//	GET  /metrics                    Options.Metrics
//	GET  /                           the page or, without it, that the server runs
//
// What stands under /v1 is there without it, too: /completions is OpenAI's, and /completion is llama-server's. A request that names no model
// means the only one that there is.
//
// # No surprises
//
// The same request with the same seed has the same answer, to the byte, whatever else the server is doing, and on every machine; the answer's
// system_fingerprint says which weights it is of. Of a request for n answers, the i-th (from 0) is the one that the seed plus i gives alone.
//
// Nothing is ignored silently. A parameter that is not known, or that would change the answer and is not supported, is an error with status
// 400 that names it. An answer's JSON Schema is kept as a whole or refused with the keyword that cannot be kept; "strict": false asks for what
// can be kept of it. So is a function's where it is "strict"; otherwise what can be kept of it is, for the model sees all of it. A prompt that
// does not fit the model's context is an error that says by how much, unless the request or Options.DropTurns lets the oldest turns go, as
// requests in Ollama's interface do that say nothing else.
//
// What programs ask for and get on without is left out with a warning, in the log and the answer's header X-Warnings, unless Options.Strict is set:
// tools of other kinds than functions, edits of the context, verbosity. Bounds of thoughts are kept by a model that does not think. Parameters of
// other servers' samplers may be there as long as they ask for nothing: typical_p of 1, mirostat of 0.
//
// # What llama-server's programs ask for
//
// "grammar" and "json_schema" at the top level of a request hold an answer to a form, as response_format does. "timings_per_token" asks
// for timings, which come once, with the end of the answer. /completion reads prompts of texts and tokens mixed, n_probs,
// response_fields and logit_bias of texts, and its answers have generation_settings. Its defaults are those of /props. What looks like a
// special token in a text is text there, too: a rendered conversation is sent as tokens. There are no slots: /slots shows places, id_slot
// asks for nothing, and every answer's is -1. Probabilities after sampling, ignore_eos and a shifted context are refused.
//
// # Thoughts
//
// What a model thinks before it answers is a part of its own: reasoning_content in OpenAI's chat, items of the type reasoning in Responses,
// blocks of the type thinking in Anthropic's messages, streamed and whole. Thoughts that come back with a conversation go to the model's
// chat template, which renders or drops them. The model thinks as its template's authors want it, unless the request says otherwise:
//
//	chat_template_kwargs               variables of the template; enable_thinking and thinking work for any model that thinks
//	enable_thinking                    the same
//	reasoning_effort, reasoning        a word, which stands for a bound: "minimal" 512 tokens, "low" 2,048, "medium" 8,192,
//	                                   the others none; "none" turns thoughts off. Or {"max_tokens": …}
//	thinking                           Anthropic's, with budget_tokens
//	thinking_budget                    tokens; 0 turns thoughts off, -1 is no bound; also thinking_budget_tokens
//	include_reasoning                  false: thoughts are not told
//
// continue_final_message goes on with an answer, or with a thought if the message has nothing else. A thought that has had its budget is
// closed, and the answer follows. max_tokens bounds both together; usage says how many tokens the
// thought had. Stop strings are looked for in the answer alone, and schemas and required calls hold for it: they begin where the thought
// ends. Log-probabilities are those of all tokens.
//
// # Streams
//
// A stream begins at once: its header and its first event do not wait for the prompt. While nothing comes for Options.PingInterval, the client is
// sent a comment, Anthropic's ping, or response.in_progress once more. Only what is wrong with the request has a status of its own; what goes
// wrong later is the stream's last event. "return_progress" asks for llama-server's prompt_progress, of how much of the prompt is computed.
//
// A client that leaves costs nothing from the next token, or the next chunk of its prompt, on. A client that reads slowly holds nobody up.
//
// # Who may use it
//
// Where Options has no Keys, anybody who reaches the server may; otherwise whoever has a key. A web page of another origin has to be among
// Options.Origins besides, and Options.Hosts keeps pages away that call the server by a name of their own. Prompts and answers are not logged
// unless Options.LogPrompts says so. Behind a proxy or an authentication of your own, Options.Client says who asks. Clients that are known have
// caches of their own, so that none finds out from cached tokens what another one asked, and Options.Accounts may bound how many requests a
// minute they send and how many tokens a day they use. Beyond that the status is 429, with a Retry-After: code "rate_limit_exceeded" or
// "insufficient_quota".
//
// # Load
//
// Each model computes a bounded number of answers at once, and a bounded number waits; free places go to whoever of the waiting clients has
// the fewest. Beyond that the status is 429, with a Retry-After. A client is whom Options.Client names, a key's owner or, where neither is
// known, an address. Models that are loaded on demand share Options.ModelBytes: the least recently used one goes where another needs its
// memory.
//
// Memory is bounded as well: Options.RequestBytes for what all requests hold, Options.Pool.MaxBytes for the conversations of a model that stay
// cached. Server.Stats has both figures with their bounds.
//
// Server.Stats, Options.Observer and package metrics tell how it goes. Server.Shutdown lets answers end before the program does.
package serve
