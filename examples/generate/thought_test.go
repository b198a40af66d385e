package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/scriptedmodel"
)

// TestThoughts asks a model that thinks and has no chat template in its file.
func TestThoughts(t *testing.T) {
	model := scriptedmodel.Write(t, scriptedmodel.Script{
		Special: []string{"<|user|>"}, Added: []string{"<think>", "</think>"},
		Chains: [][]string{{"\n", "<think>", "Hm", ",", "</think>", "\n\n", "Yes"}},
	})
	template := filepath.Join(t.TempDir(), "template.jinja")
	if err := os.WriteFile(template, []byte("{% for m in messages %}<|user|>{{ m.content }}\n{% if enable_thinking is false %}<think>\n\n</think>\n\n{% endif %}{% endfor %}"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args             []string
		answer, thoughts string
	}{
		{nil, "Yes", "Hm,\n\n"},
		{[]string{"-think", "off"}, "Yes", ""},
		{[]string{"-think", "on", "-think-budget", "1"}, "Yes", "Hm\n\n"},
		{[]string{"-n", "2"}, "", "Hm\n\n"},
	} {
		stdout, stderr, err := generate(t.Context(), "", append([]string{"-model", model, "-chat-template", template}, c.args...)...)
		if thoughts, _, ok := strings.Cut(stderr, "prompt: "); err != nil || stdout != c.answer+"\n" || !ok || thoughts != c.thoughts {
			t.Errorf("%q: %q, %q, %v", c.args, stdout, stderr, err)
		}
	}
	stdout, _, err := generate(t.Context(), "", "-model", model, "-chat-template", template, "-json")
	var r result
	if err == nil {
		err = json.Unmarshal([]byte(stdout), &r)
	}
	if err != nil || r.Text != "Yes" || r.Thought != "Hm," {
		t.Errorf("%v: %s", err, stdout)
	}
	for _, args := range [][]string{{"-think", "perhaps"}, {"-chat-template", template + "x"}} {
		if _, _, err := generate(t.Context(), "", append([]string{"-model", model}, args...)...); err == nil || !strings.Contains(err.Error(), args[0]) {
			t.Errorf("%q: %v", args, err)
		}
	}
}
