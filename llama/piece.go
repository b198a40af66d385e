package llama

import (
	"fmt"
	"iter"
	"strings"
	"time"
)

// Piece is a part of an answer. The texts of all pieces together are the answer's text, including the text of a piece that comes with an
// error.
//
// # Calls
//
// Calls are looked for in an answer if Params.Template has tools and the model's way of writing calls is known; see Tokenizer.CallFormat.
// Then Calls has the answer's calls, and Text has the rest, to the letter. A call must name a function on offer and have a JSON object, or
// Python's keyword arguments, without a mistake. White space around calls and separators between them are in neither. If calls are not
// looked for, Text has everything.
//
// Text that may yet become a call is held back as long as it may. A call begins to come when its name and the beginning of its arguments
// are there; its arguments then come piece by piece. When the rest of it turns out to be a mistake, or does not come, since the answer ends
// before, the call's last piece is Broken: there is no such call, and its text comes in Text, in that piece or later.
//
// So at any time the answer until then is: all texts, and all calls that are complete and not Broken. At the answer's end that is Message.
//
// # Thoughts
//
// Some models think before they answer, and mark the thought, which their chat template or their vocabulary shows; see Tokenizer.Thinks.
// Chat and Pool.Answer separate it: the thought comes in Thought, and the answer in Text and Calls. A thought stands at the beginning of an
// answer; the prompt may have opened it. Its marks, and the white space around them, are in neither. If the answer ends before the thought
// does, all of it is Thought. Generate, which goes on with a text, gives everything as Text.
//
// Within a thought, Params.Stop and calls are not looked for, and Params.Constraint is not kept to: they are the answer's. Params.MaxTokens
// bounds thought and answer together. Params.Template.Thinking says whether to think, and bounds the thought.
type Piece struct {
	// Text is whole UTF-8 characters; it may be empty while a character, a possible stop string or a possible call is incomplete.
	Text string
	// Thought is the next part of what the model thinks before it answers: whole UTF-8 characters, without the marks around the thought.
	// A thought comes before Text and Calls.
	Thought string
	// Calls are pieces of function calls, in the order in which they came.
	Calls []CallPiece
	// Tokens are the tokens generated since the last piece.
	Tokens []Token
	// Logprobs has an element for each of Tokens when Params.Logprobs asks for it.
	Logprobs []Logprobs
	// Stop says, on the last piece, why the answer ended; it is 0 on the others.
	Stop StopReason
	// StopString says, where Stop is StopString, which of Params.Stop came up: the longest where several ended together.
	StopString string
	// Message is set on the last piece, and on the piece with an error that ends an answer early: the whole answer as an assistant's turn,
	// with the calls that are complete. Appended to the history, it is what the next Chat goes on from.
	Message Message
	// Stats are set on the last piece, and on the piece with an error that ends an answer early.
	Stats Stats
}

// CallPiece is a part of a function call. A call's pieces come one after the other.
type CallPiece struct {
	Index     int    // which call of the answer this is: 0, 1, …, those that turn out to be Broken included
	ID        string // on a call's first piece: nine letters and digits, made of the conversation and Index
	Name      string // on a call's first piece: the function
	Arguments string // the next part of the arguments' JSON; whole UTF-8 characters, and perhaps empty
	Broken    bool   // on a call's last piece: there is no such call after all
}

// Stats measure one call.
type Stats struct {
	PromptTokens    int           // tokens of the prompt; if computing it was cancelled or failed, those that were computed
	ReusedTokens    int           // those of the prompt's tokens that were in the cache already
	GeneratedTokens int           // tokens of the answer
	ThoughtTokens   int           // those of them that are the thought's, the marks around it included
	PrefillTime     time.Duration // computing the prompt
	DecodeTime      time.Duration // computing the answer, without the time that the caller's loop took
	Evictions       int           // how often the cache was shrunk
	EvictedSlots    int           // slots that evictions freed, all together; see CacheUsage
	EvictionTime    time.Duration // what evictions took: a part of PrefillTime and DecodeTime
	CacheSlots      int           // slots in use when the call ended, as Session.CacheLen counts them
	CacheCapacity   int           // slots that the cache may have: SessionOptions.Capacity
	DraftedTokens   int           // tokens that Params.Draft proposed, and that were computed ahead
	AcceptedTokens  int           // those of them that the answer went on with
	ForcedTokens    int           // tokens of the answer that Params.Constraint left no alternative to, or that closed a thought
}

// PrefillRate returns the prompt tokens computed per second, or 0 if no tokens were computed.
func (s Stats) PrefillRate() float64 { return rate(s.PromptTokens-s.ReusedTokens, s.PrefillTime) }

// DecodeRate returns the tokens generated per second, or 0 if no tokens were generated.
func (s Stats) DecodeRate() float64 { return rate(s.GeneratedTokens, s.DecodeTime) }

// String sums the call up: "21 prompt tokens (6 reused) at 188/s, 8 tokens at 77/s", with forced tokens, drafts and evictions if there
// were any.
func (s Stats) String() string {
	text := fmt.Sprintf("%d prompt tokens (%d reused) at %.0f/s, %d tokens at %.0f/s",
		s.PromptTokens, s.ReusedTokens, s.PrefillRate(), s.GeneratedTokens, s.DecodeRate())
	if s.ForcedTokens > 0 {
		text += fmt.Sprintf(", %d of them forced", s.ForcedTokens)
	}
	if s.DraftedTokens > 0 {
		text += fmt.Sprintf(", %d of %d drafts accepted", s.AcceptedTokens, s.DraftedTokens)
	}
	if s.Evictions > 0 {
		text += fmt.Sprintf(", %d evictions of %d slots in %v", s.Evictions, s.EvictedSlots, s.EvictionTime.Round(time.Microsecond))
	}
	return text
}

// rate returns n per second, 0 if no time was measured.
func rate(n int, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return float64(n) / d.Seconds()
}

// Collect computes an answer to its end and returns it as one piece: all of its thought, text and tokens, its calls, each of them in one
// piece and those that were Broken left out, and the last piece's Stop, Message and Stats. With an error it also returns the answer until
// then.
//
//	answer, err := llama.Collect(session.Chat(ctx, history, llama.Params{}))
func Collect(pieces iter.Seq2[Piece, error]) (Piece, error) {
	var all Piece
	var text, thought strings.Builder
	for p, err := range pieces {
		text.WriteString(p.Text)
		thought.WriteString(p.Thought)
		all.Calls = joinCalls(all.Calls, p.Calls)
		all.Tokens, all.Logprobs = append(all.Tokens, p.Tokens...), append(all.Logprobs, p.Logprobs...)
		all.Thought = thought.String()
		all.Text, all.Stop, all.StopString, all.Message, all.Stats = text.String(), p.Stop, p.StopString, p.Message, p.Stats
		if err != nil {
			return all, err
		}
	}
	all.Text, all.Thought = text.String(), thought.String()
	return all, nil
}

// joinCalls puts pieces of calls to the calls that came before them.
func joinCalls(calls, pieces []CallPiece) []CallPiece {
	for _, p := range pieces {
		last := len(calls) - 1
		switch {
		case last < 0 || calls[last].Index != p.Index:
			calls = append(calls, p)
		case p.Broken:
			calls = calls[:last]
		default:
			calls[last].Arguments += p.Arguments
		}
	}
	return calls
}
