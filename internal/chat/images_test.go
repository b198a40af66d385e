package chat

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// imageTokens are the tokens that templates write for an image.
var imageTokens = map[string]string{"qwen3vl.jinja": "<|image_pad|>", "gemma3.jinja": "<start_of_image>", "pixtral.jinja": "[IMG]", "smolvlm.jinja": "<image>", "glmocr.jinja": "<|image|>"}

// TestImages renders conversations with images as Jinja 2 does (testdata/images/golden.py). There is a special token for each image, and for
// nothing that a message says.
func TestImages(t *testing.T) {
	const dir = "testdata/images"
	data, err := os.ReadFile(filepath.Join(dir, "golden.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Template, Name string
		Messages       []struct {
			Role    string
			Content []*string
		}
		Text, Error *string
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	var specials []string
	for _, token := range imageTokens {
		specials = append(specials, token)
	}
	for _, c := range cases {
		t.Run(c.Template+"/"+c.Name, func(t *testing.T) {
			source, err := os.ReadFile(filepath.Join(dir, c.Template))
			if err != nil {
				t.Fatal(err)
			}
			template, err := Parse(string(source), append(specials, "<|im_start|>", "<|vision_start|>"), "<s>", "</s>")
			if err != nil {
				t.Fatal(err)
			}
			var messages []Message
			images := 0
			for _, m := range c.Messages {
				message := Message{Role: m.Role}
				for _, text := range m.Content {
					if text == nil {
						message.Parts = append(message.Parts, Part{Image: true})
						images++
					} else {
						message.Parts = append(message.Parts, Part{Text: *text})
					}
				}
				messages = append(messages, message)
			}
			segments, err := template.Render(t.Context(), messages, Options{AddGenerationPrompt: true})
			if (err != nil) != (c.Error != nil) {
				t.Fatalf("got error %v", err)
			}
			if err != nil {
				return
			}
			if got := joinedText(segments); got != *c.Text {
				t.Fatalf("\n got %q\nwant %q", got, *c.Text)
			}
			if c.Template == "gemma3.jinja" && c.Name == "system's image" {
				images = 0 // the template takes the first text, as the one of Gemma 3; package llama counts tokens, and refuses
			}
			count := 0
			for _, s := range segments {
				if s.Special && s.Text == imageTokens[c.Template] {
					count++
				}
			}
			if count != images {
				t.Errorf("%d tokens for %d images", count, images)
			}
		})
	}
}
