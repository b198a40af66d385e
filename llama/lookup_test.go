package llama

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/internal/linear"
	"github.com/antigravity-go/antigravity/internal/ngrams"
)

// naiveLookup does what PromptLookup is documented to do, and looks at every place of every text to do it.
type naiveLookup struct {
	LookupOptions
	remembered []*naiveCopy // the one used last comes last
}

// naiveCopy is what naiveLookup remembers of a conversation. text[next] comes next; text is nil when nothing is copied, and grows with the
// conversation if it is copied from there.
type naiveCopy struct {
	said     []Token
	text     *[]Token
	next     int
	followed int
	replaced bool
}

func (l *naiveLookup) draft(context []Token) (proposal []Token) {
	var c *naiveCopy
	for _, r := range l.remembered {
		if len(r.said) <= len(context) && slices.Equal(r.said, context[:len(r.said)]) && (c == nil || len(r.said) > len(c.said)) {
			c = r
		}
	}
	if c == nil {
		c = &naiveCopy{}
	}
	l.remembered = append(slices.DeleteFunc(l.remembered, func(r *naiveCopy) bool { return r == c }), c)
	if len(l.remembered) > maxCopyists {
		l.remembered = l.remembered[1:]
	}
	for len(c.said) < len(context) {
		t := context[len(c.said)]
		c.said = append(c.said, t)
		if c.text == nil {
			continue
		}
		if t == (*c.text)[c.next] {
			c.followed, c.replaced = c.followed+1, false
		} else if c.replaced {
			c.text, c.followed = nil, 0
		} else {
			c.followed, c.replaced = c.followed/2, true
		}
		if c.next++; c.text != nil && c.next == len(*c.text) {
			c.text, c.followed = nil, 0
		}
	}
	texts := []*[]Token{&c.said}
	for i := range slices.Backward(l.Corpus) { // the latest occurrence is in the last text
		texts = append(texts, &l.Corpus[i])
	}
	for n := l.Max; n >= l.Min && n > c.followed; n-- {
		if n > len(c.said) {
			continue
		}
		end := c.said[len(c.said)-n:]
	search:
		for _, text := range texts {
			for p := len(*text) - 1; p >= n; p-- {
				if slices.Equal((*text)[p-n:p], end) {
					c.text, c.next, c.followed, c.replaced = text, p, n, false
					break search
				}
			}
		}
	}
	if c.text == nil {
		return nil
	}
	source := slices.Clone(*c.text)
	for at := c.next; at < len(source) && len(proposal) < min(l.Length, 2*max(c.followed, 1)); at++ {
		proposal = append(proposal, source[at])
		if c.text == &c.said {
			source = append(source, source[at])
		}
	}
	return proposal
}

// drawTokens returns n tokens of a small vocabulary, so that runs of them recur.
func drawTokens(r *rand.Rand, n, vocabulary int) []Token {
	list := make([]Token, n)
	for i := range list {
		list[i] = Token(r.IntN(vocabulary))
	}
	return list
}

// TestPromptLookupEqualsSearch lets conversations take turns, grow by tokens of their own and by proposals, be cut back, forked and
// begun anew.
func TestPromptLookupEqualsSearch(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	proposed, copies := 0, 0
	for range 60 {
		vocabulary := 2 + r.IntN(30)
		o := LookupOptions{Min: 1 + r.IntN(3), Length: 1 + r.IntN(20)}
		o.Max = o.Min + r.IntN(4)
		for range r.IntN(4) {
			o.Corpus = append(o.Corpus, drawTokens(r, r.IntN(60), vocabulary))
		}
		drafter, naive := PromptLookup(o), naiveLookup{LookupOptions: o}
		conversations := make([][]Token, 4)
		for range 400 {
			i := r.IntN(len(conversations))
			c := conversations[i]
			got := drafter.Draft([]Token{7}, c)
			if want := naive.draft(c); got[0] != 7 || !slices.Equal(got[1:], want) {
				t.Fatalf("%+v: after %v the proposal is %v, want %v behind 7", o, c, got, want)
			}
			proposed += len(got) - 1
			switch kind := r.IntN(40); {
			case kind < 24 && len(got) > 1: // the answer follows the proposal for a while
				n := 1 + r.IntN(len(got)-1)
				c = append(c, got[1:1+n]...)
				copies += n
				fallthrough
			case kind < 34:
				c = append(c, drawTokens(r, r.IntN(3), vocabulary)...)
			case kind < 36:
				c = c[:r.IntN(len(c)+1)]
			case kind < 37: // some tokens in the middle become others
				c = slices.Clone(c)
				if len(c) > 0 {
					c[r.IntN(len(c))] = Token(r.IntN(vocabulary))
				}
			case kind < 38:
				c = slices.Clone(conversations[r.IntN(len(conversations))])
			case kind < 39:
				c = drawTokens(r, r.IntN(100), vocabulary)
			default:
				c = append(c, drawTokens(r, r.IntN(600), vocabulary)...)
			}
			conversations[i] = c
		}
	}
	if proposed == 0 || copies == 0 {
		t.Errorf("%d tokens were proposed and %d taken: the test tests nothing", proposed, copies)
	}
}

func TestPromptLookupProposes(t *testing.T) {
	for _, c := range []struct {
		name    string
		options LookupOptions
		calls   [][]Token // the last is looked at
		want    []Token
	}{
		{"nothing in an empty conversation", LookupOptions{}, [][]Token{{}}, nil},
		{"nothing where nothing recurs", LookupOptions{}, [][]Token{{1, 2, 3, 4}}, nil},
		{"nothing for one token in common", LookupOptions{}, [][]Token{{1, 2, 3, 4, 1}}, nil},
		{"twice what agrees", LookupOptions{}, [][]Token{{1, 2, 3, 4, 5, 6, 7, 1, 2}}, []Token{3, 4, 5, 6}},
		{"what one token is followed by, if asked to", LookupOptions{Min: 1}, [][]Token{{1, 2, 3, 4, 1}}, []Token{2, 3}},
		{"no more than Length", LookupOptions{Length: 3}, [][]Token{{1, 2, 3, 4, 5, 6, 7, 1, 2}}, []Token{3, 4, 5}},
		{"the latest occurrence", LookupOptions{}, [][]Token{{1, 2, 3, 3, 3, 9, 1, 2, 4, 4, 4, 1, 2}}, []Token{4, 4, 4, 1}},
		{"the longest run, not the latest", LookupOptions{}, [][]Token{{9, 1, 2, 3, 8, 1, 2, 4, 8, 9, 1, 2}}, []Token{3, 8, 1, 2, 4, 8}},
		{"a period", LookupOptions{}, [][]Token{{1, 2, 1, 2, 1, 2}}, []Token{1, 2, 1, 2, 1, 2, 1, 2}},
		{"a corpus", LookupOptions{Corpus: [][]Token{{5, 1, 2, 3}, {4}}}, [][]Token{{1, 2}}, []Token{3}},
		{"the conversation before the corpus", LookupOptions{Corpus: [][]Token{{1, 2, 3, 3}}}, [][]Token{{1, 2, 4, 4, 1, 2}}, []Token{4, 4, 1, 2}},
		{"longer runs of the corpus before the conversation", LookupOptions{Corpus: [][]Token{{9, 1, 2, 3}}}, [][]Token{{1, 2, 4, 9, 1, 2}}, []Token{3}},
		{"more when the copy is followed", LookupOptions{}, [][]Token{{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1, 2, 3, 4}}, []Token{5, 6, 7, 8, 9, 10, 1, 2}},
		{"what follows a replaced token", LookupOptions{}, [][]Token{{1, 2, 3, 4, 5, 6, 7, 8, 1, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 40}}, []Token{5, 6}},
		{"nothing after two replaced tokens", LookupOptions{}, [][]Token{{1, 2, 3, 4, 5, 6, 7, 8, 1, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 40, 50}}, nil},
		{"nothing that only another conversation said", LookupOptions{}, [][]Token{{1, 2, 3, 4}, {5, 1, 2}}, nil},
		{"nothing that was cut off", LookupOptions{}, [][]Token{{1, 2, 3, 4, 5}, {1, 2, 3}, {1, 2, 3, 7, 3, 4}}, nil},
	} {
		drafter := PromptLookup(c.options)
		var got []Token
		for _, context := range c.calls {
			got = drafter.Draft(nil, context)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestPromptLookupIsShared runs conversations at once that each get what they would get alone, and more of them than are remembered,
// which may get less.
func TestPromptLookupIsShared(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	o := LookupOptions{Corpus: [][]Token{drawTokens(r, 500, 20)}}
	for _, n := range []int{maxCopyists, 2 * maxCopyists} {
		shared := PromptLookup(o)
		var all sync.WaitGroup
		for i := range n {
			context := append([]Token{Token(1000 + i)}, drawTokens(r, 300, 20)...)
			all.Go(func() {
				alone := PromptLookup(o)
				var got, want []Token
				for end := 100; end <= len(context); end++ {
					got, want = shared.Draft(got[:0], context[:end]), alone.Draft(want[:0], context[:end])
					if n <= maxCopyists && !slices.Equal(got, want) {
						t.Errorf("conversation %d of %d after %d tokens: %v, want %v as it gets alone", i, n, end, got, want)
						return
					}
				}
			})
		}
		all.Wait()
		if got := len(shared.(*lookup).idle); got != maxCopyists {
			t.Errorf("%d conversations are remembered of %d, want %d", got, n, maxCopyists)
		}
	}
}

func TestPromptLookupDoesNotAllocate(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	context := drawTokens(r, 4000, 40)
	drafter := PromptLookup(LookupOptions{Corpus: [][]Token{drawTokens(r, 1000, 40)}})
	dst := make([]Token, 0, 48)
	end := 1000
	drafter.Draft(dst, context[:end])
	if n := testing.AllocsPerRun(900, func() { // up to twice the tokens of the first call no memory grows
		end++
		drafter.Draft(dst, context[:end])
	}); n != 0 {
		t.Errorf("%g allocations a call, want none", n)
	}
}

// TestPromptLookupIsLinear reads and drafts token by token. Drafter.Draft itself compares the tokens that it knows, which is quick
// but not linear.
func TestPromptLookupIsLinear(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for name, context := range map[string][]Token{
		"few tokens":  drawTokens(r, 20_000, 2),
		"many tokens": drawTokens(r, 20_000, 1000),
		"one token":   make([]Token, 20_000),
	} {
		t.Run(name, func(t *testing.T) {
			none := ngrams.New[Token](2, 4)
			var dst []Token
			linear.Check(t, len(context), func(n int) {
				c := &copyist{said: ngrams.New[Token](2, 4)}
				for end := range n {
					c.read(context[:end])
					c.look(none)
					dst = c.propose(dst[:0], 48)
				}
			})
		})
	}
}

// conversations returns prompts and answers of Flint's held-out conversations of one skill, in tokens; answers end with the end of the turn.
func conversations(t testing.TB, skill string) (prompts, answers [][]Token) {
	t.Helper()
	tokenizer, err := LoadTokenizer(filepath.Join("flint", "flint-Q4_0.gguf"))
	if err != nil {
		t.Fatal(err)
	}
	end, ok := tokenizer.ID("<|eot_id|>")
	if !ok {
		t.Fatal("Flint's vocabulary has no <|eot_id|>")
	}
	f, err := os.Open(fixture.Path(t, "flint/eval.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c struct {
			Skill    string
			Messages [][2]string
		}
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		if c.Skill != skill {
			continue
		}
		var history []Message
		for _, m := range c.Messages {
			history = append(history, Message{Role: m[0], Content: m[1]})
		}
		last := len(history) - 1
		prompt, err := tokenizer.Template(history[:last], TemplateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		prompts, answers = append(prompts, prompt), append(answers, append(tokenizer.Encode(history[last].Content), end))
	}
	if err := lines.Err(); err != nil || len(prompts) == 0 {
		t.Fatalf("%d conversations are of the skill %s, want some: %v", len(prompts), skill, err)
	}
	return prompts, answers
}

// TestPromptLookupOnEdits takes the reference answers for the model's: a step takes the token that was chosen and those of the
// proposal that agree with the answer.
func TestPromptLookupOnEdits(t *testing.T) {
	prompts, answers := conversations(t, "edit")
	steps, tokens, proposed := 0, 0, 0
	drafter := PromptLookup(LookupOptions{})
	for i, answer := range answers {
		context := slices.Concat(prompts[i], answer)
		for at := len(prompts[i]); at < len(context)-1; { // context[at] was chosen
			at++
			draft := drafter.Draft(nil, context[:at])
			if n := slices.Index(draft, answer[len(answer)-1]); n >= 0 {
				draft = draft[:n+1]
			}
			taken := commonPrefix(draft, context[at:])
			at += taken
			steps, tokens, proposed = steps+1, tokens+taken+1, proposed+len(draft)
		}
	}
	perStep, agreed := float64(tokens)/float64(steps), float64(tokens-steps)/float64(proposed)
	t.Logf("%d answers: %.2f tokens a step, %.2f of the %d proposed agree", len(answers), perStep, agreed, proposed)
	if perStep < 16 || agreed < 0.8 { // 17.2 and 0.83 were measured
		t.Errorf("%.2f tokens a step and %.2f of the proposals agree, want 16 and 0.8", perStep, agreed)
	}
}

func BenchmarkPromptLookup(b *testing.B) {
	for _, n := range []int{512, 4096, 131072} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			context := drawTokens(rand.New(rand.NewPCG(9, 10)), 2*n, 1000)
			drafter := PromptLookup(LookupOptions{})
			var dst []Token
			drafter.Draft(dst, context[:n])
			end := n
			b.ReportAllocs()
			for b.Loop() {
				if end++; end > len(context) {
					end = n + 1
				}
				dst = drafter.Draft(dst[:0], context[:end])
			}
		})
	}
}
