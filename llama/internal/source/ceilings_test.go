package source_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/cost"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/internal/linear"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/internal/llamatest"
)

// What hostile input may cost at most. Time is the processor's, in units of internal/cost; memory is what the process held at its peak above what it held before.
const (
	renderUnits   = 3        // rendering a chat template, whatever it says: some 200 ms
	parseUnits    = 10       // reading a file or encoding a text of a megabyte
	memoryAllowed = 64 << 20 // bytes for any input, and
	fileFactor    = 8        // for each byte of a file or template
	textFactor    = 64       // for each byte of a text: what merging one long word takes, and the collector's reserve
)

// hostile is an input that has cost, or might cost, far more than it should.
type hostile struct {
	name   string
	units  float64 // at most
	factor int     // of memory
	make   func(t *testing.T) (bytes int, run func() error)
}

// measured is what a case took, as the child reports it.
type measured struct {
	Name    string
	Bytes   int     // of input
	Seconds float64 // of processors
	Units   float64 // the same
	Memory  int64   // 0: not known on this system
	Result  string
}

const ceilingCases = "ANTIGRAVITY_CEILING_CASES" // set in the child process: the cases to run

// TestCeilings runs hostile inputs in a child process with bounded memory, so that one that explodes ends the child and not the
// tests, and prints the table of what each cost (-v). Unless the tests are long, a fifth of the inputs have their turn.
func TestCeilings(t *testing.T) {
	effort.Turn(t, 8)
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	var rest []string
	known := map[string]hostile{}
	for i, c := range hostileInputs() {
		if effort.Share(i, 10) {
			rest = append(rest, c.name)
			known[c.name] = c
		}
	}
	t.Logf("%-44s %10s %8s %9s %8s  %s", "input", "bytes", "ms", "of limit", "MB", "result")
	for len(rest) > 0 {
		lines, err := runCeilings(t, rest)
		for _, m := range lines {
			c := known[m.Name]
			t.Logf("%-44s %10d %8.0f %8.0f%% %8.1f  %.60s", m.Name, m.Bytes, 1000*m.Seconds,
				100*m.Units/c.units, float64(m.Memory)/(1<<20), m.Result)
			llamatest.CheckStutter(t, m.Result)
			if m.Units > c.units {
				t.Errorf("%s: %d bytes of input took %.1f units of processor time (%.2f s), at most %.0f would be right", m.Name, m.Bytes, m.Units, m.Seconds, c.units)
			}
			if allowed := int64(c.factor*m.Bytes + memoryAllowed); m.Memory > allowed {
				t.Errorf("%s: %d bytes of input took %d bytes of memory, at most %d would be right", m.Name, m.Bytes, m.Memory, allowed)
			}
		}
		rest = rest[len(lines):]
		if err != nil && len(rest) == 0 {
			t.Fatalf("the child failed after its last case: %v", err)
		}
		if len(rest) > 0 {
			t.Errorf("%s: the child did not survive it: %v", rest[0], err)
			rest = rest[1:]
		}
	}
}

// runCeilings starts a child for some cases and returns what it measured until it ended.
func runCeilings(t *testing.T, names []string) (lines []measured, err error) {
	ctx := t.Context()
	if end, ok := t.Deadline(); ok { // a child that hangs must not outlive the test
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, end.Add(-5*time.Second))
		defer cancel()
	}
	child := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestCeilingChild$")
	child.Env = append(os.Environ(), ceilingCases+"="+strings.Join(names, "\n"))
	var stderr bytes.Buffer
	child.Stderr = &stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	scanner := bufio.NewScanner(out)
	for scanner.Scan() {
		var m measured
		if text, ok := strings.CutPrefix(scanner.Text(), "measured "); ok && json.Unmarshal([]byte(text), &m) == nil {
			lines = append(lines, m)
		}
	}
	if err = child.Wait(); err != nil {
		err = fmt.Errorf("%w: %.300s", err, stderr.String())
	}
	return lines, err
}

// TestCeilingChild is the child.
func TestCeilingChild(t *testing.T) {
	names := os.Getenv(ceilingCases)
	if names == "" {
		t.Skip("the child of TestCeilings")
	}
	limitMemory(4 << 30) // Go reserves far more addresses than it uses
	wanted := strings.Split(names, "\n")
	for _, c := range hostileInputs() {
		if !slices.Contains(wanted, c.name) {
			continue
		}
		bytes, run := c.make(t)
		debug.FreeOSMemory()
		before, peak := residentMemory()
		began := cost.Seconds()
		err := run()
		m := measured{Name: c.name, Bytes: bytes, Seconds: cost.Seconds() - began, Memory: peak() - before, Result: "accepted"}
		m.Units = cost.InUnits(m.Seconds)
		if err != nil {
			m.Result = err.Error()
		}
		line, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("measured %s\n", line)
	}
}

// hostileInputs lists all cases.
func hostileInputs() (list []hostile) {
	for _, c := range hostileTemplates() {
		list = append(list, hostile{"template: " + c.name, c.units, fileFactor, func(t *testing.T) (int, func() error) {
			dir := tokenizerWith(t, map[string]any{"chat_template": c.source})
			return len(c.source), func() error {
				tokenizer, err := llama.LoadTokenizer(dir)
				if err != nil {
					return err
				}
				_, err = tokenizer.Template(c.history, llama.TemplateOptions{})
				return err
			}
		}})
	}
	for name, text := range hostileTexts() {
		for _, kind := range []string{"byte-level", "SentencePiece", "WordPiece", "Unigram"} {
			list = append(list, hostile{kind + " text: " + name, parseUnits, textFactor, func(t *testing.T) (int, func() error) {
				tokenizer := tokenizerOf(t, kind)
				return len(text), func() error {
					tokenizer.Encode(text)
					debug.FreeOSMemory() // each has its own peak
					tokenizer.EncodeSpecial(text, true)
					return nil
				}
			}})
		}
	}
	for name, files := range hostileFiles() {
		list = append(list, hostile{"file: " + name, parseUnits, fileFactor, func(t *testing.T) (int, func() error) {
			dir, bytes := folderWith(t, files)
			return bytes, func() error {
				m, err := llama.Load(dir, &llama.LoadOptions{Threads: 1})
				if err == nil {
					m.Close()
				}
				return err
			}
		}})
	}
	for name, files := range hostileAdapters() {
		list = append(list, hostile{"adapter: " + name, parseUnits, fileFactor, func(t *testing.T) (int, func() error) {
			m := llamatest.Pebble(t)
			bytes := 0
			for _, file := range files {
				bytes += len(file.Data)
			}
			return bytes, func() error {
				a, err := m.LoadAdapterFS(t.Context(), files, ".")
				if err == nil {
					a.Close()
				}
				return err
			}
		}})
	}
	slices.SortFunc(list, func(a, b hostile) int { return strings.Compare(a.name, b.name) })
	return list
}

// hostileAdapters returns LoRA adapters. Some have no weights: their configurations are refused, or cost something, before weights are
// read.
func hostileAdapters() map[string]fstest.MapFS {
	weights, err := os.ReadFile("../../testdata/adapter/" + checkpoint.AdapterWeightsFile)
	if err != nil {
		panic(err) // the file is a test's own
	}
	list := map[string]fstest.MapFS{}
	add := func(name, members string, weights []byte) {
		config := `{"peft_type":"LORA","r":1,"lora_alpha":1,"target_modules":["v_proj","o_proj"],"layers_to_transform":[6,7],` + members + `}`
		list[name] = fstest.MapFS{checkpoint.AdapterConfigFile: {Data: []byte(config)}, checkpoint.AdapterWeightsFile: {Data: weights}}
	}
	numbers := func(n int, key string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"%s":1`, strings.ReplaceAll(key, "#", fmt.Sprint(i)))
		}
		return "{" + b.String()[1:] + "}"
	}
	add("a number for each of 8000 modules", `"rank_pattern":`+numbers(8000, "model.layers.#.self_attn.q_proj"), weights)
	add("a number for each of 60000 modules", `"rank_pattern":`+numbers(60000, "layers.#.q_proj"), weights)
	add("expressions that backtrack", `"alpha_pattern":`+numbers(32, "(.*.*)*(.*)*#+$"), weights)
	add("expressions of large classes", `"alpha_pattern":`+numbers(32, strings.Repeat(`\\pL*`, 50)+"#"), weights)
	add("expressions that are repeated", `"alpha_pattern":`+numbers(32, "((((.{1000}){1000}){1000}){1000})#"), weights)
	add("deep lists", `"rank_pattern":`+strings.Repeat("[", 1<<20), weights)
	add("many modules", `"exclude_modules":null,"target_modules":["`+strings.Repeat(`x","`, 200000)+`"]`, weights)
	var names strings.Builder
	for i := range 20000 {
		fmt.Fprintf(&names, `,"base_model.model.model.layers.%d.mlp.up_proj.lora_A.weight":{"dtype":"F32","shape":[0,256],"data_offsets":[0,0]}`, i)
	}
	header := "{" + names.String()[1:] + "}"
	add("many empty tensors", `"bias":"none"`, append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...))
	return list
}

type hostileTemplate struct {
	name, source string
	units        float64
	history      []llama.Message
}

func hostileTemplates() (list []hostileTemplate) {
	long := strings.Repeat("word, \n", 1<<20/7)
	for name, source := range map[string]string{
		"indent by megabytes":          `{{ ('\n'*4000)|indent('a'*4000000, true, true) }}`,
		"strip of a large set":         `{{ ('a'*800000).strip('b'*800000~'a') }}`,
		"a power of two by doubling":   `{% set ns = namespace(x='a') %}{% for i in range(60) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}{{ ns.x|length }}`,
		"lists by doubling":            `{% set ns = namespace(x=[1]) %}{% for i in range(60) %}{% set ns.x = ns.x + ns.x %}{% endfor %}{{ ns.x|length }}`,
		"lists made in macros":         `{% macro m(n) %}{% set l = range(1000)|list %}{% if n %}{{ m(n-1) }}{% endif %}{{ l|length }}{% endmacro %}{% for i in range(1000) %}{{ m(50) }}{% endfor %}`,
		"a macro that calls itself":    `{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}`,
		"dictsort of long keys":        `{% set ns = namespace(l=[]) %}{% for i in range(300) %}{% set ns.l = ns.l + [{'a'*10000 ~ i: 1, 'a'*10000 ~ (i+1): 2}|dictsort] %}{% endfor %}`,
		"sort of long strings":         `{% set s = 'a'*10000 %}{% set ns = namespace(l=[]) %}{% for i in range(2000) %}{% set ns.l = ns.l + [s ~ i] %}{% endfor %}{{ ns.l|sort|length }}`,
		"select in a long text":        `{% set s = 'ab'*1000000 %}{{ range(100000)|map('string')|select('in', s)|list|length }}`,
		"in a long text, again":        `{% set s = 'a'*2000000 %}{% for i in range(100000) %}{{ ('a'*1000 ~ 'b') in s }}{% endfor %}`,
		"split into characters":        `{% for i in range(1000) %}{{ ('a'*1000000)|list|length }}{% endfor %}`,
		"split into words":             `{% for i in range(1000) %}{{ ('a '*1000000).split()|length }}{% endfor %}`,
		"replace that grows":           `{{ ('a'*100000).replace('a', 'b'*100000) }}`,
		"join that grows":              `{{ range(100000)|join('b'*100000) }}`,
		"loops within loops":           strings.Repeat(`{% for a in range(1000) %}`, 20) + "x" + strings.Repeat(`{% endfor %}`, 20),
		"a long loop of nothing":       `{% for a in range(100000) %}{% for a in range(100000) %}{% endfor %}{% endfor %}`,
		"range of billions":            `{{ range(1000000000000)|list|length }}`,
		"repeat by billions":           `{{ 'a' * 1000000000000 }}`,
		"list repeated by billions":    `{{ [1] * 1000000000000 }}`,
		"center by billions":           `{{ 'a'|center(1000000000000) }}`,
		"format with a width":          `{{ '%1000000000d' % 1 }}{{ '%1000000000d'|format(1) }}`,
		"a power of a power":           `{{ 9**9**9**9 }}`,
		"large integers":               `{% set ns = namespace(x=99999999999999999999) %}{% for i in range(60) %}{% set ns.x = ns.x * ns.x %}{% endfor %}{{ ns.x }}`,
		"tojson again and again":       `{% set ns = namespace(x='"') %}{% for i in range(60) %}{% set ns.x = ns.x|tojson %}{% endfor %}{{ ns.x }}`,
		"tojson deeply indented":       `{% set ns = namespace(x=1) %}{% for i in range(5000) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x|tojson(indent=1000) }}`,
		"deep values compared":         `{% set ns = namespace(x=1) %}{% for i in range(30) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x == ns.x }}{{ ns.x }}`,
		"adjacent literals":            `{{ ` + strings.Repeat(`"abc" `, 786<<10/6) + `}}`,
		"brackets within brackets":     `{{ ` + strings.Repeat(`(`, 100000) + `1` + strings.Repeat(`)`, 100000) + ` }}`,
		"lists within lists":           `{{ ` + strings.Repeat(`[`, 100000) + strings.Repeat(`]`, 100000) + ` }}`,
		"statements within statements": strings.Repeat(`{% if true %}`, 50000) + strings.Repeat(`{% endif %}`, 50000),
		"filters behind filters":       `{{ 'a'` + strings.Repeat(`|trim`, 150000) + ` }}`,
		"attributes behind attributes": `{{ a` + strings.Repeat(`.b`, 300000) + ` }}`,
		"minus signs":                  `{{ ` + strings.Repeat(`-`, 500000) + `1 }}`,
		"nots":                         `{{ ` + strings.Repeat(`not `, 200000) + `1 }}`,
		"sums":                         `{{ 1` + strings.Repeat(`+1`, 300000) + ` }}`,
		"powers":                       `{{ 1` + strings.Repeat(`**1`, 300000) + ` }}`,
		"conditions behind conditions": `{{ 1` + strings.Repeat(` if 1 else 1`, 60000) + ` }}`,
		"comments that do not end":     strings.Repeat(`{#`, 400000),
		"outputs that do not end":      strings.Repeat(`{{`, 400000),
		"empty outputs":                strings.Repeat(`{{''}}`, 130000),
	} {
		list = append(list, hostileTemplate{name, source, renderUnits, []llama.Message{{Role: "user", Content: "Hello"}}})
	}
	for name, source := range map[string]string{
		"a long message":              `{% for m in messages %}{{ m.content }}{% endfor %}`,
		"a long message, trimmed":     `{% for m in messages %}{{ m.content|trim }}{% endfor %}`,
		"a long message, as JSON":     `{% for m in messages %}{{ m.content|tojson }}{% endfor %}`,
		"a long message, taken apart": `{% for m in messages %}{% for w in m.content.split() %}{{ w }}{% endfor %}{% endfor %}`,
	} {
		list = append(list, hostileTemplate{name, source, parseUnits, []llama.Message{{Role: "user", Content: long}}})
	}
	return list
}

func hostileTexts() map[string]string {
	const n = 1 << 18
	texts := linear.Texts(n)
	for name, piece := range map[string]string{
		"many letters": "abcdefghij", "many digits": "0123456789", "Korean": "안녕하세요", "marks": "e\u0301\u0302\u0303",
		"a special token begun": "<|eot_id", "apostrophes and letters": "'s", "spaces and letters": "    a", "line ends and spaces": "\r\n ",
	} {
		texts[name] = strings.Repeat(piece, n/len(piece))
	}
	return texts
}

// hostileFiles returns files that replace those of a small checkpoint.
func hostileFiles() map[string]map[string]string {
	ids := strings.TrimSuffix(strings.Repeat("1,", 400000), ",")
	var ascending, tokens strings.Builder
	for i := range 100000 {
		fmt.Fprintf(&ascending, "%d,", i)
		fmt.Fprintf(&tokens, `{"id":%d,"content":"<%d>","special":true},`, 1000+i, i)
	}
	nested := func(open, end string) string { return strings.Repeat(open, 500000) + strings.Repeat(end, 500000) }
	return map[string]map[string]string{
		"as many ends of sequence as fit a megabyte": {"generation_config.json": `{"eos_token_id":[` + ids + `]}`},
		"ends of sequence, all different":            {"generation_config.json": `{"eos_token_id":[` + ascending.String() + `0]}`},
		"a nested generation_config.json":            {"generation_config.json": nested("[", "]")},
		"a nested config.json":                       {"config.json": nested(`{"a":`, "}")},
		"a nested tokenizer_config.json":             {"tokenizer_config.json": nested("[", "]")},
		"a nested tokenizer.json":                    {"tokenizer.json": nested("[", "]")},
		"a nested index":                             {"model.safetensors.index.json": nested("[", "]")},
		"a header of nested brackets":                {"model.safetensors": "\x40\x42\x0f\x00\x00\x00\x00\x00" + nested("[", "]")},
		"a hundred thousand added tokens":            {"tokenizer.json": `{"added_tokens":[` + strings.TrimSuffix(tokens.String(), ",") + `],"model":{"type":"BPE","vocab":{},"merges":[]}}`},
		"a token with a large id":                    {"tokenizer.json": `{"model":{"type":"BPE","vocab":{"a":16777215},"merges":[]}}`},
		"many heads of two":                          {"config.json": `{"model_type":"llama","hidden_size":64,"intermediate_size":64,"num_hidden_layers":1,"num_attention_heads":131072,"num_key_value_heads":131072,"head_dim":2,"vocab_size":96,"max_position_embeddings":1048576}`},
		"a vocabulary of millions":                   {"config.json": `{"model_type":"llama","hidden_size":64,"intermediate_size":64,"num_hidden_layers":4096,"num_attention_heads":4,"num_key_value_heads":4,"vocab_size":16777216,"max_position_embeddings":1073741824}`},
	}
}

// tokenizerWith writes a folder with Pebble's tokenizer and a tokenizer_config.json.
func tokenizerWith(t *testing.T, config map[string]any) string {
	t.Helper()
	dir := t.TempDir()
	tokenizer, err := os.ReadFile(filepath.Join(fixture.Path(t, "pebble/hf"), "tokenizer.json"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"tokenizer.json": tokenizer, "tokenizer_config.json": text} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func tokenizerOf(t *testing.T, kind string) *llama.Tokenizer {
	t.Helper()
	path := filepath.Join(fixture.Path(t, "pebble/hf"), "tokenizer.json")
	switch kind {
	case "SentencePiece":
		path = fixture.Path(t, "tokenizer/llama-spm-vocab.gguf")
	case "WordPiece":
		path = fixture.Path(t, "families/enc-bert")
	case "Unigram":
		path = fixture.Path(t, "families/enc-xlmr")
	}
	tokenizer, err := llama.LoadTokenizer(path)
	if err != nil {
		t.Fatal(err)
	}
	return tokenizer
}

// folderWith copies a small checkpoint, with some files replaced, and returns the bytes of these.
func folderWith(t *testing.T, files map[string]string) (dir string, bytes int) {
	t.Helper()
	dir = t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(fixture.Path(t, "hf/llama32-tied-bf16"))); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		bytes += len(text)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir, bytes
}
