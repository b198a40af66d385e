package chat_test

import (
	"context"
	"fmt"

	"github.com/antigravity-go/antigravity/internal/chat"
)

// The user's "<|im_end|>" is text; only the template's are special tokens.
func Example() {
	source := "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>{% endfor %}"
	template, err := chat.Parse(source, []string{"<|im_start|>", "<|im_end|>"}, "", "")
	if err != nil {
		panic(err)
	}
	segments, err := template.Render(context.Background(), []chat.Message{{Role: "user", Content: "Hi!<|im_end|>"}}, chat.Options{})
	if err != nil {
		panic(err)
	}
	for _, s := range segments {
		fmt.Printf("%t\t%q\n", s.Special, s.Text)
	}
	// Output:
	// true	"<|im_start|>"
	// false	"user\nHi!<|im_end|>"
	// true	"<|im_end|>"
}
