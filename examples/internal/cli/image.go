package cli

import (
	"fmt"
	"io"
	"os"

	"github.com/antigravity-go/antigravity/llama"
)

// maxImage bounds the file of an image, in bytes.
const maxImage = 64 << 20

// ReadImage reads the file of an image.
func ReadImage(path string) (*llama.Image, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read an image: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxImage+1))
	if err != nil {
		return nil, fmt.Errorf("read an image: %w", err)
	}
	if len(data) > maxImage {
		return nil, fmt.Errorf("read an image: %s has more than %d bytes", path, maxImage)
	}
	image, err := llama.NewImage(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return image, nil
}

// UserMessage returns a message of the user's with a text and the images before it.
func UserMessage(text string, images []*llama.Image) llama.Message {
	if len(images) == 0 {
		return llama.Message{Role: llama.RoleUser, Content: text}
	}
	m := llama.Message{Role: llama.RoleUser}
	for _, i := range images {
		m.Parts = append(m.Parts, llama.Part{Image: i})
	}
	if text != "" {
		m.Parts = append(m.Parts, llama.Part{Text: text})
	}
	return m
}
