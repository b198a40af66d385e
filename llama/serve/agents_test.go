package serve_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/internal/scriptedmodel"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve"
)

// agentTemplate writes calls as many families do. What the model is to say depends on whether a function has been called.
const agentTemplate = `{%- if tools %}<tools>{{ tools | tojson }}</tools> a call is <tool_call>
{"name": "f", "arguments": {}}
</tool_call>{% endif %}{% set ns = namespace(called=false) %}{% for m in messages %}<|turn|>{{ m.role }}
{% if m.content %}{{ m.content }}{% endif %}{% for c in m.tool_calls or [] %}<tool_call>
{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}
</tool_call>{% endfor %}{% if m.role == 'tool' %}{% set ns.called = true %}{% endif %}<|end-of-turn|>
{% endfor %}{% if add_generation_prompt %}{% if ns.called %}<|after|>{% else %}<|before|>{% endif %}{% endif %}`

// agent is a program that writes code with a model's help.
type agent struct {
	name    string // of its file in node_modules/.bin
	call    string // of its function that runs a command: the command is "touch called"
	command func(url string) []string
	env     func(url string) []string
	files   func(url string) map[string]string // in its HOME
}

var agents = []agent{
	{"codex", `{"name": "exec_command", "arguments": {"cmd": "touch called"}}`,
		func(url string) []string {
			return []string{"exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "Touch the file."}
		},
		func(url string) []string { return []string{"NO_KEY=none"} },
		func(url string) map[string]string {
			return map[string]string{".codex/config.toml": fmt.Sprintf("model = \"gpt-5\"\nmodel_provider = \"here\"\n[model_providers.here]\nname = \"here\"\nbase_url = \"%s/v1\"\n"+
				"env_key = \"NO_KEY\"\nwire_api = \"responses\"\n", url)}
		}},
	{"claude", `{"name": "Bash", "arguments": {"command": "touch called", "description": "Touches a file"}}`,
		func(string) []string {
			return []string{"-p", "--model", "claude-sonnet-4-5", "--allowedTools", "Bash", "--", "Touch the file."}
		},
		func(url string) []string {
			return []string{"ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=none", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1"}
		}, nil},
	{"opencode", `{"name": "bash", "arguments": {"command": "touch called", "description": "Touches a file"}}`,
		func(string) []string { return []string{"run", "-m", "here/big", "Touch the file."} },
		func(string) []string { return []string{"OPENCODE_DISABLE_AUTOUPDATE=1"} },
		func(url string) map[string]string {
			return map[string]string{".config/opencode/opencode.json": fmt.Sprintf(`{"autoupdate":false,"share":"disabled","permission":{"bash":"allow"},
				"provider":{"here":{"npm":"@ai-sdk/openai-compatible","name":"here","options":{"baseURL":"%s/v1","apiKey":"none"},
				"models":{"big":{"name":"big","limit":{"context":200000,"output":4000}}}}}}`, url)}
		}},
}

// TestAgents lets the programs themselves run a turn with a call: the model calls the function that runs a command and, when it has the
// result, says "All done.". The programs are those of .ci/clients, in the folder ANTIGRAVITY_AGENTS; without it the test is skipped.
func TestAgents(t *testing.T) {
	programs := os.Getenv("ANTIGRAVITY_AGENTS")
	if programs == "" {
		t.Skip("ANTIGRAVITY_AGENTS is not set: .ci/run agents sets it")
	}
	for _, a := range agents {
		t.Run(a.name, func(t *testing.T) {
			model, err := llama.Load(scriptedmodel.Write(t, scriptedmodel.Script{Template: agentTemplate, Special: []string{"<|turn|>", "<|before|>", "<|after|>"},
				Chains: [][]string{{"<|before|>", "<tool_call>\n" + a.call + "\n</tool_call>"}, {"<|after|>", "All done."}},
				// A window makes long prompts cheap.
				Config: map[string]any{"architectures": []string{"MistralForCausalLM"}, "model_type": "mistral", "sliding_window": 64, "max_position_embeddings": 1 << 20}}), nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { model.Close() })
			h, requests := recording(t, model)
			home, work := t.TempDir(), t.TempDir()
			if a.files != nil {
				for name, text := range a.files(h.URL) {
					file := filepath.Join(home, name)
					if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
						t.Fatal(err)
					}
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			c := exec.CommandContext(ctx, filepath.Join(programs, "node_modules", ".bin", a.name), a.command(h.URL)...)
			c.Dir, c.WaitDelay = work, 10*time.Second
			c.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_CONFIG_HOME=" + filepath.Join(home, ".config"), "TERM=dumb"}, a.env(h.URL)...)
			output, err := c.CombinedOutput()
			if err != nil || !strings.Contains(string(output), "All done.") {
				t.Errorf("%v: %s\nthe server was asked:\n%s", err, output, requests())
			}
			if _, err := os.Stat(filepath.Join(work, "called")); err != nil {
				t.Errorf("the command was not run: %v\n%s\nthe server was asked:\n%s", err, output, requests())
			}
		})
	}
}

// recording serves a model by any name. requests returns the requests so far, each with the status of its answer.
func recording(t *testing.T, model *llama.Model) (h *httptest.Server, requests func() string) {
	t.Helper()
	s, err := serve.New(serve.Options{Models: []serve.Model{{Name: "big", Aliases: []string{"*"}, Loaded: model}},
		Pool: llama.PoolOptions{Session: llama.SessionOptions{Capacity: 1 << 19}}})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var all strings.Builder
	h = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		n := &noted{ResponseWriter: w}
		s.ServeHTTP(n, r)
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(&all, "%s %s: %d bytes, status %d, %.600s\n", r.Method, r.URL, len(body), n.status, n.text)
	}))
	t.Cleanup(func() {
		h.Close()
		s.Close()
	})
	return h, func() string {
		mu.Lock()
		defer mu.Unlock()
		return all.String()
	}
}

// noted notes the beginning of an answer.
type noted struct {
	http.ResponseWriter
	status int
	text   []byte
}

func (n *noted) WriteHeader(status int) {
	n.status = status
	n.ResponseWriter.WriteHeader(status)
}

func (n *noted) Write(p []byte) (int, error) {
	n.text = append(n.text, p[:min(len(p), max(0, 2000-len(n.text)))]...)
	return n.ResponseWriter.Write(p)
}

// Unwrap is http.ResponseController's.
func (n *noted) Unwrap() http.ResponseWriter { return n.ResponseWriter }
