package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/antigravity-go/antigravity/llama"
)

// drafts is what proposes the tokens of an answer; the zero value proposes nothing.
type drafts struct {
	oracle int     // tokens that an oracle proposes at a time; 0: no oracle
	accept float64 // the probability with which each of them is right
	name   string  // lookup or own, if it is no oracle
}

// draftsOf reads -draft and -accept. ok is false if they say nothing that can be measured.
func draftsOf(draft, accept string) (list []drafts, ok bool) {
	switch draft {
	case "", "0":
		return nil, accept == ""
	case "lookup", "own":
		return []drafts{{name: draft}}, accept == ""
	}
	n, err := strconv.Atoi(draft)
	if err != nil || n < 0 {
		return nil, false
	}
	if accept == "" {
		accept = "1"
	}
	for field := range strings.SplitSeq(accept, ",") {
		probability, err := strconv.ParseFloat(strings.TrimSpace(field), 64)
		if err != nil || !(probability >= 0 && probability <= 1) {
			return nil, false
		}
		list = append(list, drafts{oracle: n, accept: probability})
	}
	return list, true
}

// any reports whether something is proposed.
func (d drafts) any() bool { return d != drafts{} }

// describe says what proposes, in words.
func (d drafts) describe() string {
	switch {
	case d.oracle == 0:
		return d.name
	case d.accept < 1:
		return fmt.Sprintf("%d at %g", d.oracle, d.accept)
	}
	return strconv.Itoa(d.oracle)
}

// drafter returns what proposes the tokens of a session. text is its conversation to the end.
func (d drafts) drafter(text []llama.Token, vocabulary int) llama.Drafter {
	switch d.name {
	case "lookup":
		return llama.PromptLookup(llama.LookupOptions{})
	case "own":
		return llama.SelfDraft()
	}
	return newOracle(text, d.oracle, d.accept, vocabulary)
}

// oracle is a Drafter that knows what a conversation is going to be.
type oracle struct {
	text []llama.Token // the conversation to its end, with tokens that are wrong
	most int           // tokens proposed at a time
}

// newOracle returns an oracle that is right with a probability, at each token on its own. Oracles of one text are right at the same tokens.
func newOracle(text []llama.Token, most int, right float64, vocabulary int) oracle {
	random := rand.New(rand.NewPCG(1, 2))
	text = slices.Clone(text)
	for i := range text {
		if random.Float64() >= right {
			text[i] = (text[i] + 1) % llama.Token(vocabulary)
		}
	}
	return oracle{text, most}
}

// Draft appends what comes after the context.
func (o oracle) Draft(dst, context []llama.Token) []llama.Token {
	at := min(len(context), len(o.text))
	return append(dst, o.text[at:min(at+o.most, len(o.text))]...)
}

// prepareDrafts prepares for drafts: first the answers are generated without any, for an oracle to know them, and then with drafts, for the
// sessions to find out how many are worth computing. It returns how many seconds the former took.
func prepareDrafts(ctx context.Context, list []*answerer, d drafts, vocabulary int) (plain float64, err error) {
	if plain, err = timed(ctx, list); err != nil {
		return 0, err
	}
	for _, a := range list {
		a.drafter = d.drafter(a.session.Tokens(), vocabulary)
		if err := a.rewind(ctx); err != nil {
			return 0, err
		}
	}
	if err := runAll(ctx, list, (*answerer).answer); err != nil {
		return 0, err
	}
	for _, a := range list {
		if err := a.rewind(ctx); err != nil {
			return 0, err
		}
	}
	return plain, nil
}
