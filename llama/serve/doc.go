// Package serve lets programs of any language talk to models: it is an http.Handler with the interfaces of OpenAI, Anthropic and
// Ollama, and a page to talk on in a browser.
//
//	model, err := flint.Load(nil)
//	…
//	server, err := serve.New(serve.Options{Models: []serve.Model{{Name: "flint", Loaded: model}}})
//	…
//	http.Handle("/", server)
//
// Its routes:
//
//	POST /v1/chat/completions        OpenAI's chat: streams, several answers, tools, JSON of a schema, log-probabilities
//	POST /v1/completions             continues a text
//	POST /v1/responses               OpenAI's newer interface, without storage
//	POST /v1/embeddings              vectors of texts, shortened and for a task if the request says so
//	POST /v1/rerank                  documents by how well they answer a query, in Jina's, Cohere's or TEI's form; also /v2/rerank and /rerank
//	POST /v1/classify                labels of texts, or entities in them; TEI's form: /predict
//	POST /v1/moderations             OpenAI's: a model's labels as categories
//	GET  /v1/models, /v1/models/{name}   in Anthropic's form for requests with an anthropic-version
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
// The routes under /v1 exist without it, too: /completions is OpenAI's, and /completion is llama-server's. A request that names no model
// means the only model.
//
// # No surprises
//
// The same request with the same seed has the same answer, to the byte, whatever else the server is doing, and on every machine. The
// answer's system_fingerprint identifies the weights. If a request asks for n answers, the i-th (from 0) is the one that the seed plus i
// gives alone.
//
// Nothing is ignored silently. A parameter that is not known, or that would change the answer and is not supported, is an error with status
// 400 that names it. An answer's JSON Schema is guaranteed as a whole, or refused with the keyword that cannot be guaranteed; with
// "strict": false, such keywords are left out. The schema of a function is guaranteed as a whole if it is "strict"; otherwise such keywords
// are left out, since the model sees all of them. A prompt that does not fit the model's context is an error that says by how much, unless
// the request or Options.DropTurns drops the oldest turns; requests in Ollama's interface do so by default.
//
// A parameter that says how tokens are drawn and that a request does not have is the one that the model's authors recommend, if the model's files
// have their recommendation (llama.Model.Sampling), and else the interface's default: temperature 1 in OpenAI's and Anthropic's, temperature
// 0.8, top_k 40 and top_p 0.9 in Ollama's. A parameter that a request has counts, whatever its value: "top_k": 0 means all tokens. GET
// /v1/models and /props have the defaults. Options.PlainSampling turns recommendations off.
//
// Some requests ask for things that programs work without: tools of other kinds than functions, edits of the context, verbosity. These are
// left out with a warning, in the log and the answer's header X-Warnings, unless Options.Strict is set. A model that does not think accepts
// limits of thoughts. Parameters of other servers' samplers are accepted if they have no effect: typical_p of 1, mirostat of 0.
//
// # Receipts
//
// With "receipt": true in a chat completion, or the header Antigravity-Receipt: true, each choice of the answer has a receipt, in a stream with its
// finish_reason. Anybody who has the model can compute the answer again and compare; see package receipt. Options.ReceiptSigner signs it. There
// are no receipts of answers about images, or of answers that are held to a form, such as calls of functions and response_format: the status is 400 then.
//
// # Images
//
// A model that sees takes images in messages: image_url in OpenAI's chat, input_image in Responses, blocks of the type image in Anthropic's messages and
// results of calls, images in Ollama's. They are data: URLs or base64, of PNG, JPEG, GIF or WebP. With Options.ImageURLs the server fetches http and
// https URLs, too. "detail": "low" makes images coarse and quick if all of a request ask for it. GET /v1/models, /props and /api/show say which models
// see. For others, an image in the question is an error, and images of earlier turns are left out. An answer, a stream too, begins when the model
// has seen the images; those that it has in a cached conversation it need not see again.
//
// # Histories
//
// A parameter is an instruction, and a wrong one is an error. The conversation so far is data: models, programs and other servers wrote it. So
// unknown members of its messages, items and calls of tools that a server runs and broken pictures of earlier turns are left out, with the same warning.
// A content that is missing is empty. A call with arguments that were cut off is shown with those members that are complete, and other arguments
// that are no object as {"INVALID_JSON": "…"}. Whatever answer the server gives, it reads it back.
//
// # What llama-server's programs ask for
//
// "grammar" and "json_schema" at the top level of a request hold an answer to a form, as response_format does. "timings_per_token" asks for
// timings, which come once, with the end of the answer. /completion reads prompts of texts and tokens mixed, n_probs, response_fields and
// logit_bias of texts, and its answers have generation_settings. Its defaults are those of /props. A text that looks like a special token
// is plain text there, too: send a rendered conversation as tokens. There are no slots: /slots shows places, id_slot has no effect, and
// every answer's is -1. Probabilities after sampling, ignore_eos and a shifted context are refused.
//
// # Thoughts
//
// A model's thoughts before its answer are a part of their own: reasoning_content in OpenAI's chat, items of the type reasoning in
// Responses, blocks of the type thinking in Anthropic's messages, streamed and whole. Thoughts that come back with a conversation go to the
// model's chat template, which renders or drops them. The template decides by default whether the model thinks. A request can say
// otherwise:
//
//	chat_template_kwargs               variables of the template; enable_thinking and thinking work for any model that thinks
//	enable_thinking                    the same
//	reasoning_effort, reasoning        a word, which stands for a bound: "minimal" 512 tokens, "low" 2,048, "medium" 8,192,
//	                                   the others no bound; "none" turns thoughts off. Or {"max_tokens": …}. A template that
//	                                   reads the word gets it; gpt-oss gets "low", "medium" or "high"
//	thinking                           Anthropic's, with budget_tokens
//	thinking_budget                    tokens; 0 turns thoughts off, -1 is no bound; also thinking_budget_tokens
//	include_reasoning                  false: thoughts are left out
//
// A thought is one of the channel analysis in gpt-oss. Its texts of the channels final and commentary are content, and a message to a function
// is a call: one at most in an answer. A message to a tool that is not on offer, such as browser.search, is content that begins with
// "to=browser.search".
//
// continue_final_message goes on with an answer, or with a thought if the message has nothing else. A thought that reaches its budget is
// closed, and the answer follows. max_tokens bounds both together; usage counts the tokens of the thought. Stop strings, schemas and
// required calls apply to the answer only. Log-probabilities are those of all tokens.
//
// # Streams
//
// A stream begins at once: its header and its first event do not wait for the prompt. Whenever nothing else was sent for
// Options.PingInterval, the client gets a comment, Anthropic's ping, or response.in_progress once more. Only a wrong request has an error
// status; an error later is the stream's last event. "return_progress" asks for llama-server's prompt_progress: how much of the prompt is
// computed.
//
// A client that leaves costs nothing from the next token, or the next chunk of its prompt, on. A client that reads slowly holds nobody up.
//
// # Who may use it
//
// Without Options.Keys, anybody who reaches the server may use it; with Keys, anybody who has a key. In addition, the origin of a web page
// must be among Options.Origins, and Options.Hosts keeps out pages that reach the server under a name of their own. Prompts and answers are
// not logged unless Options.LogPrompts is set. Behind a proxy or an authentication of your own, Options.Client returns the client's name.
// Known clients have caches of their own, so that no client learns from cached tokens what another one asked. Options.Accounts may limit
// their requests a minute and their tokens a day. Beyond that the status is 429, with a Retry-After: code "rate_limit_exceeded" or
// "insufficient_quota".
//
// # Load
//
// Each model computes a bounded number of answers at once, and a bounded number waits. A free place goes to the waiting client that holds
// the fewest. Beyond that the status is 429, with a Retry-After. A client is the name that Options.Client returns, the owner of a key or,
// without either, an address. Models that are loaded on demand share Options.ModelBytes: the least recently used one is given back if
// another one needs its memory.
//
// Memory is bounded as well: Options.RequestBytes for all requests together, Options.Pool.MaxBytes for the cached conversations of a model.
// Server.Stats has both figures with their bounds.
//
// Server.Stats, Options.Observer and package metrics report what the server is doing. Server.Shutdown lets answers end before the program
// does.
package serve
