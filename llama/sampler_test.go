package llama

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/fixture"
)

// drawn draws n times and returns how often each token came.
func drawn(t *testing.T, p Params, logits []float32, n int) []float64 {
	t.Helper()
	var s sampler
	s.start(p)
	counts := make([]float64, len(logits))
	for range n {
		token, err := s.choose(logits, nil)
		if err != nil {
			t.Fatal(err)
		}
		counts[token] += 1 / float64(n)
	}
	return counts
}

func TestSamplingFollowsTheDistribution(t *testing.T) {
	logits := []float32{1, 3, 2, 0, -50}
	softmax := func(temperature float64, keep ...int) []float64 {
		p, sum := make([]float64, len(logits)), 0.0
		for _, i := range keep {
			p[i] = math.Exp(float64(logits[i]) / temperature)
			sum += p[i]
		}
		for i := range p {
			p[i] /= sum
		}
		return p
	}
	all := []int{0, 1, 2, 3, 4}
	for _, c := range []struct {
		name string
		p    Params
		want []float64
	}{
		{"temperature 1", Params{Temperature: 1}, softmax(1, all...)},
		{"temperature 2", Params{Temperature: 2}, softmax(2, all...)},
		{"top-k 2", Params{Temperature: 1, TopK: 2}, softmax(1, 1, 2)},
		{"top-k beyond the vocabulary", Params{Temperature: 1, TopK: 99}, softmax(1, all...)},
		{"top-p 0.8", Params{Temperature: 1, TopP: 0.8}, softmax(1, 1, 2)}, // 0.64 + 0.24
		{"top-p tiny", Params{Temperature: 1, TopP: 1e-6}, softmax(1, 1)},
		{"min-p 0.2", Params{Temperature: 1, MinP: 0.2}, softmax(1, 1, 2)}, // e⁻¹ ≥ 0.2 > e⁻²
		{"min-p 1", Params{Temperature: 1, MinP: 1}, softmax(1, 1)},
	} {
		got := drawn(t, c.p, logits, 20000)
		for i := range got {
			if math.Abs(got[i]-c.want[i]) > 0.015 {
				t.Errorf("%s: token %d came with %.3f, want %.3f", c.name, i, got[i], c.want[i])
			}
		}
	}
}

// chooseAsAll compares draws, as they are made, with draws from the whole vocabulary in order.
func chooseAsAll(t *testing.T, name string, p Params, logits []float32) {
	t.Helper()
	var usual, all sampler
	usual.start(p)
	all.start(p)
	for i := range 10 {
		got, err := usual.choose(logits, nil)
		want, wantErr := all.pickAny(logits)
		if got != want || err != nil || wantErr != nil {
			t.Fatalf("%s, %+v, draw %d: %d, %v; want %d, %v", name, p, i, got, err, want, wantErr)
		}
	}
}

// TestFewChooseAsAll holds choices from the largest logits to those from the whole vocabulary in order, draw by draw.
func TestFewChooseAsAll(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	rows := map[string][]float32{"peaked": nil, "flat": nil, "ties": nil, "zeros": nil, "infinite": nil}
	for name := range rows {
		logits := make([]float32, 3000)
		for i := range logits {
			switch name {
			case "peaked":
				logits[i] = float32(8 * random.NormFloat64())
			case "flat":
				logits[i] = float32(random.NormFloat64() / 100)
			case "ties":
				logits[i] = float32(random.IntN(20))
			case "zeros":
				logits[i] = float32(math.Copysign(0, random.NormFloat64()))
			case "infinite":
				logits[i] = float32(math.Inf(random.IntN(2) - 1))
			}
		}
		rows[name] = logits
	}
	for name, logits := range rows {
		for _, p := range []Params{
			{TopK: 1}, {TopK: 2}, {TopK: 40}, {TopK: maxSearch}, {TopK: 40, TopP: 0.5}, {TopK: 100, TopP: 0.95}, {TopK: 40, MinP: 0.05},
			{TopK: 200, MinP: 0.3, TopP: 0.9}, {TopK: 40, TopP: 1e-6}, {TopK: 40, MinP: 1},
		} {
			for _, p.Temperature = range []float32{0.3, 1, 5} {
				p.Seed = random.Uint64()
				chooseAsAll(t, name, p, logits)
			}
		}
		var greedy sampler
		greedy.start(Params{TopK: 7})
		if got, err := greedy.choose(logits, nil); err != nil || int(got) != slices.Index(logits, slices.Max(logits)) {
			t.Errorf("%s: greedy chose %d, %v", name, got, err)
		}
	}
}

// TestRankedChooseAsAll holds draws from the likeliest tokens' probabilities to draws from the whole vocabulary in order. They
// differ only where roundings order two tokens otherwise, or a draw falls within one of a boundary, as with these seeds none does.
func TestRankedChooseAsAll(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for name, spread := range map[string]float64{"peaked": 8, "usual": 3, "flat": 0.3} {
		logits := make([]float32, 5000)
		for i := range logits {
			logits[i] = float32(spread * random.NormFloat64())
		}
		for _, p := range []Params{
			{}, {TopP: 0.9}, {TopP: 0.3}, {TopP: 1}, {TopP: 1e-6}, {MinP: 0.1}, {MinP: 1}, {MinP: 0.01, TopP: 0.8}, {TopK: 700},
			{TopK: 700, TopP: 0.9}, {TopK: 700, MinP: 0.05, TopP: 0.5}, {TopK: 5000},
		} {
			for _, p.Temperature = range []float32{0.05, 0.8, 3} {
				p.Seed = random.Uint64()
				chooseAsAll(t, name, p, logits)
			}
		}
	}
	for _, value := range []float32{float32(math.NaN()), float32(math.Inf(-1))} {
		var s sampler
		s.start(Params{Temperature: 1, TopP: 0.9})
		if _, err := s.choose([]float32{value, value, value}, nil); err == nil {
			t.Errorf("logits of %g: no error", value)
		}
	}
}

// TestChoosingDoesNotAllocate computes and chooses token after token, as an answer does.
func TestChoosingDoesNotAllocate(t *testing.T) {
	m := mustLoad(t, fixture.Path(t, "pebble/hf"), nil)
	for _, p := range []Params{
		{}, {Temperature: 1, TopK: 40}, {Temperature: 1, TopK: 40, TopP: 0.9, MinP: 0.01}, {Temperature: 1}, {Temperature: 1, TopP: 0.9}, {RepeatPenalty: 1.1},
	} {
		s := mustSession(t, m, nil)
		s.sampler.start(p)
		if err := s.Prefill(t.Context(), []Token{1}); err != nil {
			t.Fatal(err)
		}
		one := make([]Token, 1)
		next := func() {
			token, err := s.choose()
			if err != nil {
				t.Fatal(err)
			}
			one[0] = token
			if err := s.append(one[0], true, new(Stats)); err != nil {
				t.Fatal(err)
			}
		}
		for range 300 { // room in the token list, and scratch memory
			next()
		}
		if n := testing.AllocsPerRun(100, next); n != 0 {
			t.Errorf("%+v: %v allocations a token", p, n)
		}
		s.Close()
	}
}

// BenchmarkChoose chooses from a Llama 3 vocabulary on the host.
func BenchmarkChoose(b *testing.B) {
	logits := make([]float32, 128256)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range logits {
		logits[i] = float32(3 * random.NormFloat64())
	}
	for _, c := range []struct {
		name string
		p    Params
	}{
		{"greedy", Params{}}, {"top-k 40", Params{Temperature: 0.8, TopK: 40}}, {"top-p 0.9", Params{Temperature: 0.8, TopP: 0.9}},
		{"top-p 0.9, peaked", Params{Temperature: 0.4, TopP: 0.9}}, {"top-p 0.9, flat", Params{Temperature: 50, TopP: 0.9}},
	} {
		b.Run(c.name, func(b *testing.B) {
			var s sampler
			s.start(c.p)
			for b.Loop() {
				if _, err := s.choose(logits, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestSamplingRepeats(t *testing.T) {
	logits := make([]float32, 1000)
	for i := range logits {
		logits[i] = float32(i%17) / 5
	}
	sequence := func(seed uint64) (list []Token) {
		var s sampler
		s.start(Params{Temperature: 1, Seed: seed})
		for range 50 {
			token, err := s.choose(logits, list)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, token)
		}
		return list
	}
	if !slices.Equal(sequence(7), sequence(7)) {
		t.Error("the same seed gave two sequences")
	}
	if slices.Equal(sequence(7), sequence(8)) {
		t.Error("two seeds gave one sequence")
	}
}

func TestGreedyTakesTheFirstOfEquals(t *testing.T) {
	var s sampler
	s.start(Params{})
	if token, err := s.choose([]float32{0, 2, 1, 2}, nil); err != nil || token != 1 {
		t.Errorf("chose %d, %v; want 1", token, err)
	}
}

func TestPenalties(t *testing.T) {
	logits := []float32{2, 1.9, -1}
	for _, c := range []struct {
		name      string
		p         Params
		context   []Token
		generated []Token
		want      Token
	}{
		{"none", Params{}, []Token{0}, []Token{0}, 0},
		{"repeat", Params{RepeatPenalty: 1.1}, []Token{0}, nil, 1},
		{"repeat outside the window", Params{RepeatPenalty: 1.1}, append([]Token{0}, slices.Repeat([]Token{2}, penaltyWindow)...), nil, 0},
		{"presence", Params{PresencePenalty: 0.2}, nil, []Token{0}, 1},
		{"frequency, once", Params{FrequencyPenalty: 0.06}, nil, []Token{0}, 0},
		{"frequency, twice", Params{FrequencyPenalty: 0.06}, nil, []Token{0, 0}, 1},
	} {
		var s sampler
		s.start(c.p)
		for _, token := range c.generated {
			s.accept(token)
		}
		if token, err := s.choose(logits, c.context); err != nil || token != c.want {
			t.Errorf("%s: chose %d, %v; want %d", c.name, token, err, c.want)
		}
	}
	if logits[0] != 2 || logits[2] != -1 {
		t.Errorf("the model's logits were changed: %v", logits)
	}
}

// only is a mask that allows one token.
type only Token

func (o only) Apply(_ []Token, logits []float32) error {
	for i := range logits {
		if Token(i) != Token(o) {
			logits[i] = float32(math.Inf(-1))
		}
	}
	return nil
}

func TestMask(t *testing.T) {
	for _, temperature := range []float32{0, 1} {
		var s sampler
		s.start(Params{Mask: only(2), Temperature: temperature})
		if token, err := s.choose([]float32{5, 4, -30}, nil); err != nil || token != 2 {
			t.Errorf("chose %d, %v; want 2", token, err)
		}
		s.start(Params{Mask: only(9), Temperature: temperature})
		if _, err := s.choose([]float32{5, 4, -30}, nil); err == nil {
			t.Error("a mask that forbids everything is no error")
		}
	}
}

func TestDamagedLogits(t *testing.T) {
	var s sampler
	s.start(Params{Temperature: 1})
	if _, err := s.choose([]float32{1, float32(math.NaN()), 2}, nil); err == nil || !strings.Contains(err.Error(), "not numbers") {
		t.Errorf("NaN among the logits: %v", err)
	}
}

func TestParamsAreChecked(t *testing.T) {
	nan := float32(math.NaN())
	for _, p := range []Params{
		{MaxTokens: -1}, {TopK: -1}, {Temperature: -1}, {Temperature: nan}, {TopP: 2}, {TopP: nan}, {MinP: -0.1},
		{RepeatPenalty: -1}, {FrequencyPenalty: nan}, {PresencePenalty: nan}, {Logprobs: -1}, {Stop: []string{"a", ""}},
	} {
		if err := p.validate(nil); err == nil {
			t.Errorf("%+v passed", p)
		}
	}
	if err := new(Params).validate(nil); err != nil {
		t.Error(err)
	}
}

func TestLogprobs(t *testing.T) {
	logits := []float32{0, 1, 2, 1}
	got := logprobs(logits, 0, 3, &Tokenizer{vocabulary: noVocabulary{4}})
	var sum float64
	for _, l := range logits {
		sum += math.Exp(float64(l))
	}
	want := func(i int) float64 { return float64(logits[i]) - math.Log(sum) }
	if math.Abs(float64(got.Chosen.Logprob)-want(0)) > 1e-6 || got.Chosen.Token != 0 {
		t.Errorf("chosen: %v, want %.6f", got.Chosen, want(0))
	}
	var order []Token
	for _, top := range got.Top {
		order = append(order, top.Token)
		if math.Abs(float64(top.Logprob)-want(int(top.Token))) > 1e-6 {
			t.Errorf("token %d: %v, want %.6f", top.Token, top.Logprob, want(int(top.Token)))
		}
	}
	if !slices.Equal(order, []Token{2, 1, 3}) {
		t.Errorf("likeliest tokens %v, want [2 1 3]", order)
	}
}
