package llamatest

import (
	"bytes"
	"encoding/json"
	"image"
	"image/color"
	"image/png"
	"os"
	"testing"
	"testing/fstest"

	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/fixture"
)

// SeeingFolder returns a folder with a model that sees, Qwen3-VL's in small, of random weights. The fixture has no tokenizer, so it gets one in
// which each printable character of ASCII is a token, and a template in the way of Qwen's. The folder is removed when the test ends.
func SeeingFolder(t testing.TB) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS(fixture.Path(t, "families/vl-qwen3vl"))); err != nil {
		t.Fatal(err)
	}
	type added struct {
		ID      int    `json:"id"`
		Content string `json:"content"`
		Special bool   `json:"special"`
	}
	var specials []added
	vocabulary := map[string]int{}
	for id, text := range []string{"<|pad|>", "<|begin|>", "<|im_end|>", "<|im_start|>", "<|unused|>", "<|image_pad|>", "<|video_pad|>", "<|vision_start|>", "<|vision_end|>"} {
		vocabulary[text] = id
		specials = append(specials, added{id, text, true})
	}
	for c := '!'; c <= '~'; c++ {
		vocabulary[string(c)] = len(vocabulary)
	}
	for _, c := range []string{"Ġ", "Ċ"} { // space and line feed
		vocabulary[c] = len(vocabulary)
	}
	byteLevel := map[string]any{"type": "ByteLevel", "add_prefix_space": false, "use_regex": false, "trim_offsets": true}
	files := map[string]any{
		checkpoint.TokenizerFile: map[string]any{"version": "1.0", "added_tokens": specials, "pre_tokenizer": byteLevel, "decoder": byteLevel,
			"model": map[string]any{"type": "BPE", "vocab": vocabulary, "merges": []string{}}},
		checkpoint.TokenizerConfigFile: map[string]any{"eos_token": "<|im_end|>", "chat_template": seeingTemplate},
	}
	more := fstest.MapFS{}
	for name, content := range files {
		data, err := json.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		more[name] = &fstest.MapFile{Data: data, Mode: 0o644}
	}
	if err := os.CopyFS(folder, more); err != nil {
		t.Fatal(err)
	}
	return folder
}

const seeingTemplate = `{%- macro parts(content) %}
    {%- if content is string %}{{- content }}
    {%- else %}
        {%- for part in content %}
            {%- if part.type == 'image' %}{{- '<|vision_start|><|image_pad|><|vision_end|>' }}
            {%- else %}{{- part.text }}
            {%- endif %}
        {%- endfor %}
    {%- endif %}
{%- endmacro %}
{%- for message in messages %}
    {%- if message.role == 'system' and message.content is not string %}{{- raise_exception('A system message has an image.') }}{% endif %}
    {{- '<|im_start|>' ~ ('user' if message.role == 'tool' else message.role) ~ '\n' ~ parts(message.content) }}
    {%- for call in message.tool_calls %}{{- '\n<tool_call>\n' ~ call.function | tojson ~ '\n</tool_call>' }}{% endfor %}
    {{- '<|im_end|>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}{% endif %}`

// Picture returns a picture in which each pixel differs from its neighbours; seed says how.
func Picture(width, height, seed int) image.Image {
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			img.Set(x, y, color.RGBA{byte(7*x + 31*seed), byte(5*y + 17*seed), byte(x * y), 255})
		}
	}
	return img
}

// PictureFile returns Picture as a PNG.
func PictureFile(t testing.TB, width, height, seed int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, Picture(width, height, seed)); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
