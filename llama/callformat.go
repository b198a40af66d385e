package llama

import "github.com/antigravity-go/antigravity/internal/calls"

// CallFormat is a way in which models write function calls.
type CallFormat int

// The formats, with two calls each.
const (
	NoCalls            = CallFormat(calls.None)          // no way that this package knows: a call stays text
	LlamaJSONCalls     = CallFormat(calls.LlamaJSON)     // {"name": "f", "parameters": {"a": 1}}; {"name": "g", "parameters": {}}
	LlamaPythonicCalls = CallFormat(calls.LlamaPythonic) // [f(a=1), g()]
	HermesCalls        = CallFormat(calls.Hermes)        // <tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call> each: Hermes, Qwen
	MistralCalls       = CallFormat(calls.Mistral)       // [TOOL_CALLS][{"name": "f", "arguments": {"a": 1}}, {"name": "g", "arguments": {}}]
	MistralArgsCalls   = CallFormat(calls.MistralArgs)   // [TOOL_CALLS]f[ARGS]{"a": 1} each: Mistral's later models
	GraniteCalls       = CallFormat(calls.Granite)       // <|tool_call|>[{"name": "f", "arguments": {"a": 1}}, {"name": "g", "arguments": {}}]: Granite 3
	PhiCalls           = CallFormat(calls.Phi)           // <|tool_call|>{"name": "f", "arguments": {"a": 1}}<|/tool_call|> each: Phi-4-mini
	OlmoCalls          = CallFormat(calls.Olmo)          // <function_calls>f(a=1), a line break, g()</function_calls>: OLMo 3
	TaggedCalls        = CallFormat(calls.Tagged)        // <tool_call><function=f><parameter=a>1</parameter></function></tool_call> each: Qwen 3.5, Qwen3-Coder
	LFMCalls           = CallFormat(calls.LFM)           // <|tool_call_start|>[f(a=1), g()]<|tool_call_end|>: LFM2
	GemmaCalls         = CallFormat(calls.Gemma)         // <|tool_call>call:f{a:1}<tool_call|> each: Gemma 4
	HarmonyCalls       = CallFormat(calls.Harmony)       // <|channel|>commentary to=functions.f <|constrain|>json<|message|>{"a": 1}<|call|>, one in an answer: gpt-oss
	GLMCalls           = CallFormat(calls.GLM)           // <tool_call>f<arg_key>a</arg_key><arg_value>1</arg_value></tool_call> each: GLM 4.5 and later
)

// String names the format in words.
func (f CallFormat) String() string { return calls.Format(f).String() }

// CallFormat returns how the model writes function calls, as far as its chat template and its vocabulary say. It is HermesCalls if the
// template has no place for functions and the model's own way is unknown or Python's: Template then asks the model to write calls so.
func (t *Tokenizer) CallFormat() CallFormat { return CallFormat(t.calls) }
