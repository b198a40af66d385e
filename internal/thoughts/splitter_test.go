package thoughts

import (
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/linear"
)

// templates are the parts of templates that each format is recognised by.
var templates = map[string]string{
	"think":       "{{ '<think>' }}…</think>",
	"gemma 4":     "{{ '<|channel>thought\\n<channel|>' }}",
	"mistral":     "[THINK][/THINK]",
	"seed":        "<seed:think>",
	"granite 3.2": "after 'Here is my thought process:' and after 'Here is my response:'",
	"granite 3.3": "between <think></think> and between <response></response>",
	"harmony":     "<|start|><|channel|>analysis<|message|>",
}

func none(string) bool { return false }

// split gives an answer to a splitter, in pieces of some bytes; marks that are tokens stand between « and ».
func split(f *Format, tokens []string, open bool, answer string, bytes int) (thought, rest string) {
	var s Splitter
	s.Start(f, nil, !open)
	s.Write([]byte("something else <th")) // its memory is used again
	s.Start(f, tokens, open)
	take := func() {
		a, b := s.Take()
		thought, rest = thought+string(a), rest+string(b)
	}
	for answer != "" {
		plain, more, _ := strings.Cut(answer, "«")
		for part := range slices.Chunk([]byte(plain), bytes) {
			s.Write(part)
			take()
			if len(answer) < 100 {
				clone := s.Clone()
				clone.Write([]byte("<think>x</think>y"))
			}
		}
		mark, more, found := strings.Cut(more, "»")
		if found && !s.Mark(mark) {
			s.Write([]byte(mark))
		}
		take()
		answer = more
	}
	s.Finish()
	take()
	return thought, rest
}

func TestSplitter(t *testing.T) {
	for _, c := range []struct {
		format  string
		tokens  []string
		open    bool
		answer  string
		thought string
		rest    string
	}{
		{"think", nil, false, "<think>\nhm\n</think>\n\nyes\n", "hm", "yes\n"},
		{"think", nil, false, " \n<think> a  b </think>c", "a  b", "c"},
		{"think", nil, false, "\n yes <think>no</think>", "", "\n yes <think>no</think>"},
		{"gemma 4", nil, false, "<|channel>thought\nhm\n<channel|>yes", "hm", "yes"},
		{"gemma 4", []string{"<|channel>", "<channel|>"}, false, "«<|channel>»thought\nhm\n«<channel|>»yes", "hm", "yes"},
		{"gemma 4", []string{"<|channel>", "<channel|>"}, false, "«<|channel>»thought\n«<channel|>»yes", "", "yes"},
		{"gemma 4", []string{"<|channel>", "<channel|>"}, false, "«<|channel>»thoughtful", "thoughtful", ""},
		{"gemma 4", []string{"<|channel>", "<channel|>"}, true, "hm\n«<channel|>»yes", "hm", "yes"},
		{"gemma 4", []string{"<|channel>", "<channel|>"}, false, "yes", "", "yes"},
		{"think", nil, false, "<thin", "", "<thin"},
		{"think", nil, false, "<thinker>", "", "<thinker>"},
		{"think", nil, false, "<think>a <</th </</think></think>", "a <</th </", "</think>"},
		{"think", nil, false, "<think>a </thi", "a </thi", ""},
		{"think", nil, false, "<think>  \n", "", ""},
		{"think", nil, false, "<think></think>", "", ""},
		{"think", nil, false, "", "", ""},
		{"think", nil, false, " ", "", " "},
		{"think", nil, true, "hm</think>yes", "hm", "yes"},
		{"think", nil, true, "\n\nhm \n", "hm", ""},
		{"think", []string{"<think>", "</think>"}, false, "«<think>»\nhm\n«</think>»\n\nyes", "hm", "yes"},
		{"think", []string{"<think>", "</think>"}, false, "<think>hm</think>", "", "<think>hm</think>"},
		{"think", []string{"<think>", "</think>"}, false, "«<think>»a </think> b«</think>»c", "a </think> b", "c"},
		{"think", []string{"<think>", "</think>"}, true, "«<think>»a«<think>»b«</think>»c«</think>»d", "a<think>b", "c</think>d"},
		{"think", []string{"<think>", "</think>"}, false, " «</think>»\n\nyes", "", "yes"},
		{"think", []string{"</think>"}, false, "<think>hm«</think>»yes", "hm", "yes"},
		{"mistral", nil, false, "[THINK]hm[/THINK]yes", "hm", "yes"},
		{"seed", nil, false, "<seed:think>hm</seed:think>yes", "hm", "yes"},
		{"granite 3.2", nil, false, "Here is my thought process:\n\nhm\n\nHere is my response:\n\nyes", "hm", "yes"},
		{"granite 3.2", nil, false, "Here is my answer", "", "Here is my answer"},
		{"granite 3.3", nil, false, "<think>hm</think>\n<response>yes </response>", "hm", "yes"},
		{"granite 3.3", nil, false, "<think>hm</think><response>yes</response", "hm", "yes</response"},
		{"granite 3.3", nil, false, "<think>hm</think>yes</response>", "hm", "yes</response>"},
		{"granite 3.3", nil, false, "<response>yes", "", "<response>yes"},
		{"harmony", []string{startMark, channelMark, messageMark, endMark}, false,
			"«<|channel|>»analysis«<|message|>»hm «<|end|>»«<|start|>»assistant«<|channel|>»final«<|message|>»yes", "hm", "yes"},
		{"harmony", []string{startMark, channelMark, messageMark, endMark}, false, "«<|channel|>»final«<|message|>»yes", "", "yes"},
		{"harmony", []string{startMark, channelMark, messageMark, endMark}, false,
			"«<|channel|>»analysis«<|message|>»a«<|end|>»«<|start|>»assistant«<|channel|>»commentary«<|message|>»b«<|end|>»«<|start|>»assistant«<|channel|>»analysis«<|message|>»c", "a\n\nc", "b"},
		{"harmony", []string{startMark, channelMark, messageMark, endMark}, false, "yes", "", "yes"},
	} {
		f := Of(templates[c.format], none)
		for bytes := 1; bytes <= max(len(c.answer), 1); bytes++ {
			if thought, rest := split(f, c.tokens, c.open, c.answer, bytes); thought != c.thought || rest != c.rest {
				t.Errorf("%s, %d bytes at a time, %q: thought %q, rest %q; want %q, %q", c.format, bytes, c.answer, thought, rest, c.thought, c.rest)
			}
		}
	}
	if thought, rest := split(nil, nil, false, "<think>a</think>b", 3); thought != "" || rest != "<think>a</think>b" {
		t.Errorf("no format: %q, %q", thought, rest)
	}
}

func TestOf(t *testing.T) {
	for name, template := range templates {
		if f := Of(template, none); f == nil || f.Open == "" || f.Close == "" || len(f.Marks()) < 2 {
			t.Errorf("%s: %+v", name, f)
		}
	}
	has := func(tokens ...string) func(string) bool {
		return func(token string) bool { return slices.Contains(tokens, token) }
	}
	for name, c := range map[string]struct {
		template string
		has      func(string) bool
		want     string
	}{
		"nothing":                 {"{{ messages }}", none, ""},
		"a template of R1's kind": {"{{ content.split('</think>')[-1] }}", none, "<think>"},
		"tokens":                  {"{{ messages }}", has("<think>", "</think>"), "<think>"},
		"one token":               {"{{ messages }}", has("<think>"), ""},
		"Mistral's tokens":        {"{{ messages }}", has("[THINK]", "[/THINK]"), "[THINK]"},
	} {
		open := ""
		if f := Of(c.template, c.has); f != nil {
			open = f.Open
		}
		if open != c.want {
			t.Errorf("%s: %q, want %q", name, open, c.want)
		}
	}
}

// FuzzSplitter cuts answers in two ways: the results are the same, and nothing of them is made up.
func FuzzSplitter(f *testing.F) {
	f.Add("<think>\nhm</think> yes", uint8(0), uint8(3), true)
	f.Add("<think>a</think><response>b</response>", uint8(4), uint8(1), false)
	f.Add("Here is my thought process: x Here is my response: y", uint8(3), uint8(7), false)
	names := []string{"think", "mistral", "seed", "granite 3.2", "granite 3.3", "harmony"}
	f.Fuzz(func(t *testing.T, answer string, format, bytes uint8, open bool) {
		answer = strings.NewReplacer("«", "", "»", "").Replace(answer)
		form := Of(templates[names[int(format)%len(names)]], none)
		thought, rest := split(form, nil, open, answer, max(len(answer), 1))
		again, other := split(form, nil, open, answer, int(bytes)+1)
		if thought != again || rest != other {
			t.Fatalf("%q is %q, %q and %q, %q", answer, thought, rest, again, other)
		}
		if !strings.Contains(answer, thought) || len(thought)+len(rest) > len(answer) {
			t.Fatalf("%q is %q and %q", answer, thought, rest)
		}
	})
}

// TestOpened reads to whom messages are addressed.
func TestOpened(t *testing.T) {
	for _, c := range []struct{ answer, opened string }{
		{"«<|channel|>»commentary to=functions.f «<|constrain|>»json«<|message|>»{}", "functions.f"},
		{"«<|channel|>»commentary to=functions.f«<|constrain|>»json«<|message|>»{}", "functions.f"},
		{" to=functions.f«<|channel|>»commentary json«<|message|>»{}", "functions.f"},
		{"«<|channel|>»analysis«<|message|>»x«<|end|>»«<|start|>»assistant to=g«<|channel|>»commentary«<|message|>»{}«<|call|>»", "|g"},
		{"«<|channel|>»analysis to=python code«<|message|>»x«<|end|>»«<|start|>»assistant«<|channel|>»final«<|message|>»y", "python|"},
		{"«<|channel|>»final to=f«<|message|>»x", ""},
		{"«<|channel|>»commentary to=" + strings.Repeat("f", 2*maxHeader) + "«<|message|>»x", strings.Repeat("f", maxHeader-len("commentary to="))},
		{"«<|message|>»x", ""},
	} {
		for bytes := 1; bytes < 9; bytes++ {
			if got := strings.Join(addressed(c.answer, bytes), "|"); got != c.opened {
				t.Errorf("%d bytes at a time, %q: %q, want %q", bytes, c.answer, got, c.opened)
			}
		}
	}
}

// channelMarks are the marks of harmony.
var channelMarks = Of(templates["harmony"], none).Marks()

// addressed gives an answer to a splitter, and returns to whom its messages are.
func addressed(answer string, bytes int) (list []string) {
	var s Splitter
	s.Start(Of(templates["harmony"], none), channelMarks, false)
	for answer != "" {
		plain, more, _ := strings.Cut(answer, "«")
		for part := range slices.Chunk([]byte(plain), bytes) {
			s.Write(part)
		}
		mark, more, found := strings.Cut(more, "»")
		if found && !s.Mark(mark) {
			s.Write([]byte(mark))
		}
		if to, opened := s.Opened(); opened {
			list = append(list, to)
		}
		answer = more
	}
	return list
}

// FuzzChannels reads messages in channels, with marks and words in any order, in two ways: the results are the same, and nothing of them is
// made up.
func FuzzChannels(f *testing.F) {
	words := append(slices.Clone(channelMarks), "analysis", "final", "commentary", " to=functions.f", "to=", " ", "json", "\n", "{}", "assistant", "한", "x")
	f.Add([]byte{1, 6, 2, 17, 3, 0, 15, 1, 8, 9, 4, 12, 2, 14}, uint8(2))
	f.Add([]byte{9, 1, 8, 11, 12, 2, 14, 5, 0, 15, 1, 7, 2, 13, 16}, uint8(1))
	f.Add([]byte{10, 10, 17, 1, 1, 2, 2, 3, 3, 4}, uint8(7))
	f.Fuzz(func(t *testing.T, order []byte, bytes uint8) {
		var answer strings.Builder
		for _, i := range order[:min(len(order), 200)] {
			word := words[int(i)%len(words)]
			if slices.Contains(channelMarks, word) {
				answer.WriteString("«" + word + "»")
				continue
			}
			answer.WriteString(word)
		}
		form, n := Of(templates["harmony"], none), int(bytes)%8+1
		thought, rest := split(form, channelMarks, false, answer.String(), 1)
		thought2, rest2 := split(form, channelMarks, false, answer.String(), n)
		if thought != thought2 || rest != rest2 {
			t.Errorf("%q: %q, %q byte by byte, and %q, %q in %d", answer.String(), thought, rest, thought2, rest2, n)
		}
		if one, many := addressed(answer.String(), 1), addressed(answer.String(), n); !slices.Equal(one, many) {
			t.Errorf("%q: to %q byte by byte, and %q in %d", answer.String(), one, many, n)
		}
		for _, r := range thought + rest {
			if all := answer.String(); !strings.ContainsRune(" \n", r) && strings.Count(thought+rest, string(r)) > strings.Count(all, string(r)) {
				t.Errorf("%q: %q is made up", all, r)
			}
		}
	})
}

// TestLinear reads long answers of the beginnings of marks, and of messages in channels.
func TestLinear(t *testing.T) {
	for _, c := range []struct{ format, unit string }{
		{"think", "<think"}, {"think", " \n"}, {"granite 3.3", "</think><respons"}, {"harmony", "to=x "},
		{"harmony", "«<|start|>»assistant to=f«<|channel|>»commentary «<|constrain|>»json«<|message|>»{}«<|end|>»"},
		{"harmony", "«<|channel|>»«<|constrain|>»x "}, {"harmony", "«<|message|>»«<|channel|>»analysis«<|message|>» "},
	} {
		const n = 1 << 18
		f, text := Of(templates[c.format], none), strings.Repeat(c.unit, n/len(c.unit)+1)
		linear.Check(t, n, func(n int) {
			var s Splitter
			s.Start(f, channelMarks, false)
			for answer := text[:n]; answer != ""; {
				plain, more, _ := strings.Cut(answer, "«")
				s.Write([]byte(plain))
				mark, more, _ := strings.Cut(more, "»")
				if !s.Mark(mark) {
					s.Write([]byte(mark))
				}
				s.Take()
				answer = more
			}
			s.Finish()
		})
	}
}
