// Package with is the core that the adapters of frameworks share. Each adapter lets the agents, chains and flows of a framework ask a model of
// package llama, in the same process:
//
//	llama/with/adk          Google's Agent Development Kit: model.LLM
//	llama/with/chromem      chromem-go: EmbeddingFunc
//	llama/with/eino         CloudWeGo's eino: ToolCallingChatModel, Embedder
//	llama/with/fantasy      Charm's fantasy: Provider, LanguageModel
//	llama/with/genkit       Firebase's Genkit: a plugin with models and embedders
//	llama/with/langchaingo  LangChainGo: llms.Model, Embedder
//	llama/with/mcp          the Model Context Protocol: an agent that uses the tools of servers
//	llama/with/otel         OpenTelemetry: traces and metrics
//
// They are modules of their own, so that a program requires the frameworks that it uses and no others. All begin with a Model:
//
//	m, err := with.New(model, &with.Options{Name: "flint"})
//	…
//	defer m.Close()
//	agent := fantasy.NewAgent(withfantasy.Model(m), …)
//
// A Model may be asked by any number of goroutines, since a llama.Pool answers. Calls of functions, and answers that have a schema, are held to
// their schemas while they are generated.
//
// # Nothing is passed over
//
// Frameworks have options and kinds of content that a model here has no use for. An adapter that is given one returns an *UnsupportedError
// that names it. Errors of package llama are wrapped, and contexts are obeyed.
//
// # For another framework
//
// An adapter turns messages into a Conversation and parameters into a Request (Set, Positive, Rest), asks Model.Chat, and
// turns pieces into the framework's own.
package with
