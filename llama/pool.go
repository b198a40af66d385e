package llama

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/antigravity-go/antigravity/eviction"
	"github.com/antigravity-go/antigravity/eviction/monitor"
)

// An answer of a pool takes these steps: prepare renders and checks the prompt, room.enter waits for room, begin finds a session that has
// computed a beginning of the prompt (see beginning), the session generates, and end makes its conversation idle. trim closes idle
// conversations when memory runs short. For example, a pool has room for two, and all prompts begin with the same 200 tokens S:
//
//	A   prompt S + 20 tokens   room; a new session computes 220 tokens
//	B   prompt S + 30 tokens   room; begin waits for A, forks the 200 tokens of S from it, and computes 30
//	C   prompt S + 10 tokens   waits for room
//	A   ends                   its conversation is idle; C has room, forks S and computes 10
//	A   asks again, with its first prompt, the answer and 15 tokens   takes its idle session, and computes 15

// Pool answers any number of goroutines with a bounded number of sessions of one model. It is to a Session what sql.DB is to a
// connection: nobody has to know which session answers, and what one answer computed the next ones use.
//
// An answer is byte for byte the one of a new Session with the same options, prompt and parameters. Neither who else is asking nor
// what the pool has cached changes it.
//
// Room: at most PoolOptions.MaxSessions answers are computed at once. Who finds no room waits, without using the processor, and is served
// in the order of arrival; who waits leaves when the context ends. An answer takes its room when its loop begins and gives it back when the
// loop ends, whatever ends it. A loop over an answer that asks the same pool for another answer in its body needs a second place: if all
// places are taken, it waits for itself, for ever. Collect the first answer before.
//
// Adapters: Params.Adapter chooses one for each answer. All are computed together, and only answers with the same adapter and scale share
// anything.
//
// Reuse: the conversation of an answer that ended stays cached, with the tokens of the answer. A prompt is compared with all cached
// conversations and with those that are being computed: the longest beginning that it shares with one of them is not computed again. If
// several prompts with one beginning come at the same time, the first computes that beginning, and the others wait for it. Only answers
// with the same Params.Scope share anything. With an eviction policy only what a new session would hold too can be used again: nothing of a
// conversation that has lost slots to an eviction, and, if the policy records attention, only conversations that are as a whole a beginning
// of the prompt. With recurrent layers a beginning ends at a snapshot, see SessionOptions.Snapshots; from a place where two prompts
// differed a third one begins.
//
// Memory: cached conversations that share a beginning share its memory, and on processors their tokens attend to it together. They are
// kept while the model's caches take no more than PoolOptions.MaxBytes together; beyond that the least recently used are given up, and
// before a conversation its snapshots, but for those where conversations branched. A conversation that is being computed takes what it
// needs.
//
// The methods are safe for any number of goroutines. A pool has no goroutine of its own. Close gives its memory back.
type Pool struct {
	model   *Model
	options PoolOptions // with the defaults filled in
	limits  limits      // of a new session
	forks   bool        // beginnings of conversations can be used: the policy keeps no record, which could not forget the rest
	room    room

	// Invariants while mu is free: a conversation is in idle or in busy, never in both, and no longer in either when the pool has closed
	// its session; only the goroutine of its answer changes the session of a conversation in busy, and nobody that of one in idle.
	mu               sync.Mutex
	closed           bool
	idle             []*conversation // cached, the least recently used first
	busy             []*conversation // being answered, in the order in which they got room
	trimming         bool            // a goroutine is closing idle sessions because of MaxBytes
	reused, computed int64           // PoolStats.ReusedTokens and ComputedTokens
	evicted          int64           // PoolStats.Evicted
}

// PoolOptions describe a pool. Nil and the zero value are the good defaults.
type PoolOptions struct {
	// MaxSessions is how many answers are computed at once. 0 means as many as one pass through the model computes together:
	// LoadOptions.MaxBatch.
	MaxSessions int
	// MaxBytes bounds the memory of the caches of all sessions of the model, in bytes, those outside the pool included. If they take more,
	// the pool gives cached conversations up. It checks when an answer begins and ends, and now and then in between. If the system refuses
	// memory before that, the pool gives cached conversations up, too, and the answer goes on. 0 means a quarter of
	// the memory that is available to the process when the pool is made (monitor.NewSystem reports it), or 1 GiB if it cannot be found out;
	// for a device with memory of its own, a figure that suits the device is better.
	MaxBytes int64
	// Session are the options of each session. Params.Adapter replaces the adapter for one answer.
	Session SessionOptions
}

// PoolStats describe what a pool is doing and has done.
type PoolStats struct {
	InUse          int           // answers that have room
	Idle           int           // cached conversations
	Waiting        int           // answers that wait for room
	WaitCount      int64         // answers that had to wait for room, and no longer do
	WaitDuration   time.Duration // how long these waited, all together
	ReusedTokens   int64         // tokens of prompts that were not computed again
	ComputedTokens int64         // tokens of prompts that were computed
	Bytes          int64         // what MaxBytes bounds: the caches of the model's sessions
	MaxBytes       int64         // PoolOptions.MaxBytes, with the default filled in
	Evicted        int64         // cached conversations that were given up because of MaxBytes, or because the system refused memory
}

// The defaults of PoolOptions.MaxBytes.
const (
	memoryShare     = 4       // the available memory divided by the default MaxBytes
	unknownMaxBytes = 1 << 30 // if the available memory is unknown
)

// NewPool makes a pool of sessions of the model. It takes no memory worth mentioning before the first answer. An option without meaning
// is an error as NewSession's; a closed model gives ErrClosed. Model.Close closes the pool's sessions too.
func (m *Model) NewPool(o *PoolOptions) (*Pool, error) {
	if err := hasHead(m); err != nil {
		return nil, err
	}
	p := &Pool{model: m}
	if o != nil {
		p.options = *o
	}
	switch {
	case p.options.MaxSessions < 0:
		return nil, &ParamError{"PoolOptions.MaxSessions", p.options.MaxSessions, "positive, or 0 for the default"}
	case p.options.MaxBytes < 0:
		return nil, &ParamError{"PoolOptions.MaxBytes", p.options.MaxBytes, "positive, or 0 for the default"}
	}
	if p.options.MaxSessions == 0 {
		p.options.MaxSessions = m.batch.Most()
	}
	if p.options.MaxBytes == 0 {
		p.options.MaxBytes = defaultMaxBytes()
	}
	p.room.free = p.options.MaxSessions
	session := p.options.Session
	var err error
	if p.limits, err = newLimits(&session, m); err != nil {
		return nil, err
	}
	_, tracked := p.limits.manager.Tracking()
	p.forks = !tracked
	if _, err := session.adapterOn(context.Background(), m); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, ErrClosed
	}
	return p, nil
}

// defaultMaxBytes returns the value that stands for 0 in PoolOptions.MaxBytes.
func defaultMaxBytes() int64 {
	system, err := monitor.NewSystem()
	if err != nil {
		return unknownMaxBytes
	}
	if c, ok := system.(io.Closer); ok {
		defer c.Close()
	}
	available, err := system.Available()
	if err != nil || available == eviction.Unknown {
		return unknownMaxBytes
	}
	return max(available/memoryShare, 1)
}

// Generate returns the continuation of prompt, which is the whole conversation so far, piece by piece, as it is computed. The sequence and
// its errors are those of Session.Generate in a new session, and Stats.ReusedTokens counts the prompt's cached tokens. The answer is
// computed while the sequence is ranged over, and only once; before that it holds no room and no memory.
//
// An error in prompt or params is reported before the wait for room begins. After Close the error is ErrClosed.
func (p *Pool) Generate(ctx context.Context, prompt []Token, params Params) iter.Seq2[Piece, error] {
	return p.pieces(ctx, params, func() ([]Token, opening, error) { return slices.Clone(prompt), opening{}, nil })
}

// Answer is Chat for a conversation that Tokenizer.Template rendered to tokens: it generates the next message. It differs from Generate if
// the tokenizer puts a space before the first word of a text.
func (p *Pool) Answer(ctx context.Context, prompt []Token, params Params) iter.Seq2[Piece, error] {
	return p.pieces(ctx, params, func() ([]Token, opening, error) { return slices.Clone(prompt), opening{fresh: true}, nil })
}

// Check returns the error with which Generate and Answer would refuse a prompt and its parameters before they wait for room, or nil. It
// computes nothing.
func (p *Pool) Check(prompt []Token, params Params) error {
	_, _, err := p.prepare(params, func() ([]Token, opening, error) { return prompt, opening{}, nil })
	return err
}

// Chat answers a conversation: it renders the history with the model's chat template and generates the next message. Pass the
// whole history each time. The sequence behaves as Generate's does.
func (p *Pool) Chat(ctx context.Context, history []Message, params Params) iter.Seq2[Piece, error] {
	return p.pieces(ctx, params, func() ([]Token, opening, error) {
		return chatPrompt(ctx, p.model.tokenizer, history, params.Template, p.options.Session.ImageTokens)
	})
}

// trimEvery is how many pieces of an answer the pool passes on between two looks at MaxBytes.
const trimEvery = 64

// pieces returns the pieces of the answer to a prompt.
func (p *Pool) pieces(ctx context.Context, params Params, render func() ([]Token, opening, error)) iter.Seq2[Piece, error] {
	return once(func(yield func(Piece, error) bool) {
		prompt, how, err := p.prepare(params, render)
		defer runtime.KeepAlive(heldBy(p.model, prompt)) // while the answer waits for room
		if err == nil {
			err = p.room.enter(ctx)
		}
		if err != nil {
			yield(Piece{}, err)
			return
		}
		c := p.newConversation(&params, prompt)
		if err := p.begin(ctx, c); err != nil {
			yield(Piece{}, err)
			return
		}
		defer p.end(c)
		s, reused := c.session, c.computed
		count := 0
		for piece, err := range s.pieces(func(yield func(Piece) bool) (Piece, error) {
			return s.call.generate(ctx, prompt[reused:], reused, params, how, yield)
		}) {
			if count == 0 {
				p.progress(c, false)
			}
			if count%trimEvery == 0 {
				p.trim()
			}
			count++
			if !yield(piece, err) {
				return
			}
		}
	})
}

// prepare returns the prompt, if a new session would take it.
func (p *Pool) prepare(params Params, render func() ([]Token, opening, error)) (prompt []Token, how opening, err error) {
	if err := params.validate(p.model.tokenizer); err != nil {
		return nil, how, err
	}
	if err := checkDraft(params.Draft, p.model); err != nil {
		return nil, how, err
	}
	prompt, how, err = render()
	if err != nil {
		return nil, how, err
	}
	if len(prompt) == 0 {
		return nil, how, p.model.tokenizer.emptyPrompt()
	}
	if params.Adapter != nil {
		if _, err := params.Adapter.weightsOn(context.Background(), p.model); err != nil {
			return nil, how, err
		}
	}
	return prompt, how, p.limits.check(prompt, nil, 0)
}

// Stats returns the present figures.
func (p *Pool) Stats() PoolStats {
	var s PoolStats
	p.room.tell(&s, p.options.MaxSessions)
	p.mu.Lock()
	defer p.mu.Unlock()
	s.MaxBytes = p.options.MaxBytes
	s.Idle, s.ReusedTokens, s.ComputedTokens, s.Bytes, s.Evicted = len(p.idle), p.reused, p.computed, p.bytes(), p.evicted
	return s
}

// Close closes the pool's sessions and gives their memory back. Answers that are being computed end at their next token or chunk with
// ErrClosed, those that wait for room at once, and so does every later one. Close waits for running computations, but not for the loops
// over the answers, so that it may be called from within one. It is idempotent.
func (p *Pool) Close() error {
	p.mu.Lock()
	p.closed = true
	open := slices.Concat(p.idle, p.busy)
	p.idle = nil
	for _, c := range open {
		c.wake()
	}
	sessions := make([]*Session, 0, len(open))
	for _, c := range open {
		if c.session != nil { // otherwise begin sees that the pool is closed
			sessions = append(sessions, c.session)
		}
	}
	p.mu.Unlock()
	p.room.close()
	var errs []error
	for _, s := range sessions {
		errs = append(errs, s.Close())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close a pool of %d sessions: %w", len(sessions), err)
	}
	return nil
}
