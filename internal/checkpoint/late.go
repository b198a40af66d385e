package checkpoint

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/unsupported"
)

// Models of late interaction (ColBERT, arXiv 2004.12832) make a vector of each token, and not one of a text. PyLate saves their folders: modules.json has a
// transformer and dense layers without a pooling, and config_sentence_transformers.json the rest. For example,
//
//	"query_prefix": "[Q] ", "query_length": 32              Query{"[Q] ", 32}: a token after a text's first one, and how many tokens there are in all
//	"document_prefix": "[D] ", "document_length": 300       Document{"[D] ", 300}
//	"do_query_expansion": true                              Expands: a query is filled up with the mask, and every mask has a vector
//	"attend_to_expansion_tokens": false                     the other tokens do not see these masks, and neither do the masks themselves
//	"skiplist_words": ["!", "?", …]                         Skip: tokens of documents that have no vectors
//
// tokenizer_config.json names the mask: mask_token or, without one, eos_token or pad_token.

// Late says how a model makes vectors of tokens.
type Late struct {
	Query, Document LateSide
	Expands         bool     // queries are filled up to their length
	Attends         bool     // the tokens of a query see those that it is filled up with
	Skip            []string // tokens of documents that have no vectors
	Mask            string   // the token that queries are filled up with; "": the files do not name it
}

// LateSide is one of the two sides of a search.
type LateSide struct {
	Prefix string // the token after the first one; "": there is no such token
	Length int    // the most tokens, those around the text and the prefix included
}

// punctuation are the signs of ASCII: their tokens have no vectors if the files do not say which.
const punctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"

// latePackage begins the types of PyLate's modules.
const latePackage = "pylate.models."

// newLate returns what PyLate makes of files that say nothing.
func newLate(mask string) *Late {
	return &Late{Query: LateSide{"[Q] ", 32}, Document: LateSide{"[D] ", 180}, Expands: true, Skip: strings.Split(punctuation, ""), Mask: mask}
}

// read reads PyLate's settings.
func (l *Late) read(s settings) error {
	for key, into := range map[string]any{
		"query_prefix": &l.Query.Prefix, "document_prefix": &l.Document.Prefix, "do_query_expansion": &l.Expands,
		"attend_to_expansion_tokens": &l.Attends, "skiplist_words": &l.Skip,
	} {
		if _, err := s.take(key, into); err != nil {
			return err
		}
	}
	for key, into := range map[string]*int{"query_length": &l.Query.Length, "document_length": &l.Document.Length} {
		n := float64(*into)
		if _, err := s.take(key, &n); err != nil {
			return err
		}
		if !(n >= 1 && n <= model.MaxContext) || n != math.Trunc(n) {
			return fmt.Errorf("%s is %g, not a number of tokens", key, n)
		}
		*into = int(n)
	}
	return s.only("similarity_fn_name", "MaxSim")
}

// fit refuses a model that makes no vectors of tokens.
func (l *Late) fit(c *model.Config) error {
	switch {
	case !c.Whole:
		return unsupported.Errorf("vectors of tokens are implemented for models that read a text as a whole")
	case l.Expands && l.Mask == "":
		return unsupported.Errorf("queries are filled up with a mask, and %s names no mask_token", TokenizerConfigFile)
	case l.Query.Length > c.ContextLength || l.Document.Length > c.ContextLength:
		return fmt.Errorf("query_length is %d and document_length %d; the model takes %d tokens", l.Query.Length, l.Document.Length, c.ContextLength)
	}
	return nil
}

// readMask notes the token that stands for a text's masked ones, or what takes its place.
func (p *Pipeline) readMask(s settings) error {
	var mask, end, pad tokenText
	for key, into := range map[string]*tokenText{"mask_token": &mask, "eos_token": &end, "pad_token": &pad} {
		if _, err := s.take(key, into); err != nil {
			return err
		}
	}
	p.mask = string(cmp.Or(mask, end, pad))
	return nil
}
