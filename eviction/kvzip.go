package eviction

// Rereader is a policy that can choose by a second reading of the conversation; see llama.Session's Compress.
type Rereader interface {
	Tracker
	// Window is how many tokens of the second reading are looked at together; 0: the policy does not read again.
	Window() int
}

// Reread is a View of a cache after a second reading of its conversation.
type Reread interface {
	View
	// Reread returns the most attention that each slot got from any window of the second reading: [KVHeads][HeadLen]. The attention
	// of a window is summed over its queries, and over the query heads that share the KV head.
	Reread() [][]float32
}

// NewKVzip makes the policy of arXiv 2505.23416. The conversation is read a second time, as if the model had to repeat it word by word,
// and the slots stay that the second reading needs most. The choice does not depend on any question: a document that is compressed once
// serves all questions that come later.
//
// Example: the first reading of "the code is 3438" gives most attention to whatever the model finds important at the end. The second
// reading, at "the code is", must look at the slot of "3438" to predict it. So this slot gets a high score.
//
// Session.Compress reads again, by windows of a few tokens, which takes longer than the first reading. An eviction without a second reading, when the budget is
// passed or memory is short, chooses as SnapKV does. Differences from the authors' program: a slot's score is the most that a window of
// Options.Observation queries gives to it, where theirs is the most of a single query; and all slots compete in each head alone.
// The policy is a Rereader.
func NewKVzip(o Options) (Policy, error) {
	window := o.Observation
	if window == 0 {
		window = kvzipWindow
	}
	if window > 0 { // newSnapKV refuses negative ones
		o.Observation = max(window, kvzipRecent)
		if o.Budget > 0 { // the latest slots take no more than half of a small budget
			o.Observation = min(o.Observation, max(o.Budget/2, 1))
		}
	}
	s, err := newSnapKV("kvzip", o)
	if err != nil {
		return nil, err
	}
	scored, err := newScored(kvzipScorer{s}, o)
	if err != nil {
		return nil, err
	}
	return &kvzip{scored, min(window, s.window)}, nil
}

const (
	kvzipWindow = 8  // tokens of the second reading that are looked at together if Options.Observation is 0
	kvzipRecent = 16 // latest slots that stay, and the latest queries of an eviction without a second reading
)

// kvzip is the policy of NewKVzip.
type kvzip struct {
	*scored
	window int // 1 ≤ window ≤ the queries that the cache records
}

// Window returns the tokens of the second reading that are looked at together.
func (k *kvzip) Window() int { return k.window }

// kvzipScorer is the Scorer of KVzip.
type kvzipScorer struct{ snapKV }

// Score is what the second reading gave, or SnapKV's score if there was no second reading.
func (k kvzipScorer) Score(v View) ([][]float32, error) {
	if r, ok := v.(Reread); ok {
		return r.Reread(), nil
	}
	return k.snapKV.Score(v)
}
