package serve_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/llama/receipt"
	"github.com/antigravity-go/antigravity/llama/serve"
)

// TestReceipts asks for receipts of answers, whole, streamed and by a header: they hold, and are signed.
func TestReceipts(t *testing.T) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	h := start(t, func(o *serve.Options) { o.ReceiptSigner = private })
	model, err := embedded()
	if err != nil {
		t.Fatal(err)
	}
	ask := func(body, header string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.URL+"/v1/chat/completions", strings.NewReader("{"+body+"}"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Antigravity-Receipt", header)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(text)
	}
	type told struct {
		Choices []struct{ Receipt json.RawMessage }
	}
	const messages = `"model":"flint","messages":[{"role":"user","content":"What is the capital of Japan?"}]`
	const question = messages + `,"temperature":0,"seed":7`
	var first string
	for _, c := range []struct {
		body, header string
		receipts     int
	}{
		{question + `,"receipt":true`, "", 1},
		{question, "true", 1},
		{question, "", 0},
		{question + `,"receipt":true,"stream":true`, "", 1},
		{messages + `,"receipt":true,"n":2,"temperature":1,"seed":5,"stop":["."]`, "", 2},
	} {
		status, text := ask(c.body, c.header)
		parts := events(t, text)
		if len(parts) == 0 {
			parts = []string{text}
		}
		var receipts []string
		for _, part := range parts {
			var answer told
			if json.Unmarshal([]byte(part), &answer) == nil {
				for _, choice := range answer.Choices {
					if len(choice.Receipt) > 0 {
						receipts = append(receipts, string(choice.Receipt))
					}
				}
			}
		}
		if status != 200 || len(receipts) != c.receipts {
			t.Fatalf("%s: status %d, %d receipts: %s", c.body, status, len(receipts), text)
		}
		for i, text := range receipts {
			r, err := receipt.Parse([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			if err := r.CheckSignature(public); err != nil {
				t.Error(err)
			}
			if err := receipt.Verify(t.Context(), model, r); err != nil {
				t.Errorf("%s: receipt %d: %v", c.body, i, err)
			}
			if c.receipts == 2 && r.Statement.Parameters.Seed != uint64(5+i) {
				t.Errorf("receipt %d has the seed %d", i, r.Statement.Parameters.Seed)
			}
			if first == "" {
				first = r.Digest
			}
			if c.receipts == 1 && r.Digest != first {
				t.Errorf("%s: the receipt has the digest %s, want %s", c.body, r.Digest, first)
			}
		}
	}
	if status, text := ask(question+`,"receipt":true,"response_format":{"type":"json_object"}`, ""); status != 400 || !strings.Contains(text, "receipt") {
		t.Errorf("a receipt of an answer with a form: status %d, %s", status, text)
	}
}
