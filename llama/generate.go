package llama

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"
	"time"

	"github.com/antigravity-go/antigravity/internal/precise"
)

// Piece is a part of an answer. The texts of all pieces together are the answer's text, the text of a piece beside an error included.
//
// # Calls
//
// Calls are looked for in an answer where Params.Template has tools and the model's way of writing calls is known; see
// Tokenizer.CallFormat. Then Calls has what the answer calls and Text has the rest: what is no call of a function on offer, with a JSON
// object or Python's keyword arguments for arguments and without a mistake, is text, to the letter. White space beside calls and what
// separates them is in neither. Where calls are not looked for, Text has everything.
//
// Text that may yet become a call is held back as long as it may. A call begins to come when its name and the beginning of its arguments
// are there; its arguments then come piece by piece. When the rest of it turns out to be a mistake, or does not come, since the answer
// ends before, the call's last piece is Broken: there is no such call, and its text comes in Text, beside that piece or later.
//
// So at any time the answer until then is: the texts together, and the calls whose arguments are together and not Broken. At its end
// that is Message.
type Piece struct {
	// Text is whole UTF-8 characters; it may be empty while a character, or what may become a stop string or a call, is incomplete.
	Text string
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
	// Message is set on the last piece, and beside an error that ends an answer early: the whole answer as an assistant's turn, with the
	// calls that are complete. Appended to the history, it is what the next Chat goes on from.
	Message Message
	// Stats are set on the last piece, and beside an error that ends an answer early.
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

// StopReason says why an answer ended.
type StopReason int

// The reasons.
const (
	EndOfTurn   StopReason = iota + 1 // the model ended its turn; the end token is not part of Tokens
	ToolCalled                        // the model ended its turn, and it calls functions: Message.ToolCalls is not empty
	StopString                        // one of Params.Stop came up
	MaxTokens                         // Params.MaxTokens were generated
	ContextFull                       // no room for another token
)

// String names the reason in words.
func (r StopReason) String() string {
	switch r {
	case 0:
		return "not stopped"
	case EndOfTurn:
		return "end of turn"
	case ToolCalled:
		return "tool called"
	case StopString:
		return "stop string"
	case MaxTokens:
		return "maximum of tokens"
	case ContextFull:
		return "context full"
	}
	return fmt.Sprintf("StopReason(%d)", int(r))
}

// Stats measure one call.
type Stats struct {
	PromptTokens    int           // tokens of the prompt; if computing it was cancelled or failed, those that were computed
	ReusedTokens    int           // those of the prompt's tokens that were in the cache already
	GeneratedTokens int           // tokens of the answer
	PrefillTime     time.Duration // computing the prompt
	DecodeTime      time.Duration // computing the answer, without the time that the caller's loop took
	Evictions       int           // how often the cache was shrunk
	EvictedSlots    int           // by how many slots in all; see CacheUsage
	EvictionTime    time.Duration // what evictions took: a part of PrefillTime and DecodeTime
	CacheSlots      int           // slots in use when the call ended, as Session.CacheLen counts them
	CacheCapacity   int           // slots that the cache may have: SessionOptions.Capacity
	DraftedTokens   int           // tokens that Params.Draft proposed, and that were computed ahead
	AcceptedTokens  int           // those of them that the answer went on with
	ForcedTokens    int           // tokens of the answer that Params.Constraint left no alternative to
}

// PrefillRate returns the prompt tokens computed per second, 0 when none were.
func (s Stats) PrefillRate() float64 { return rate(s.PromptTokens-s.ReusedTokens, s.PrefillTime) }

// DecodeRate returns the tokens generated per second, 0 when none were.
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

// rate returns n per second, 0 where no time was measured.
func rate(n int, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return float64(n) / d.Seconds()
}

// Collect computes an answer to its end and returns it as one piece: all of its text and tokens, its calls, each of them in one piece and
// those that were Broken left out, and the last piece's Stop, Message and Stats. Beside an error is what there was of the answer until
// then.
//
//	answer, err := llama.Collect(session.Chat(ctx, history, llama.Params{}))
func Collect(pieces iter.Seq2[Piece, error]) (Piece, error) {
	var all Piece
	var text strings.Builder
	for p, err := range pieces {
		text.WriteString(p.Text)
		all.Calls = joinCalls(all.Calls, p.Calls)
		all.Tokens, all.Logprobs = append(all.Tokens, p.Tokens...), append(all.Logprobs, p.Logprobs...)
		all.Text, all.Stop, all.StopString, all.Message, all.Stats = text.String(), p.Stop, p.StopString, p.Message, p.Stats
		if err != nil {
			return all, err
		}
	}
	all.Text = text.String()
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

// Generate appends the prompt to the conversation and returns the continuation, piece by piece, as it is computed.
//
// The sequence computes while it is ranged over, and once: a second range gives an error. An error comes as the last element,
// beside a piece with the text that was still held back and with Stats; a cancelled context gives the context's error. However
// the loop ends, by break too, the conversation then holds the prompt and exactly the tokens that the loop was given, and the
// session can go on. An end-of-turn token that the model chose is not appended.
//
// The context is looked at as in Prefill while the prompt is computed, and then before each token is chosen. The computing of
// a single token and an eviction are not interrupted.
//
// When the prompt does not fit, the error is ErrContextFull and nothing was computed. An empty prompt continues from the last
// token.
func (s *Session) Generate(ctx context.Context, prompt []Token, p Params) iter.Seq2[Piece, error] {
	return s.pieces(func(yield func(Piece) bool) (Piece, error) {
		return s.generate(ctx, prompt, 0, p, false, yield)
	})
}

// Chat answers a conversation: it renders the history with the model's chat template, reuses the longest beginning of the
// rendered tokens that the cache holds already, and generates the next message. Pass the whole history each time; Chat does not
// append the answer to it. The sequence behaves as Generate's does.
func (s *Session) Chat(ctx context.Context, history []Message, p Params) iter.Seq2[Piece, error] {
	return s.pieces(func(yield func(Piece) bool) (Piece, error) {
		prompt, err := s.sequence.model.tokenizer.render(ctx, history, p.Template)
		if err != nil {
			return Piece{}, err
		}
		shared, err := s.keepPrefix(prompt)
		if err != nil {
			return Piece{}, err
		}
		return s.generate(ctx, prompt[shared:], shared, p, true, yield)
	})
}

// once returns pieces as a sequence that can be ranged over a single time: a second range gives an error.
func once(pieces iter.Seq2[Piece, error]) iter.Seq2[Piece, error] {
	var ranged atomic.Bool
	return func(yield func(Piece, error) bool) {
		if ranged.Swap(true) {
			yield(Piece{}, errors.New("llama: an answer is ranged over a second time: call Generate or Chat again for another"))
			return
		}
		pieces(yield)
	}
}

// emptyPrompt returns the error of a conversation without any token: texts have none if there is no tokenizer.
func (t *Tokenizer) emptyPrompt() error {
	if err := t.hasTexts(); err != nil {
		return err
	}
	return &ParamError{"the prompt", "empty", "at least one token, such as begin-of-text, in an empty conversation"}
}

// pieces returns the pieces that call yields. It claims the session while they are ranged over; if call returns an error, the
// last element is that error beside the piece that call returned with it. callMu is not held while the loop's body runs, so
// that the body may move the session.
func (s *Session) pieces(call func(yield func(Piece) bool) (Piece, error)) iter.Seq2[Piece, error] {
	return once(func(yield func(Piece, error) bool) {
		if err := s.begin(); err != nil {
			yield(Piece{}, err)
			return
		}
		defer s.end()
		left := false // the loop's body ended the loop: yield must not be called again
		deliver := func(p Piece, err error) bool {
			s.callMu.Unlock()
			defer s.callMu.Lock()
			left = !yield(p, err)
			return !left
		}
		last, err := call(func(p Piece) bool { return deliver(p, nil) })
		if err != nil && !left {
			deliver(last, err)
		}
	})
}

// generate is Generate for a prompt that begins with reused tokens, which are in the cache already, and goes on with the tokens
// in prompt. fresh tells that the answer is a text of its own, as a message is, and not the continuation of the prompt's text.
// Where generate returns an error, it also returns the piece to deliver beside that error.
func (s *Session) generate(ctx context.Context, prompt []Token, reused int, p Params, fresh bool, yield func(Piece) bool) (Piece, error) {
	if err := p.validate(s.sequence.model.tokenizer); err != nil {
		return Piece{}, err
	}
	tools, err := p.Template.toolNames()
	if err != nil {
		return Piece{}, err
	}
	c := &s.sequence
	stats := Stats{PromptTokens: reused + len(prompt), ReusedTokens: reused}
	before := c.usage
	final := func() Stats {
		stats.Evictions, stats.EvictedSlots = c.usage.Evictions-before.Evictions, c.usage.EvictedSlots-before.EvictedSlots
		stats.EvictionTime = c.usage.EvictionTime - before.EvictionTime
		stats.DraftedTokens, stats.AcceptedTokens = s.drafting.drafted, s.drafting.accepted
		stats.CacheSlots, stats.CacheCapacity = c.slots(), s.options.Capacity
		return stats
	}
	s.drafting.start(p.Draft)
	began, had := precise.Now(), len(c.tokens)
	err = s.prefill(ctx, prompt, reused, nil)
	if err == nil {
		err = s.with(func(c *sequence) error {
			if err := c.ensureLogits(); err != nil || c.logits.at != nowhere {
				return err
			}
			return c.model.tokenizer.emptyPrompt()
		})
	}
	stats.PrefillTime = precise.Since(began)
	if err != nil {
		stats.PromptTokens = reused + max(len(c.tokens)-had, 0)
		return Piece{Stats: final()}, err
	}
	s.sampler.start(p)
	s.answer.start(c.model.tokenizer, p.Stop, fresh, len(tools) > 0, tools, c.tokens)
	defer s.constraining.stop()
	if err := s.constraining.start(p.Constraint, c.model); err != nil {
		return Piece{Stats: final()}, err
	}
	s.sampler.allowed = s.constraining.allowed
	if err := s.with(func(c *sequence) error { c.model.batch.join(&c.job); return nil }); err != nil {
		return Piece{Stats: final()}, err
	}
	defer c.leave() // also when the loop's body panics
	err = s.decode(ctx, &stats, final, yield)
	// The answer may end with proposals in the cache that it did not take. What was ended by Close has nothing left to tidy up.
	tidy := s.with(func(c *sequence) error { return c.settle() })
	if err == nil && !errors.Is(tidy, ErrClosed) {
		err = tidy
	}
	if err != nil {
		last := Piece{Stats: final()}
		s.answer.finish(&last)
		return last, err
	}
	return Piece{}, nil
}

// leave tells the batch that the answer is over.
func (c *sequence) leave() { c.model.batch.leave(&c.job) }

// decode generates the answer token by token. Each is delivered first, and then becomes part of the conversation.
func (s *Session) decode(ctx context.Context, stats *Stats, final func() Stats, yield func(Piece) bool) error {
	for {
		began := precise.Now()
		info := ChooseInfo{Began: began}
		piece, next, err := s.next(ctx, stats, &info)
		if err != nil {
			return err
		}
		chosen := precise.Since(began)
		if c := &s.sequence; c.trace.Choose != nil {
			info.Session, info.Took, info.Position, info.Token, info.End = c.number, chosen, len(c.tokens), next, len(piece.Tokens) == 0
			info.Ahead = !info.End && c.expects(next)
			c.trace.Choose(info)
		}
		stats.DecodeTime += chosen
		if piece.Stop != 0 {
			s.answer.finish(&piece)
			piece.Stats = final()
			if len(piece.Tokens) > 0 && s.sequence.expects(next) && s.drafting.proposed(&s.sequence) {
				piece.Stats.AcceptedTokens++ // append accepts it when it has been delivered
			}
		}
		goOn := yield(piece) && piece.Stop == 0
		if len(piece.Tokens) == 0 {
			return nil
		}
		// The token was delivered, so it becomes part of the conversation even when the loop is over.
		began = precise.Now()
		if err := s.append(next, goOn, stats); err != nil {
			return err
		}
		s.tokenTime.add(chosen + precise.Since(began))
		if err := s.maybeEvict(true); err != nil || !goOn {
			return err
		}
		stats.DecodeTime += precise.Since(began)
	}
}

// append makes a token of the answer part of the conversation: it is the first of those that were computed ahead, or it is computed
// now, and with it, where the answer goes on, what is forced to come next and what a drafter proposes to come behind that.
func (s *Session) append(t Token, goOn bool, stats *Stats) error {
	return s.with(func(c *sequence) error {
		if c.expects(t) {
			if s.drafting.proposed(c) {
				s.drafting.accept()
			}
			c.accept()
			return nil
		}
		if err := c.settle(); err != nil {
			return err
		}
		top := 0
		if !s.sampler.changes() && s.sampler.Logprobs == 0 {
			top = s.sampler.deciders(c.model.config.VocabSize)
		}
		s.run = append(s.run[:0], t)
		s.drafting.learn(t)
		if goOn {
			most := min(c.room(), c.options.Capacity-c.slots()) - 1
			if s.sampler.MaxTokens > 0 {
				most = min(most, s.sampler.MaxTokens-stats.GeneratedTokens)
			}
			forced, all := s.constraining.ahead(most)
			n := c.undisturbed(len(forced))
			if s.run = append(s.run, forced[:n]...); all && n == len(forced) {
				s.run = s.drafting.propose(s.run, c, most-n, &s.constraining)
			}
			s.constraining.overlap(c.model.batch, len(s.run))
		}
		return c.answer(s.run, top)
	})
}

// answer computes run: the next token of an answer, and behind it tokens that may be the next ones.
func (c *sequence) answer(run []Token, top int) error {
	if _, err := c.step(context.Background(), run, c.lastLogits(len(run), top), true); err != nil {
		return err
	}
	n := len(c.tokens) - (len(run) - 1)
	c.ahead = append(c.ahead[:0], c.tokens[n:]...)
	c.tokens = c.tokens[:n]
	return nil
}

// expects tells whether t is the first of the tokens that were computed ahead.
func (c *sequence) expects(t Token) bool { return len(c.ahead) > 0 && c.ahead[0] == t }

// accept makes the first of the tokens that were computed ahead part of the conversation.
func (c *sequence) accept() {
	c.tokens = append(c.tokens, c.ahead[0])
	c.ahead = append(c.ahead[:0], c.ahead[1:]...)
	c.logits.point(c.logits.row + 1)
}

// next chooses a token, or takes a forced one, and makes the piece that delivers it. It fills in info's Constraint and Forced, the former
// only if there is a Trace.Choose.
func (s *Session) next(ctx context.Context, stats *Stats, info *ChooseInfo) (Piece, Token, error) {
	if err := ctx.Err(); err != nil {
		return Piece{}, 0, err
	}
	c := &s.sequence
	over, err := s.constraining.next()
	if c.trace.Choose != nil && s.constraining.matcher != nil {
		info.Constraint = precise.Since(info.Began)
	}
	if err != nil || over {
		return Piece{Stop: EndOfTurn}, 0, err
	}
	if c.room() == 0 {
		return Piece{Stop: ContextFull}, 0, nil
	}
	token, forced, err := s.constraining.take()
	info.Forced = forced
	if err == nil && !forced {
		if token, err = s.choose(); err == nil {
			if c.model.IsEnd(token) {
				return Piece{Stop: EndOfTurn}, 0, nil
			}
			err = s.constraining.chosen(token)
		}
	}
	if err != nil {
		return Piece{}, 0, err
	}
	if forced {
		stats.ForcedTokens++
	}
	s.sampler.accept(token)
	stats.GeneratedTokens++
	piece := Piece{Tokens: []Token{token}}
	if n := s.sampler.Logprobs; n > 0 {
		logits, err := s.needLogits()
		if err != nil {
			return Piece{}, 0, err
		}
		piece.Logprobs = []Logprobs{logprobs(logits, token, n, c.model.tokenizer)}
	}
	switch {
	case s.answer.add(token, &piece):
		piece.Stop, piece.StopString = StopString, s.answer.filter.stopped
	case s.sampler.MaxTokens > 0 && stats.GeneratedTokens == s.sampler.MaxTokens:
		piece.Stop = MaxTokens
	}
	return piece, token, nil
}
