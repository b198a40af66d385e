package main

import (
	"io"
	"strconv"
	"strings"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/examples/internal/timeline"
	"github.com/antigravity-go/antigravity/examples/tools/internal/machine"
	"github.com/antigravity-go/antigravity/examples/tools/internal/recording"
	"github.com/antigravity-go/antigravity/tensor"
)

const about = `
bench measures a model: ppN is the rate of reading a prompt of N tokens, tgN that of generating N tokens, imWxH that of seeing
a picture of W by H pixels.

  go run ./examples/tools/bench -model model.gguf -p 128,512 -n 32 -r 3
  go run ./examples/tools/bench -model model.gguf -p 0 -n 32 -depth 4096 -json
  go run ./examples/tools/bench -model model.gguf -p 0 -sessions 1,2,4,8,16
  go run ./examples/tools/bench -model model.gguf -p 0 -sessions 16 -depth 4096 -forks
  go run ./examples/tools/bench -model model.gguf -p 0 -draft 7
  go run ./examples/tools/bench -model model.gguf -p 0 -draft 4 -accept 0,0.5,0.8,1
  go run ./examples/tools/bench -model model.gguf -p 0 -draft own
  go run ./examples/tools/bench -model model.gguf -p 0 -schema schema.json -document document.json
  go run ./examples/tools/bench -model model.gguf -p 260 -n 0 -images 640x426
  go run ./examples/tools/bench -model model.gguf -p 4096 -latency
  go run ./examples/tools/bench -model model.gguf -profile
  go run ./examples/tools/bench -model model.gguf -p 128 -n 8 -r 1 -trace trace.json

The tokens of prompts are arbitrary, and where the model would end an answer early the rest is generated with the end forbidden: so
any model will do, one of random weights too (see mkmodel). Rates on a shared machine wander; compare two programs by running
them in turn, several times.

With -images the rate of imWxH is that of the tower: of the soft tokens that it makes of a picture. The model of text then reads as many
tokens as a prompt.

With -sessions the rate is that of all answers together, from the moment when all sessions have read their prompts until the
last answer is complete. Beside it stands what a single session reaches that computes up to as many rows in each step, with the
logits of every row: the rows that it really computed in a step, their rate, and what part of that rate the sessions reach.
It computes so many rows because it is proposed the right tokens, as with -draft; where it nevertheless computes far fewer, since
more do not pay, nothing is compared. (-p 1,2,4,8,16 gives the rates of as many rows of a prompt, of which only the last has logits.)

With -forks the sessions share what they hold before their answers, but for the last token: what many conversations with one long
system message gain. Each draws its answer with a seed of its own, from the 40 likeliest tokens: the likeliest ones would soon be the
same in all answers, and with models of experts so would the experts.

With -profile, models with experts also have a line that says how many experts a pass chose, of all its sessions together, and how many bytes
of their weights that is for a token.

With -draft N an oracle, which knows the answer already, proposes the next N tokens: what drafts can bring at most. With -accept
only some of its tokens are right, each with that probability. -draft lookup is llama.PromptLookup, and -draft own the model's own head.
The session decides itself how many of the tokens it computes at once, and whether any. "tokens/step" is how many tokens a step brought,
"accepted" which part of the computed proposals was right, and "of none" the speed in proportion to the same answer without drafts, which
is measured before each repetition.

With -schema answers are also generated that fit a JSON Schema, tgN+schema, and the same with the tokens that have no alternative
computed one by one like others, tgN+schema-unforced; "forced" is which part of the tokens had none. A document that ends is followed
by another. What a model of random weights writes is mostly one endless string: with -document the choices of these answers are led along
a document that fits the schema.

With -latency one session generates while another reads a prompt: the times between two tokens, in milliseconds, and the
prompt's time, in seconds, alone and beside each other. p99 is the time that one token in a hundred takes longer than.

With -trace the time that is measured is also written as a trace: what each thread computed of each operation and how long it waited for
the others, which rows each pass computed, what each session waited for. Open the file in https://ui.perfetto.dev (it stays on your
machine) or chrome://tracing. Recording takes some tenths of a microsecond for each operation and thread: nothing that could be measured
with a model of a billion parameters, but some 5 % with Pebble on two threads, and 13 % on sixteen.`

// options are the command line's.
type options struct {
	model       cli.Model
	prompts     []int // lengths
	images      []picture
	generate    int      // tokens of an answer
	sessions    []int    // how many generate at once; empty: one
	forks       bool     // they are forks of one session
	drafts      []drafts // what proposes tokens; empty: no proposals
	schema      string   // path of a JSON Schema; "": answers have no constraint
	document    string   // path of a document that fits it; "": the model chooses
	latency     bool
	repetitions int
	depth       int
	kv          tensor.DType
	chunk       int
	flags       *cli.Flags
	json        bool
	profile     bool
	sync        bool
	span        int                 // MiB
	recorder    *recording.Recorder // nil unless profiling
	tracePath   string              // "": no trace is written
	traceEvents int
}

// companyDepth is what -depth is with -sessions, -draft or -latency, unless it is given.
const companyDepth = 128

func parse(args []string, stdout io.Writer) (*options, error) {
	o := &options{}
	var prompts, sessions, images, draft, accept string
	f := cli.NewFlags("bench", about)
	f.Group("Measurement", func() {
		f.StringVar(&prompts, "p", "128,512", "prompt `lengths`, with commas between; 0: none")
		f.StringVar(&images, "images", "", "`sizes` of pictures for a model that sees, in pixels and with commas between, such as 640x426,1920x1080")
		f.IntVar(&o.generate, "n", 64, "`tokens` to generate; 0: none")
		f.StringVar(&sessions, "sessions", "", "how many sessions generate at once: `numbers`, with commas between, such as 1,2,4,8,16")
		f.BoolVar(&o.forks, "forks", false, "with -sessions: the sessions are forks of one, as conversations with one system message are")
		f.StringVar(&draft, "draft", "", "generate also with `proposals` of the next tokens: a number, of so many tokens by an oracle; lookup; own: the model's own head")
		f.StringVar(&accept, "accept", "", "with what `probability` a token of the oracle is right, from 0 to 1; several, with commas between, are measured in turn")
		f.StringVar(&o.schema, "schema", "", "generate also answers that fit the JSON Schema at `path`")
		f.StringVar(&o.document, "document", "", "lead these answers along the JSON document at `path`")
		f.BoolVar(&o.latency, "latency", false, "measure only how long tokens of an answer take while another session reads a prompt")
		f.IntVar(&o.repetitions, "r", 3, "`times` to repeat each test")
		f.IntVar(&o.depth, "depth", 0, "`tokens` that the cache holds before each test, untimed; unless given, 128 with -sessions, -draft or -latency")
		f.BoolVar(&o.profile, "profile", false, "tell how long each operation took, and how near that is to the machine's limits")
		f.BoolVar(&o.sync, "sync", false, "wait for the device after each operation: what a device gains that takes many operations before it is waited for")
		f.IntVar(&o.span, "span", machine.DefaultSpan>>20, "`MiB` read in turn to measure the memory's limit for -profile")
		f.StringVar(&o.tracePath, "trace", "", "write what happened when to `path`, for ui.perfetto.dev or chrome://tracing")
		f.IntVar(&o.traceEvents, "trace-events", timeline.DefaultLimit, "most `events` of a trace; what comes later is left out")
		f.BoolVar(&o.json, "json", false, "print one JSON object a line")
	})
	o.model.Flags(f)
	f.Group("Memory", func() {
		f.DType(&o.kv, "kv-type", "of the cached keys and values", tensor.F32, tensor.F16, tensor.Q8_0, tensor.Q4_0)
		f.Sets(map[string]string{"SessionOptions.KV": "kv-type", "SessionOptions.Chunk": "chunk"})
		f.IntVar(&o.chunk, "chunk", 0, "most `tokens` of a prompt computed at once; 0: the default")
	})
	o.flags = f
	if err := f.Parse(args, stdout); err != nil {
		return nil, err
	}
	var ok bool
	if o.prompts, ok = numbers(prompts); !ok {
		return nil, cli.Usagef("-p %q is not a list of lengths such as 128,512", prompts)
	}
	if o.images, ok = sizes(images); !ok {
		return nil, cli.Usagef("-images %q is not a list of sizes such as 640x426, up to %d pixels a side", images, mostSide)
	}
	if o.sessions, ok = numbers(sessions); !ok || f.Given("sessions") && len(o.sessions) == 0 {
		return nil, cli.Usagef("-sessions %q is not a list of numbers such as 1,2,4", sessions)
	}
	if o.drafts, ok = draftsOf(draft, accept); !ok {
		return nil, cli.Usagef("-draft %q -accept %q are not a number of tokens, lookup or own, and probabilities of a number of tokens such as 0.5,1", draft, accept)
	}
	if !f.Given("depth") && (len(o.sessions) > 0 || len(o.drafts) > 0 || o.latency) {
		o.depth = companyDepth
	}
	if o.kv == 0 {
		o.kv = tensor.F16
	}
	if o.profile {
		o.recorder = new(recording.Recorder)
		o.model.Wrap = func(b backend.Backend) backend.Backend { return recording.New(b, o.recorder) }
	}
	if o.sync {
		o.model.Wrap = func(b backend.Backend) backend.Backend { return recording.New(b, recording.Always(recording.Wait)) }
	}
	if f.Given("trace-events") && o.tracePath == "" {
		return nil, cli.Usagef("-trace-events is how much of a trace is kept, -trace")
	}
	return o, o.check()
}

// numbers reads a list of numbers of 1 and more. A 0 adds nothing, so "0" is the empty list.
func numbers(s string) (list []int, ok bool) {
	if s == "" {
		return nil, true
	}
	for field := range strings.SplitSeq(s, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(field))
		if err != nil || n < 0 {
			return nil, false
		}
		if n > 0 {
			list = append(list, n)
		}
	}
	return list, true
}

// check refuses what cannot be measured.
func (o *options) check() error {
	switch company := len(o.sessions) > 0 || len(o.drafts) > 0; {
	case o.generate < 0 || o.repetitions < 1 || o.depth < 0:
		return cli.Usagef("-n and -depth are 0 or more, -r is at least 1")
	case o.latency && (company || o.profile):
		return cli.Usagef("-latency is a measurement of its own, without -sessions, -draft and -profile")
	case o.sync && o.profile:
		return cli.Usagef("-sync and -profile: a profile waits for each operation already, and tells no rates of that")
	case o.latency && (len(o.prompts) == 0 || o.generate < 2):
		return cli.Usagef("-latency needs a prompt, -p, and at least 2 tokens of an answer, -n")
	case company && o.generate == 0:
		return cli.Usagef("-sessions and -draft need tokens to generate, -n")
	case o.forks && len(o.sessions) == 0:
		return cli.Usagef("-forks is about several sessions, -sessions")
	case o.schema != "" && (len(o.drafts) > 0 || o.latency || o.generate == 0):
		return cli.Usagef("-schema needs tokens to generate, -n, and goes without -draft and -latency")
	case o.tracePath != "" && (o.profile || o.sync):
		return cli.Usagef("-trace shows how operations follow each other, and -profile and -sync wait for each of them: use one of the three")
	case o.traceEvents < 1:
		return cli.Usagef("-trace-events is at least 1")
	case o.document != "" && o.schema == "":
		return cli.Usagef("-document needs a schema that it fits, -schema")
	case len(o.prompts) == 0 && len(o.images) == 0 && o.generate == 0:
		return cli.Usagef("-p 0 and -n 0 leave nothing to measure")
	}
	if err := machine.CheckSpan(o.span); err != nil {
		return cli.Usagef("-span: %v", err)
	}
	return nil
}
