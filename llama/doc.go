// Package llama runs language models inside the caller's process. It loads a model's files, answers conversations, continues, scores and
// embeds texts. Programs import this package; the other packages of the module are for programs that need to choose more.
//
// Families lists the architectures that it loads, among them Llama, Mistral, Qwen, Gemma, Phi, Granite, OLMo, LFM2 and gpt-oss, and encoders such as
// BERT. Heads compare texts (Model.Rerank), put labels on them (Model.Classify) or find entities in them (Model.Entities). Some models see
// images, too (Model.Inputs). Those of other kinds that see are loaded without the part that does, and answer texts.
//
// Load opens a Hugging Face folder or a GGUF file as a Model: weights on a device, a tokenizer and the model's chat template. A Model never
// changes and serves any number of goroutines. A Session is one conversation, with its cache of keys and values:
//
//	model, err := llama.Load("Llama-3.2-1B-Instruct", nil)
//	…
//	session, err := model.NewSession(nil)
//	…
//	for piece, err := range session.Chat(ctx, history, llama.Params{}) {
//		…
//		fmt.Print(piece.Text)
//	}
//
// Chat takes the whole history each time and computes only what the cache does not hold. Generate continues tokens; Prefill
// and Logits are for programs that choose tokens themselves; Score says how probable the model finds a text; Embed turns a text
// into a vector.
//
// # Thoughts
//
// Models that think before they answer mark their thoughts. Chat separates the thought from the answer: it comes before the text, in
// Piece.Thought, and is Message.Thinking in the history, which the model's template renders or drops. Params.Template.Thinking turns
// thinking on or off and bounds it; by default the template decides.
//
// # Images
//
// A model that sees (Model.Inputs) takes images in messages, in Message.Parts: NewImage makes one of a file. Its template has a place for each.
// What a model made of an image is used again in the next turn, and for every image with the same pixels. Model.Attach makes tokens of an
// image for programs that write their prompts themselves. TemplateOptions.ImageTokens bounds the tokens of an image.
//
// # Functions
//
// Params.Template.Tools offers functions to a model. If the model's template has no place for them, they are described in the user's first
// message. Answers then have calls as well as text, piece by piece (Piece.Calls) and as a whole (Piece.Message). Append that message to the
// history, and then a message of the role RoleTool for each call's result. In JSON, messages look as in OpenAI's chat completions.
//
// # Many conversations
//
// Any number of sessions may compute at once: each weight is read once for all of them. A Pool answers any number of goroutines
// with a bounded number of sessions, in the order in which they ask, and computes what their conversations have in common once.
//
// # Several tokens at once
//
// A step that computes several tokens of one answer takes little longer than one that computes one. Params.Draft proposes the next tokens:
// PromptLookup finds them in the conversation, SelfDraft asks the model's own head, NewDraftModel a smaller model, and MultiDrafter takes
// whichever promises most. Proposals that turn out right were computed in one step; the others are forgotten. Sessions measure what drafts
// cost and how often they are right, and stop drafting while it does not pay.
//
// # Adapters
//
// A LoRA adapter changes what a model's linear layers compute. Model.LoadAdapter opens one, a folder of Hugging Face's PEFT or a GGUF file,
// and SessionOptions.Adapter gives it to a session. Sessions with different adapters, or without one, are computed together, and each gets
// the same results as alone. Copies, saved states and moves keep a session's adapter. Params.Adapter chooses
// an adapter for each answer of a Pool. LoadOptions.Adapters adds adapters to the weights instead, while they are loaded.
//
// # Answers that have a form
//
// Params.Constraint says which tokens may come next, so that an answer is one of several words, a number or JSON of some schema
// whatever the model would rather say: package constrain makes such constraints. Text that has no alternative is not chosen but taken,
// and computed several tokens at once.
//
// # Long conversations
//
// A cache has room for SessionOptions.Capacity tokens. When it is full, the error is ErrContextFull: nothing is ever dropped
// silently. Tokenizer.DropTurns takes the oldest turns off a history that has grown too long. With an eviction.Policy the cache
// stays within a budget instead, and with a sliding window and ReanchorSinks a conversation may go on without end.
//
// Truncate goes back to an earlier token. Fork makes a second session that goes on from the same conversation. Save and Model.Restore carry
// a conversation from one process to another, and Move carries it from one device to another, in the middle of an answer if need be. A
// Switch loads the model on the other device in the background, and moves the session when that pays.
//
// # Recurrent layers
//
// Some models have layers that do not look at earlier tokens, but carry a state of a fixed size along: Qwen 3.5, LFM2, Granite 4 with
// Mamba. Everything above holds for them, bit for bit. Such a state cannot forget single tokens. A conversation therefore keeps snapshots
// of it, as many as SessionOptions.Snapshots says, and going back means going back to the latest snapshot before, and computing the tokens
// after it again. Wrong drafts cost nothing of that kind. Stats.ReusedTokens counts the tokens of a prompt that were not computed again.
//
// # How time is spent
//
// LoadOptions.Trace is called for each forward pass, and for each wait, step, choice and eviction of a session, with its begin and its
// duration. backend.Options.Record keeps what each thread computed meanwhile. The program examples/tools/bench shows both on a time axis.
//
// # Reproducible to the bit
//
// For one model file, one prompt and one seed the logits are the same bits:
//
//   - on every processor, with every set of instructions that package asm has kernels for, and with any number of threads;
//   - however a prompt is cut into chunks, and whether its beginning was computed now or reused;
//   - whatever other sessions compute at the same time, and with drafts or without.
//
// GPUs that compute as package opencl needs it give the same bits too (backend.BitExact). Another type of cache or of weights gives other
// bits.
//
// # Untrusted input
//
// Model files are checked before they are believed: a damaged or hostile one gives an error, mostly a *FormatError, in bounded
// time and memory. In text from users special tokens are plain characters: only the chat template and EncodeSpecial make them.
//
// # Memory
//
// Weights, caches and activations lie outside the Go heap. Close gives their memory back at once; the garbage collector gives it back later
// if a program did not call Close. Generating a token allocates nothing but the piece that is handed over.
package llama
