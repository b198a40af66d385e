package openai

import (
	"slices"
	"testing"

	"github.com/antigravity-go/antigravity/llama/serve/internal/openapi"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// TestPublishedParameters checks that each parameter that OpenAI publishes is read, or has a rule: a new one is an error of ours only after
// somebody has thought about it.
func TestPublishedParameters(t *testing.T) {
	for schema, known := range map[string][]string{
		"CreateChatCompletionRequest": wire.Names(new(chatRequest), chatRules),
		"CreateCompletionRequest":     wire.Names(new(completionRequest), completionRules),
		"CreateEmbeddingRequest":      wire.Names(new(embeddingRequest), embeddingRules),
	} {
		for _, name := range openapi.Parameters(schema) {
			if !slices.Contains(known, name) {
				t.Errorf("%s: nothing is said about %s", schema, name)
			}
		}
	}
}
