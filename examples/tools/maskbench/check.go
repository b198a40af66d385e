package main

import (
	"bytes"
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"

	"github.com/antigravity-go/antigravity/llama"
)

// checker checks that a matcher does not contradict itself, at each position of a document:
//
//   - A token, drawn or one with which the document goes on, is in the set of Allowed exactly if a clone accepts it.
//   - Something is possible, and no special token is allowed.
//   - If Forced foretells a text, each allowed token is a beginning of this text or begins with it, and the answer cannot end.
type checker struct {
	tokenizer *llama.Tokenizer
	set       *llama.TokenSet
	again     *llama.TokenSet
	random    *rand.Rand
	drawn     int // tokens a position
}

// follow checks all positions of a document, and returns the one with an error.
func (c *checker) follow(m llama.Matcher, document []llama.Token) (int, error) {
	for at := 0; ; at++ {
		if err := c.position(m); err != nil {
			return at, err
		}
		if at == len(document) {
			return at, nil
		}
		if err := c.forced(m); err != nil {
			return at, err
		}
		if err := m.Accept(document[at]); err != nil {
			return at, fmt.Errorf("a clone refuses what the matcher accepted: %w", err)
		}
	}
}

// position compares Allowed and Accept.
func (c *checker) position(m llama.Matcher) error {
	if err := m.Allowed(c.set); err != nil {
		return err
	}
	if err := wellFormed(c.set); err != nil {
		return err
	}
	members := 0
	for _, w := range c.set.Words() {
		members += bits.OnesCount64(w)
	}
	if members == 0 && !c.set.End() {
		return errors.New("stuck: no token is allowed, nor the end")
	}
	for i := range c.drawn {
		t := llama.Token(c.random.IntN(c.set.Size()))
		if i%2 == 1 && members > 0 {
			t = nthToken(c.set, c.random.IntN(members))
		}
		has, err := c.set.Has(t), m.Clone().Accept(t)
		switch text := c.tokenizer.AppendBytes(nil, t); {
		case has && c.tokenizer.Special(t):
			return fmt.Errorf("the special token %d %q is allowed", t, text)
		case has && err != nil:
			return fmt.Errorf("token %d %q is in the set, and Accept says %w", t, text, err)
		case !has && err == nil:
			return fmt.Errorf("token %d %q is not in the set, and accepted", t, text)
		}
	}
	// Clones must have left the matcher as it was.
	if err := m.Allowed(c.again); err != nil {
		return err
	}
	if c.again.End() != c.set.End() || !slices.Equal(c.again.Words(), c.set.Words()) {
		return errors.New("the set of allowed tokens is another one after a clone has accepted a token")
	}
	return nil
}

// forced follows a clone along the tokens that Forced foretells.
func (c *checker) forced(m llama.Matcher) error {
	tokens := m.Forced(nil)
	if len(tokens) == 0 {
		return nil
	}
	var text []byte
	for _, t := range tokens {
		text = c.tokenizer.AppendBytes(text, t)
	}
	m = m.Clone()
	for i, t := range tokens {
		if err := m.Allowed(c.again); err != nil {
			return err
		}
		if c.again.End() {
			return fmt.Errorf("%q is forced, and the answer may end before %q", text, text)
		}
		if !c.again.Has(t) {
			return fmt.Errorf("%q is forced, and its token %d is not allowed", text, i)
		}
		var other []byte
		for s := range members(c.again) {
			other = c.tokenizer.AppendBytes(other[:0], s)
			if !bytes.HasPrefix(text, other) && !bytes.HasPrefix(other, text) {
				return fmt.Errorf("%q is forced, and token %d %q is allowed", text, s, other)
			}
		}
		if err := m.Accept(t); err != nil {
			return fmt.Errorf("%q is forced: %w", text, err)
		}
		text = text[len(c.tokenizer.AppendBytes(nil, t)):]
	}
	return nil
}

// wellFormed checks a set's invariant.
func wellFormed(s *llama.TokenSet) error {
	if last := s.Size() % 64; last != 0 && s.Words()[len(s.Words())-1]>>last != 0 {
		return errors.New("the set has bits beyond its size")
	}
	return nil
}

// nthToken returns the n-th token of a set, counted from 0.
func nthToken(s *llama.TokenSet, n int) llama.Token {
	for t := range members(s) {
		if n == 0 {
			return t
		}
		n--
	}
	panic("the set has fewer tokens")
}

// members ranges over the tokens of a set.
func members(s *llama.TokenSet) func(yield func(llama.Token) bool) {
	return func(yield func(llama.Token) bool) {
		for i, w := range s.Words() {
			for ; w != 0; w &= w - 1 {
				if !yield(llama.Token(64*i + bits.TrailingZeros64(w))) {
					return
				}
			}
		}
	}
}
