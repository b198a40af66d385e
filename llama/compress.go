package llama

import (
	"context"
	"fmt"
	"slices"

	"github.com/antigravity-go/antigravity/eviction"
	"github.com/antigravity-go/antigravity/kvcache"
)

const (
	rereadChunk = 256 // tokens of the conversation that one copy of it reads again
	rereadLead  = 8   // tokens before these that the copy reads first, so that it knows which part is repeated
)

// Compress shrinks each layer's cache to targetLen slots by what a second reading of the conversation needs. The session's policy must be an
// eviction.Rereader such as eviction.NewKVzip's. A document that was compressed once can then be forked for any number of questions:
//
//	s, err := model.NewSession(&llama.SessionOptions{Capacity: 8192, Eviction: kvzip, EvictAfterPrompt: true})
//	err = s.Prefill(ctx, document)
//	result, err := s.Compress(ctx, len(document)/4, model.Tokenizer().Encode("\n\nRepeat the previous text:\n\n"))
//	answer, err := s.Fork() // for each question
//
// The second reading is done by copies of the session, which share its memory: each begins with the tokens of ask, which may be empty,
// and reads up to 256 tokens of the conversation again. The session must have room for these tokens and for ask's; if there is less room,
// fewer are read at once, but at least the policy's window. The second reading goes by the policy's window, 8 tokens unless Options.Observation
// says otherwise, so Compress takes longer than it took to read the conversation.
//
// The context is looked at between the steps. If it has ended, or after another error of the second reading, the session is as it was.
// Errors of the eviction itself are those of Evict.
func (s *Session) Compress(ctx context.Context, targetLen int, ask []Token) (result eviction.Result, err error) {
	policy := s.sequence.manager.Policy()
	rereader, ok := policy.(eviction.Rereader)
	if !ok || rereader.Window() < 1 {
		return result, &ParamError{"Compress's policy", policy.Name(), "one that reads again, such as eviction.NewKVzip's"}
	}
	if err := s.begin(); err != nil {
		return result, err
	}
	defer s.end()
	if s.sequence.slots() <= targetLen {
		return result, nil
	}
	second := rereading{session: s, window: rereader.Window(), ask: ask}
	if err := second.read(ctx); err != nil {
		return result, fmt.Errorf("compress %d tokens to %d slots: %w", len(s.sequence.tokens), targetLen, err)
	}
	manager, err := eviction.NewManager[rereadCache](policy, eviction.ManagerOptions{})
	if err != nil {
		return result, err
	}
	err = s.with(func(c *sequence) error {
		shrink := func(target int) (eviction.Result, error) {
			caches := make([]rereadCache, len(second.most))
			for layer, cache := range c.memory.Whole() {
				caches[layer] = rereadCache{cache, second.most[layer]}
			}
			return manager.Evict(caches, target)
		}
		result, err = c.evict(func() (eviction.Result, error) { return shrink(targetLen) }, shrink)
		return err
	})
	return result, err
}

// rereadCache is a cache after a second reading. most is what Reread returns.
type rereadCache struct {
	*kvcache.Cache
	most [][]float32
}

// Reread implements eviction.Reread. A failed eviction may have taken slots, and with them their numbers, from a cache: then there are no
// numbers, and the latest slots stay.
func (r rereadCache) Reread() [][]float32 {
	for h, row := range r.most {
		if n := r.HeadLen(h); n != len(row) {
			r.most[h] = make([]float32, n)
		}
	}
	return r.most
}

// rereading is a second reading of a session's conversation.
type rereading struct {
	session *Session
	window  int           // tokens that are looked at together
	ask     []Token       // what each copy reads first
	most    [][][]float32 // the most attention that any window gave to each slot, [layers without a window][kvHeads][HeadLen]
}

// read reads the conversation.
func (r *rereading) read(ctx context.Context) error {
	s, c := r.session, &r.session.sequence
	if err := s.check(r.ask); err != nil {
		return err
	}
	err := s.with(func(c *sequence) error {
		if err := c.settle(); err != nil {
			return err
		}
		return c.onDevice(ctx, func() error { return catchUp(ctx, c) })
	})
	if err != nil {
		return err
	}
	for _, cache := range c.memory.Whole() {
		heads := make([][]float32, cache.KVHeads())
		for h := range heads {
			heads[h] = make([]float32, cache.HeadLen(h))
		}
		r.most = append(r.most, heads)
	}
	room := min(c.room(), c.options.Capacity-c.slots())
	least := len(r.ask) + rereadLead + r.window
	if room < least {
		return c.full(len(c.tokens), least, room)
	}
	size := min(rereadChunk, room-len(r.ask)-rereadLead)
	for from := 0; from < len(c.tokens); from += size {
		if err := r.readPart(ctx, from, min(from+size, len(c.tokens))); err != nil {
			return err
		}
	}
	return nil
}

// readPart lets a copy of the session read the tokens [from, to) again, and raises most to the attention that each window of them gives.
func (r *rereading) readPart(ctx context.Context, from, to int) error {
	copied, err := r.session.guarded.fork()
	if err != nil {
		return err
	}
	defer copied.Close()
	tokens := copied.Tokens()
	lead := append(slices.Clone(r.ask), tokens[max(from-rereadLead, 0):from]...)
	if err := copied.readAgain(ctx, lead); err != nil {
		return err
	}
	for ; from < to; from += r.window {
		read := tokens[from:min(from+r.window, to)]
		if err := copied.readAgain(ctx, read); err != nil {
			return err
		}
		err := copied.with(func(c *sequence) error {
			return c.onDevice(ctx, func() error { return raise(r.most, c.memory.Whole(), len(read)) })
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// readAgain computes tokens and appends them to the conversation, without asking the eviction policy.
func (g *guarded) readAgain(ctx context.Context, t []Token) error {
	for len(t) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := g.with(func(c *sequence) error {
			rows, err := c.step(ctx, t[:min(len(t), c.options.Chunk)], noOutput, false)
			t = t[rows:]
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// raise raises most, [layers][kvHeads][slots], to the attention that the latest queries of the caches give to these slots. The caches may
// have more slots.
func raise(most [][][]float32, caches []*kvcache.Cache, queries int) error {
	for layer, cache := range caches {
		sums, _, err := cache.RecentAttention(queries)
		if err != nil {
			return fmt.Errorf("layer %d: %w", layer, err)
		}
		for h, row := range most[layer] {
			for slot := range row {
				row[slot] = max(row[slot], sums[h][slot])
			}
		}
	}
	return nil
}
