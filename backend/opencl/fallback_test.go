//go:build opencl && (amd64 || arm64)

package opencl

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/tensor"
)

// fallbacks counts the operations that the host computes in place of the device, by their names.
type fallbacks map[string]int

// watch begins to count.
func watch(b *Backend) fallbacks {
	found := fallbacks{}
	b.queue.portable.Lock()
	defer b.queue.portable.Unlock()
	b.queue.fellBack = func() {
		var callers [8]uintptr
		frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers[:])])
		for {
			frame, more := frames.Next()
			_, method, is := strings.Cut(frame.Function, ").")
			if is && method[0] >= 'A' && method[0] <= 'Z' && !strings.Contains(method, ".") {
				found[method]++
				return
			}
			if !more {
				found[frame.Function]++
				return
			}
		}
	}
	return found
}

// TestNothingFallsBack computes passes of models of every kind, and looks whether the device computes all of their operations.
func TestNothingFallsBack(t *testing.T) {
	names := []string{"mistral", "qwen2", "qwen3", "smollm3", "granite", "phi3", "phi3-longrope", "olmo2", "gemma3", "gemma", "gemma2", "olmo3", "qwen3-yarn", "llama-yarn", "phi4mini", "ministral3",
		"qwen35", "lfm2", "granite4h", "qwen35moe", "qwen3next", "qwen3moe", "mixtral", "granite-moe", "granite4h-moe", "glm4moe", "gptoss", "gemma4-e", "gemma4-dense", "gemma4-moe"}
	_ = effort.All
	b := openTest(t, Options{})
	b.selections.selects = true
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			m, err := llama.Load(fixture.Path(t, "families/"+name), &llama.LoadOptions{Backend: b})
			must(t, err)
			defer m.Close()
			found := watch(b)
			defer func() {
				for _, op := range slices.Sorted(maps.Keys(found)) {
					t.Errorf("the host has computed %s %d times", op, found[op])
				}
			}()
			list := make([]llama.Token, 170)
			for i := range list {
				list[i] = llama.Token(i * 7919 % m.Config().VocabSize)
			}
			list = list[:min(len(list), m.Config().ContextLength-10)]
			for _, kv := range []tensor.DType{tensor.F16} {
				s, err := m.NewSession(&llama.SessionOptions{KV: kv})
				must(t, err)
				must(t, s.Prefill(t.Context(), list))
				for _, err := range s.Generate(t.Context(), list[:1], llama.Params{MaxTokens: 3}) {
					must(t, err)
				}
				s.Close()
			}
		})
	}
}

var _ = fmt.Sprint
