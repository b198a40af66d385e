package receipt_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/antigravity-go/antigravity/eviction"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/constrain"
	"github.com/antigravity-go/antigravity/llama/flint"
	"github.com/antigravity-go/antigravity/llama/pebble"
	"github.com/antigravity-go/antigravity/llama/receipt"
	"github.com/antigravity-go/antigravity/tensor"
)

var update = flag.Bool("update-receipts", false, "write testdata/receipts.jsonl again")

var (
	loadFlint  = sync.OnceValues(func() (*llama.Model, error) { return flint.Load(nil) })
	loadPebble = sync.OnceValues(func() (*llama.Model, error) { return pebble.Load(nil) })
)

func model(t testing.TB, load func() (*llama.Model, error)) *llama.Model {
	t.Helper()
	m, err := load()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// question renders a question to tokens.
func question(t testing.TB, m *llama.Model, text string, o llama.TemplateOptions) []llama.Token {
	t.Helper()
	prompt, err := m.Tokenizer().Template([]llama.Message{{Role: llama.RoleUser, Content: text}}, o)
	if err != nil {
		t.Fatal(err)
	}
	return prompt
}

// made answers a prompt with a new pool, and returns the answer's receipt.
func made(t testing.TB, m *llama.Model, prompt []llama.Token, p llama.Params, o *receipt.Options) *receipt.Receipt {
	t.Helper()
	var session llama.SessionOptions
	if o != nil && o.Session != nil {
		session = *o.Session
	}
	pool, err := m.NewPool(&llama.PoolOptions{Session: session})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	recorder, err := receipt.New(m, prompt, &p, o)
	if err != nil {
		t.Fatal(err)
	}
	pieces := pool.Answer(t.Context(), prompt, p)
	if o != nil && o.Kind == receipt.Text {
		pieces = pool.Generate(t.Context(), prompt, p)
	}
	if _, err := llama.Collect(recorder.Watch(pieces)); err != nil {
		t.Fatal(err)
	}
	r, err := recorder.Receipt(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// text returns a receipt's JSON.
func text(t testing.TB, r *receipt.Receipt) []byte {
	t.Helper()
	b, err := r.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var weather = json.RawMessage(`{"type":"function","function":{"name":"get_weather","description":"Tells the weather in a city.","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}}`)

// cases are answers of all kinds that a receipt can be of.
func cases(t testing.TB) map[string]*receipt.Receipt {
	small, tools := model(t, loadPebble), model(t, loadFlint)
	offers := llama.TemplateOptions{Tools: []json.RawMessage{weather}}
	return map[string]*receipt.Receipt{
		"greedy": made(t, small, question(t, small, "What is the capital of Japan?", llama.TemplateOptions{}), llama.Params{}, nil),
		"drawn": made(t, small, question(t, small, "Tell me a story about a fox.", llama.TemplateOptions{}), llama.Params{
			MaxTokens: 24, Temperature: 0.9, TopP: 0.95, TopK: 50, MinP: 0.01, RepeatPenalty: 1.1, FrequencyPenalty: 0.1, PresencePenalty: 0.2, Seed: math.MaxUint64,
			LogitBias: map[llama.Token]float32{7: -2.5, 5: float32(math.Inf(-1))},
		}, nil),
		"stopped": made(t, small, question(t, small, "Tell me a story about a fox.", llama.TemplateOptions{}),
			llama.Params{MaxTokens: 40, Stop: []string{".", "\u2028<&>\x01\\"}, Draft: llama.PromptLookup(llama.LookupOptions{})}, nil),
		"continued": made(t, small, small.Tokenizer().EncodeSpecial("The capital of", true), llama.Params{MaxTokens: 8},
			&receipt.Options{Kind: receipt.Text, Session: &llama.SessionOptions{KV: tensor.Q8_0, Capacity: 64}}),
		"call": made(t, tools, question(t, tools, "What is the weather in Paris?", offers), llama.Params{Template: offers}, nil),
	}
}

// TestReceipts writes receipts, reads them, and computes their answers again. Those of testdata were made on another kind of processor, or by a version
// of before: they hold on each.
func TestReceipts(t *testing.T) {
	all := cases(t)
	var file []byte
	for _, name := range slices.Sorted(maps.Keys(all)) {
		r := all[name]
		written := text(t, r)
		file = append(append(file, written...), '\n')
		again, err := receipt.Parse(written)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if b := text(t, again); !bytes.Equal(b, written) {
			t.Errorf("%s: read and written, the receipt is\n%s, and was\n%s", name, b, written)
		}
		if name == "call" && again.Statement.Answer.Calls == "" || name == "stopped" && again.Statement.Answer.StopString == "" {
			t.Errorf("%s: the answer is %+v", name, again.Statement.Answer)
		}
	}
	const golden = "testdata/receipts.jsonl"
	if *update {
		if err := os.WriteFile(golden, file, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	file, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSpace(file), []byte("\n"))
	if len(lines) != len(all) {
		t.Errorf("%s has %d receipts, want %d", golden, len(lines), len(all))
	}
	for _, line := range lines {
		r, err := receipt.Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		m := model(t, loadPebble)
		if r.Statement.Parameters.Tools != nil {
			m = model(t, loadFlint)
		}
		if err := receipt.Verify(t.Context(), m, r); err != nil {
			t.Errorf("a receipt of %+v: %v", r.Statement.Made, err)
		}
	}
}

// TestAdapters has an adapter in a receipt: it holds with that adapter only.
func TestAdapters(t *testing.T) {
	m := model(t, loadPebble)
	a, err := m.LoadAdapter("../testdata/adapter")
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	prompt := question(t, m, "What is 3 + 4?", llama.TemplateOptions{})
	r := made(t, m, prompt, llama.Params{MaxTokens: 8, Adapter: a, AdapterScale: 0.5}, nil)
	if err := receipt.VerifyWith(t.Context(), m, r, receipt.VerifyOptions{Adapter: a}); err != nil {
		t.Error(err)
	}
	var mismatch *receipt.Mismatch
	if err := receipt.Verify(t.Context(), m, r); !errors.As(err, &mismatch) || mismatch.Differences[0].Field != "adapter.fingerprint" {
		t.Errorf("without the adapter: %v", err)
	}
	off := made(t, m, prompt, llama.Params{MaxTokens: 8}, &receipt.Options{Session: &llama.SessionOptions{Adapter: a, AdapterScale: llama.AdapterOff}})
	if err := receipt.VerifyWith(t.Context(), m, off, receipt.VerifyOptions{Adapter: a}); err != nil {
		t.Error(err)
	}
}

// walk calls f for each value of a JSON tree that is no object and no list, with its path and with what puts another in its place.
func walk(at string, value any, set func(any), f func(at string, value any, set func(any))) {
	switch v := value.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			walk(at+"."+k, v[k], func(to any) { v[k] = to }, f)
		}
	case []any:
		for i := range v {
			walk(fmt.Sprintf("%s[%d]", at, i), v[i], func(to any) { v[i] = to }, f)
		}
	default:
		f(at, value, set)
	}
}

// altered returns a value that differs a little, and has the same form.
func altered(value any) any {
	switch v := value.(type) {
	case float64:
		return v + 1
	case bool:
		return !v
	case string:
		b := []byte(v)
		switch i := len(b) - 1; {
		case i < 0:
			return "1"
		case b[i] == '1':
			b[i] = '2'
		default:
			b[i] = '1'
		}
		return string(b)
	}
	return value
}

// TestAltered alters a signed receipt: each bit of it, and each field with the digest put right. Nothing that was altered passes both checks.
func TestAltered(t *testing.T) {
	m := model(t, loadPebble)
	r := made(t, m, question(t, m, "What is the capital of Japan?", llama.TemplateOptions{}), llama.Params{
		MaxTokens: 12, Temperature: 0.7, TopP: 0.9, Seed: 3, Stop: []string{"!"}, LogitBias: map[llama.Token]float32{9: 1},
		Template: llama.TemplateOptions{Thinking: llama.Thinking{Budget: 5, Enabled: new(bool)}},
	}, nil)
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Sign(private); err != nil {
		t.Fatal(err)
	}
	good := text(t, r)
	judge := func(b []byte) error {
		r, err := receipt.Parse(b)
		if err != nil {
			return err
		}
		return r.CheckSignature(public)
	}
	if err := judge(good); err != nil {
		t.Fatal(err)
	}
	for i := range good {
		for bit := range 8 {
			b := bytes.Clone(good)
			b[i] ^= 1 << bit
			if judge(b) == nil && !bytes.Equal(bytes.TrimSpace(b), good) {
				t.Fatalf("bit %d of byte %d: %s passes", bit, i, b)
			}
		}
		if judge(good[:i]) == nil {
			t.Fatalf("%d of %d bytes pass", i, len(good))
		}
	}
	var tree map[string]any
	if err := json.Unmarshal(good, &tree); err != nil {
		t.Fatal(err)
	}
	delete(tree, "signature")
	statement := tree["statement"].(map[string]any)
	statement["parameters"].(map[string]any)["seed"] = "3"
	fields := 0
	walk("", statement, nil, func(at string, value any, set func(any)) {
		fields++
		set(altered(value))
		defer set(value)
		inner, err := json.Marshal(statement)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(inner)
		tree["digest"] = "sha256:" + hex.EncodeToString(sum[:])
		b, err := json.Marshal(tree)
		if err != nil {
			t.Fatal(err)
		}
		forged, err := receipt.Parse(b)
		if err != nil {
			return // such as another format
		}
		forged.Signature = r.Signature
		if forged.CheckSignature(public) == nil {
			t.Errorf("%s altered: the signature still holds", at)
		}
		err = receipt.Verify(t.Context(), m, forged)
		named := strings.TrimPrefix(at, ".")
		switch {
		case strings.HasPrefix(at, ".made"), strings.HasPrefix(at, ".parameters"), strings.HasPrefix(at, ".cache"):
			// What made it is not computed, and parameters that give the same answer give a receipt that is true.
		case err == nil:
			t.Errorf("%s altered: the receipt still holds", at)
		case !strings.Contains(err.Error(), named):
			t.Errorf("%s altered: %v does not name it", at, err)
		}
	})
	if fields < 25 {
		t.Errorf("only %d fields were altered", fields)
	}
	one := *r
	one.Answer = slices.Clone(r.Answer)
	one.Answer[2] ^= 1
	if err := receipt.Verify(t.Context(), m, &one); err == nil || !strings.Contains(err.Error(), "altered") {
		t.Errorf("another token: %v", err)
	}
}

// TestParameters alters parameters on which answers depend: the first token that differs is named.
func TestParameters(t *testing.T) {
	m := model(t, loadPebble)
	r := made(t, m, question(t, m, "Tell me a story about a fox.", llama.TemplateOptions{}), llama.Params{MaxTokens: 16, Temperature: 1.5, Seed: 3}, nil)
	other := made(t, m, r.Prompt, llama.Params{MaxTokens: 16, Temperature: 1.5, Seed: 4}, nil)
	other.Statement.Parameters.Seed = 3
	forge(t, other)
	var mismatch *receipt.Mismatch
	err := receipt.Verify(t.Context(), m, other)
	if !errors.As(err, &mismatch) || len(mismatch.Differences) != 1 || !strings.HasPrefix(mismatch.Differences[0].Field, "answer[") {
		t.Errorf("another seed: %v", err)
	}
	sealed := r.Sealed()
	if err := receipt.Verify(t.Context(), m, sealed); err == nil || !strings.Contains(err.Error(), "sealed") {
		t.Errorf("a sealed receipt: %v", err)
	}
	sealed.Prompt = r.Prompt
	if err := receipt.Verify(t.Context(), m, sealed); err != nil {
		t.Errorf("a sealed receipt with its prompt: %v", err)
	}
	short := *r
	short.Answer = r.Answer[:4]
	short.Statement.Answer.Count = 4
	forge(t, &short)
	if err := receipt.Verify(t.Context(), m, &short); err == nil {
		t.Error("a part of the answer passes")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := receipt.Verify(ctx, m, r); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
	if err := receipt.Verify(t.Context(), model(t, loadFlint), r); !errors.As(err, &mismatch) || mismatch.Differences[0].Field != "model" {
		t.Errorf("another model: %v", err)
	}
}

// forge puts the digests of a receipt right that somebody has altered.
func forge(t testing.TB, r *receipt.Receipt) {
	t.Helper()
	tokens := func(list []llama.Token) string {
		h := sha256.New()
		for _, v := range list {
			h.Write([]byte{byte(v), byte(v >> 8), byte(v >> 16), byte(v >> 24)})
		}
		return "sha256:" + hex.EncodeToString(h.Sum(nil))
	}
	r.Statement.Prompt.Tokens, r.Statement.Answer.Tokens = tokens(r.Prompt), tokens(r.Answer)
	var tree struct{ Statement json.RawMessage }
	if err := json.Unmarshal(text(t, r), &tree); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(tree.Statement)
	r.Digest = "sha256:" + hex.EncodeToString(sum[:])
}

// TestSignatures signs with keys of each kind.
func TestSignatures(t *testing.T) {
	m := model(t, loadPebble)
	r := made(t, m, question(t, m, "What is 3 + 4?", llama.TemplateOptions{}), llama.Params{MaxTokens: 4}, nil)
	_, edwards, err1 := ed25519.GenerateKey(rand.Reader)
	curve, err2 := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	long, err3 := rsa.GenerateKey(rand.Reader, 2048)
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	signers := []crypto.Signer{edwards, curve, long}
	if err := r.CheckSignature(edwards.Public()); err == nil {
		t.Error("a receipt without a signature passes")
	}
	for i, s := range signers {
		if err := r.Sign(s); err != nil {
			t.Fatal(err)
		}
		read, err := receipt.Parse(text(t, r))
		if err != nil {
			t.Fatal(err)
		}
		if err := read.CheckSignature(s.Public()); err != nil {
			t.Error(err)
		}
		if err := read.Sealed().CheckSignature(s.Public()); err != nil {
			t.Errorf("sealed: %v", err)
		}
		if err := read.CheckSignature(signers[(i+1)%len(signers)].Public()); err == nil {
			t.Error("another key passes")
		}
		read.Statement.Made.Kernels = "abacus"
		forge(t, read)
		if err := read.CheckSignature(s.Public()); err == nil {
			t.Error("an altered statement passes")
		}
	}
	if err := r.CheckSignature("key"); err == nil {
		t.Error("a key that is none passes")
	}
}

// TestRefused asks for receipts that there are not: the error names what stands in the way.
func TestRefused(t *testing.T) {
	m := model(t, loadFlint)
	prompt := question(t, m, "What is 3 + 4?", llama.TemplateOptions{})
	policy, err := eviction.NewSnapKV(eviction.Options{Budget: 128})
	if err != nil {
		t.Fatal(err)
	}
	form, err := constrain.Choice(m.Tokenizer(), "yes", "no")
	if err != nil {
		t.Fatal(err)
	}
	image := append(slices.Clone(prompt), llama.Token(m.Tokenizer().VocabSize()))
	for _, c := range []struct {
		name   string
		prompt []llama.Token
		p      llama.Params
		o      *receipt.Options
	}{
		{"Mask", prompt, llama.Params{Mask: llama.LogitMaskFunc(func([]llama.Token, []float32) error { return nil })}, nil},
		{"Constraint", prompt, llama.Params{Constraint: form}, nil},
		{"image", image, llama.Params{}, nil},
		{"Eviction", prompt, llama.Params{}, &receipt.Options{Session: &llama.SessionOptions{Eviction: policy}}},
		{"Continue", prompt, llama.Params{Template: llama.TemplateOptions{Continue: true}}, nil},
		{"UTF-8", prompt, llama.Params{Stop: []string{"\xff"}}, nil},
		{"Capacity", prompt, llama.Params{}, &receipt.Options{Session: &llama.SessionOptions{Capacity: -1}}},
	} {
		_, err := receipt.New(m, c.prompt, &c.p, c.o)
		var param *llama.ParamError
		if !errors.As(err, &param) || !strings.Contains(err.Error(), c.name) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	p := llama.Params{MaxTokens: 4}
	recorder, err := receipt.New(m, prompt, &p, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := recorder.Receipt(t.Context()); err == nil {
		t.Error("there is a receipt of no answer")
	}
}

// TestHostile reads and computes receipts that make no sense.
func TestHostile(t *testing.T) {
	m := model(t, loadPebble)
	r := made(t, m, question(t, m, "What is 3 + 4?", llama.TemplateOptions{}), llama.Params{MaxTokens: 4}, nil)
	for _, b := range []string{"", "null", "{}", "[]", `{"answer":[1e9]}`, strings.Repeat("[", 1<<20), `{"statement":{"kind":5}}`, string(text(t, r)) + " {}"} {
		if _, err := receipt.Parse([]byte(b)); err == nil || len(err.Error()) > 500 {
			t.Errorf("%.40q: %v", b, err)
		}
	}
	if _, err := receipt.Parse(bytes.Repeat([]byte{'['}, receipt.MaxBytes+1)); err == nil {
		t.Error("a receipt that is too long passes")
	}
	for name, change := range map[string]func(r *receipt.Receipt){
		"kv":            func(r *receipt.Receipt) { r.Statement.Cache.KV = "q2_k" },
		"capacity":      func(r *receipt.Receipt) { r.Statement.Cache.Capacity = math.MaxInt },
		"no capacity":   func(r *receipt.Receipt) { r.Statement.Cache.Capacity = 0 },
		"tokens":        func(r *receipt.Receipt) { r.Prompt = []llama.Token{-5, 1 << 30}; r.Statement.Prompt.Count = 2 },
		"long":          func(r *receipt.Receipt) { r.Prompt = make([]llama.Token, 1<<20); r.Statement.Prompt.Count = 1 << 20 },
		"answer":        func(r *receipt.Receipt) { r.Answer = []llama.Token{-7}; r.Statement.Answer.Count = 1 },
		"max tokens":    func(r *receipt.Receipt) { r.Statement.Parameters.MaxTokens = -1 },
		"temperature":   func(r *receipt.Receipt) { r.Statement.Parameters.Temperature = receipt.Number(math.Inf(1)) },
		"bias":          func(r *receipt.Receipt) { r.Statement.Parameters.LogitBias = []receipt.Bias{{Add: 1, Token: -1}} },
		"two biases":    func(r *receipt.Receipt) { r.Statement.Parameters.LogitBias = make([]receipt.Bias, 2) },
		"tools":         func(r *receipt.Receipt) { r.Statement.Parameters.Tools = []string{"{"} },
		"adapter":       func(r *receipt.Receipt) { r.Statement.Adapter = &receipt.Adapter{Fingerprint: "0"} },
		"another model": func(r *receipt.Receipt) { r.Statement.Model = "sha256:" + strings.Repeat("0", 64) },
		"a digest":      func(r *receipt.Receipt) { r.Statement.Answer.Logits = "sha256:0" },
		"the kind":      func(r *receipt.Receipt) { r.Statement.Kind = "poem" },
		"count":         func(r *receipt.Receipt) { r.Answer = nil; r.Statement.Answer.Count = math.MaxInt },
	} {
		forged := *r
		change(&forged)
		tokens := forged.Answer
		forge(t, &forged)
		forged.Answer = tokens
		if err := receipt.Verify(t.Context(), m, &forged); err == nil {
			t.Errorf("%s: passes", name)
		}
	}
}

// FuzzParse reads texts: a receipt is written as it was read.
func FuzzParse(f *testing.F) {
	file, err := os.ReadFile("testdata/receipts.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	for line := range bytes.Lines(file) {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := receipt.Parse(b)
		if err != nil {
			return
		}
		if again := text(t, r); !bytes.Equal(again, bytes.TrimSpace(b)) {
			t.Errorf("%s is written as %s", b, again)
		}
	})
}
