package sampling

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/effort"
)

// drawn draws n times and returns how often each token came.
func drawn(t *testing.T, p Options, logits []float32, n int) []float64 {
	t.Helper()
	var s Sampler
	s.Start(p)
	counts := make([]float64, len(logits))
	for range n {
		token, err := s.Choose(logits, nil)
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
		p    Options
		want []float64
	}{
		{"temperature 1", Options{Temperature: 1}, softmax(1, all...)},
		{"temperature 2", Options{Temperature: 2}, softmax(2, all...)},
		{"top-k 2", Options{Temperature: 1, TopK: 2}, softmax(1, 1, 2)},
		{"top-k beyond the vocabulary", Options{Temperature: 1, TopK: 99}, softmax(1, all...)},
		{"top-p 0.8", Options{Temperature: 1, TopP: 0.8}, softmax(1, 1, 2)}, // 0.64 + 0.24
		{"top-p tiny", Options{Temperature: 1, TopP: 1e-6}, softmax(1, 1)},
		{"min-p 0.2", Options{Temperature: 1, MinP: 0.2}, softmax(1, 1, 2)}, // e⁻¹ ≥ 0.2 > e⁻²
		{"min-p 1", Options{Temperature: 1, MinP: 1}, softmax(1, 1)},
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
func chooseAsAll(t *testing.T, name string, p Options, logits []float32) {
	t.Helper()
	var usual, all Sampler
	usual.Start(p)
	all.Start(p)
	for i := range 10 {
		got, err := usual.Choose(logits, nil)
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
		for _, p := range []Options{
			{TopK: 1}, {TopK: 2}, {TopK: 40}, {TopK: maxSearch}, {TopK: 40, TopP: 0.5}, {TopK: 100, TopP: 0.95}, {TopK: 40, MinP: 0.05},
			{TopK: 200, MinP: 0.3, TopP: 0.9}, {TopK: 40, TopP: 1e-6}, {TopK: 40, MinP: 1},
		} {
			for _, p.Temperature = range []float32{0.3, 1, 5} {
				p.Seed = random.Uint64()
				chooseAsAll(t, name, p, logits)
			}
		}
		var greedy Sampler
		greedy.Start(Options{TopK: 7})
		if got, err := greedy.Choose(logits, nil); err != nil || int(got) != slices.Index(logits, slices.Max(logits)) {
			t.Errorf("%s: greedy chose %d, %v", name, got, err)
		}
	}
}

// TestRankedChooseAsAll holds draws from the likeliest tokens' probabilities to draws from the whole vocabulary in order. They differ only
// where roundings order two tokens otherwise, or a draw falls within a rounding error of a boundary, which does not happen with these
// seeds.
func TestRankedChooseAsAll(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for name, spread := range map[string]float64{"peaked": 8, "usual": 3, "flat": 0.3} {
		logits := make([]float32, 5000)
		for i := range logits {
			logits[i] = float32(spread * random.NormFloat64())
		}
		for i, p := range []Options{
			{}, {TopP: 0.9}, {TopP: 0.3}, {TopP: 1}, {TopP: 1e-6}, {MinP: 0.1}, {MinP: 1}, {MinP: 0.01, TopP: 0.8}, {TopK: 700},
			{TopK: 700, TopP: 0.9}, {TopK: 700, MinP: 0.05, TopP: 0.5}, {TopK: 5000},
		} {
			for j, temperature := range []float32{0.05, 0.8, 3} {
				if !effort.Share(i+j, 3) {
					continue
				}
				p.Temperature = temperature
				p.Seed = random.Uint64()
				chooseAsAll(t, name, p, logits)
			}
		}
	}
	for _, value := range []float32{float32(math.NaN()), float32(math.Inf(-1))} {
		var s Sampler
		s.Start(Options{Temperature: 1, TopP: 0.9})
		if _, err := s.Choose([]float32{value, value, value}, nil); err == nil {
			t.Errorf("logits of %g: no error", value)
		}
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
		p    Options
	}{
		{"greedy", Options{}}, {"top-k 40", Options{Temperature: 0.8, TopK: 40}}, {"top-p 0.9", Options{Temperature: 0.8, TopP: 0.9}},
		{"top-p 0.9, peaked", Options{Temperature: 0.4, TopP: 0.9}}, {"top-p 0.9, flat", Options{Temperature: 50, TopP: 0.9}},
	} {
		b.Run(c.name, func(b *testing.B) {
			var s Sampler
			s.Start(c.p)
			for b.Loop() {
				if _, err := s.Choose(logits, nil); err != nil {
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
	sequence := func(seed uint64) (list []int32) {
		var s Sampler
		s.Start(Options{Temperature: 1, Seed: seed})
		for range 50 {
			token, err := s.Choose(logits, list)
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
	var s Sampler
	s.Start(Options{})
	if token, err := s.Choose([]float32{0, 2, 1, 2}, nil); err != nil || token != 1 {
		t.Errorf("chose %d, %v; want 1", token, err)
	}
}

func TestPenalties(t *testing.T) {
	logits := []float32{2, 1.9, -1}
	for _, c := range []struct {
		name      string
		p         Options
		context   []int32
		generated []int32
		want      int32
	}{
		{"none", Options{}, []int32{0}, []int32{0}, 0},
		{"repeat", Options{RepeatPenalty: 1.1}, []int32{0}, nil, 1},
		{"repeat outside the window", Options{RepeatPenalty: 1.1}, append([]int32{0}, slices.Repeat([]int32{2}, penaltyWindow)...), nil, 0},
		{"presence", Options{PresencePenalty: 0.2}, nil, []int32{0}, 1},
		{"frequency, once", Options{FrequencyPenalty: 0.06}, nil, []int32{0}, 0},
		{"frequency, twice", Options{FrequencyPenalty: 0.06}, nil, []int32{0, 0}, 1},
	} {
		var s Sampler
		s.Start(c.p)
		for _, token := range c.generated {
			s.Accept(token)
		}
		if token, err := s.Choose(logits, c.context); err != nil || token != c.want {
			t.Errorf("%s: chose %d, %v; want %d", c.name, token, err, c.want)
		}
	}
	if logits[0] != 2 || logits[2] != -1 {
		t.Errorf("the model's logits were changed: %v", logits)
	}
}

func TestMask(t *testing.T) {
	for _, temperature := range []float32{0, 1} {
		var s Sampler
		s.Start(Options{Mask: only(2), Temperature: temperature})
		if token, err := s.Choose([]float32{5, 4, -30}, nil); err != nil || token != 2 {
			t.Errorf("chose %d, %v; want 2", token, err)
		}
		s.Start(Options{Mask: only(9), Temperature: temperature})
		if _, err := s.Choose([]float32{5, 4, -30}, nil); err == nil {
			t.Error("a mask that forbids everything is no error")
		}
	}
}

func TestDamagedLogits(t *testing.T) {
	var s Sampler
	s.Start(Options{Temperature: 1})
	if _, err := s.Choose([]float32{1, float32(math.NaN()), 2}, nil); err == nil || !strings.Contains(err.Error(), "not numbers") {
		t.Errorf("NaN among the logits: %v", err)
	}
}

// TestNothingUnlikelyIsDrawn draws with the largest random number and weights with a rounded sum: a weight of 0 is never drawn.
func TestNothingUnlikelyIsDrawn(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const largest = 1 - 1./(1<<53)
	var s Sampler
	for range 20000 {
		weights := make([]float32, 1+random.IntN(12))
		for i := range weights {
			weights[i] = float32(math.Exp(-30 * random.Float64())) // so that the order of additions matters
		}
		slices.SortFunc(weights, func(a, b float32) int { return int(math.Copysign(1, float64(b-a))) })
		likely := len(weights)
		weights = append(weights, 0, 0)
		for _, whole := range []float64{0, 1} {
			if i, ok := s.among(weights, whole, largest, true); i >= likely || !ok {
				t.Fatalf("drew %d of %v", i, weights)
			}
		}
		random.Shuffle(len(weights), func(i, j int) { weights[i], weights[j] = weights[j], weights[i] })
		if i := s.amongAll(weights, largest); weights[i] == 0 {
			t.Fatalf("drew %d of all of %v", i, weights)
		}
	}
}

// only returns a mask that allows one token.
func only(token int) func([]int32, []float32) error {
	return func(_ []int32, logits []float32) error {
		for i := range logits {
			if i != token {
				logits[i] = float32(math.Inf(-1))
			}
		}
		return nil
	}
}
