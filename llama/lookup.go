package llama

import (
	"sync"

	"github.com/antigravity-go/antigravity/internal/ngrams"
)

// lookup implements Drafter. An index finds the latest place of the tokens that end the conversation (ngrams.Index), and a copyist follows
// what an answer copies from there. For example, tokens are numbers, and Min is 2 and Max is 4:
//
//	context 1 2 3 4 5 6 2 3          2 3 occurred before, and 4 followed: followed = 2, and 2·2 tokens are proposed: 4 5 6 2
//	context 1 2 3 4 5 6 2 3 4 5      the answer has followed: followed = 4, and 8 tokens are proposed, from 6 on
//	context 1 2 3 4 5 6 2 3 4 5 9    9 replaced 6: followed = 2, and 4 tokens are proposed, from after 6 on: 2 3 4 5

// LookupOptions are the options of PromptLookup. The zero value is a good choice.
type LookupOptions struct {
	// Min and Max are how many tokens at the end of the conversation are looked up, at least and at most; 0 stands for 2 and 4.
	// A Max below Min stands for Min. Each length from Min to Max takes 16 to 32 bytes a token of the conversation and of the corpus.
	Min, Max int
	// Length is how many tokens are proposed at most; 0 stands for 48.
	Length int
	// Corpus holds texts that answers may copy from besides the conversation: a program that is being edited, earlier answers. It
	// is copied.
	Corpus [][]Token
}

// PromptLookup returns a Drafter that proposes copies from the conversation itself, or from a corpus. It pays if answers repeat much of
// their prompt, as in editing a text. It needs no second model, and takes about a microsecond.
//
// The longest run of tokens that ends the conversation and occurred before, Max tokens at most, proposes what followed its latest
// occurrence; the conversation comes before the corpus. Once an answer follows such a copy, the copy goes on, past one token that
// the answer replaced too, until a longer run is found elsewhere or a second token in a row differs. The longer the answer has
// followed, the more is proposed: twice as many tokens as agreed. (Prompt lookup: github.com/apoorvumang/prompt-lookup-decoding;
// the length in proportion to the match: SuffixDecoding, arXiv 2411.04975.)
//
// The Drafter may serve any number of sessions, also at once. It remembers the conversations of the 32 that used it last, in about 100
// bytes a token with the default options. A call indexes the tokens that are new since the last one of its conversation; of those that it
// knows, it only makes sure that they are the same. Proposals depend on the calls before; answers do not.
func PromptLookup(o LookupOptions) Drafter {
	if o.Min < 1 {
		o.Min = 2
	}
	if o.Max < 1 {
		o.Max = 4
	}
	o.Max = max(o.Max, o.Min)
	if o.Length < 1 {
		o.Length = 48
	}
	l := &lookup{LookupOptions: o, corpus: ngrams.New[Token](o.Min, o.Max)}
	for _, text := range o.Corpus {
		l.corpus.Append(text...)
		l.corpus.Append(noToken)
	}
	l.Corpus = nil // the caller's, and no longer needed
	return l
}

// noToken separates the texts of a corpus.
const noToken Token = -1

// maxCopyists is how many conversations a lookup remembers.
const maxCopyists = 32

// lookup is the Drafter that PromptLookup returns. corpus does not change.
type lookup struct {
	LookupOptions
	corpus *ngrams.Index[Token]

	mu   sync.Mutex
	idle []*copyist // at most maxCopyists that are in no call of Draft; the one used last comes last
}

// Draft implements Drafter.
func (l *lookup) Draft(dst, context []Token) []Token {
	c := l.take(context)
	c.read(context)
	c.look(l.corpus)
	dst = c.propose(dst, l.Length)
	l.put(c)
	return dst
}

// take returns the copyist that has read most of a context and nothing else, or one that has read nothing.
func (l *lookup) take(context []Token) *copyist {
	l.mu.Lock()
	defer l.mu.Unlock()
	best := -1
	for i, c := range l.idle {
		if beginsWith(context, c.said.Tokens()) && (best < 0 || len(c.said.Tokens()) > len(l.idle[best].said.Tokens())) {
			best = i
		}
	}
	switch {
	case best >= 0:
		return l.remove(best)
	case len(l.idle) == maxCopyists:
		c := l.remove(0)
		c.said.Reset()
		c.copying = copying{}
		return c
	}
	return &copyist{said: ngrams.New[Token](l.Min, l.Max)}
}

// remove takes a copyist out of idle.
func (l *lookup) remove(i int) *copyist {
	c := l.idle[i]
	copy(l.idle[i:], l.idle[i+1:])
	l.idle = l.idle[:len(l.idle)-1]
	return c
}

// put gives a copyist back.
func (l *lookup) put(c *copyist) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.idle) == maxCopyists {
		l.remove(0) // more calls ran at once than copyists are remembered
	}
	l.idle = append(l.idle, c)
}

// beginsWith reports whether tokens begin with a prefix. It compares blocks, for which the compiler has the processor's widest
// registers: a few nanoseconds for each hundred tokens, so that a token costs next to nothing in the longest conversation too.
func beginsWith(tokens, prefix []Token) bool {
	const block = 256
	if len(prefix) > len(tokens) {
		return false
	}
	// The last token first: it differs in most conversations that only begin alike.
	if n := len(prefix); n > 0 && tokens[n-1] != prefix[n-1] {
		return false
	}
	for len(prefix) >= block {
		if *(*[block]Token)(tokens) != *(*[block]Token)(prefix) {
			return false
		}
		tokens, prefix = tokens[block:], prefix[block:]
	}
	return commonPrefix(tokens, prefix) == len(prefix)
}

// copyist follows one conversation and what its answer copies.
type copyist struct {
	said *ngrams.Index[Token] // the conversation as of the last call
	copying
}

// copying says what an answer copies. The zero value copies nothing.
type copying struct {
	source   *ngrams.Index[Token] // the conversation or the corpus; nil: nothing is copied
	next     int                  // the index in source of the token that comes next if the copy goes on, which is not noToken
	followed int                  // how many tokens the answer has followed the copy for, halved for each token that it replaced
	replaced bool                 // the last token was another than the copy's
}

// read takes note of the tokens of context that the copyist has not read; those that it has are the context's first.
func (c *copyist) read(context []Token) {
	fresh := context[len(c.said.Tokens()):]
	c.said.Append(fresh...)
	for _, t := range fresh {
		c.follow(t)
	}
}

// follow compares a token of the answer with the copy.
func (c *copyist) follow(t Token) {
	if c.source == nil {
		return
	}
	expected := c.source.Tokens()[c.next]
	c.next++
	switch {
	case t == expected:
		c.followed++
		c.replaced = false
	case !c.replaced:
		c.followed /= 2
		c.replaced = true
	default:
		c.copying = copying{}
		return
	}
	if c.source.Tokens()[c.next] == noToken {
		c.copying = copying{} // a text of the corpus ends here
	}
}

// look begins another copy if a longer run of tokens agrees with the end of the conversation than the present copy's.
func (c *copyist) look(corpus *ngrams.Index[Token]) {
	source := c.said
	next, length := source.Find(c.said.Tokens())
	if n, k := corpus.Find(c.said.Tokens()); k > length {
		source, next, length = corpus, n, k
	}
	if length > c.followed {
		c.copying = copying{source: source, next: next, followed: length}
	}
}

// propose appends the next tokens of the copy, length at most.
func (c *copyist) propose(dst []Token, length int) []Token {
	if c.source == nil {
		return dst
	}
	length = min(length, 2*max(c.followed, 1))
	already := len(dst)
	for at := c.next; len(dst)-already < length; at++ {
		t := noToken
		if tokens := c.source.Tokens(); at < len(tokens) {
			t = tokens[at]
		} else if c.source == c.said {
			t = dst[already+at-len(tokens)] // the copy has reached the end of the conversation: it goes on with the proposal
		}
		if t == noToken {
			break
		}
		dst = append(dst, t)
	}
	return dst
}
