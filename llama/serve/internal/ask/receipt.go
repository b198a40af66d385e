package ask

import (
	"context"
	"net/http"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/receipt"
)

// receiptHeader asks for receipts, for programs that cannot add a parameter.
const receiptHeader = "Antigravity-Receipt"

// WantsReceipt reports whether a request's header asks for receipts.
func WantsReceipt(r *http.Request) bool { return r.Header.Get(receiptHeader) == "true" }

// NameReceipt adds the parameters of chat completions that there are no receipts with.
func NameReceipt(names FieldNames) {
	names["Params.Constraint"], names["an image in the prompt"] = "receipt", "receipt"
	names["Params.Template.Continue"] = "receipt"
}

// record begins a choice's receipt if it asks for one.
func (m *Model) record(c *Choice) (err error) {
	if !c.Receipt {
		return nil
	}
	if err := m.request.Memory.Grow(int64(tokenBytes * (len(c.Prompt) + m.Model.Tokenizer().VocabSize()))); err != nil { // the last logits have as many bytes a token
		return err
	}
	session := m.Session()
	o := receipt.Options{Kind: receipt.Text, Session: &session}
	if c.Message {
		o.Kind = receipt.Message
	}
	c.recorder, err = receipt.New(m.Model, c.Prompt, &c.Params, &o)
	return err
}

// receiptOf notes a piece of a choice's answer, and returns the receipt with the last one. It is signed if the service has a signer.
func (m *Model) receiptOf(ctx context.Context, c *Choice, p llama.Piece) (*receipt.Receipt, error) {
	if c.recorder == nil {
		return nil, nil
	}
	c.recorder.Add(p)
	if p.Stop == 0 {
		return nil, nil
	}
	r, err := c.recorder.Receipt(ctx)
	if err == nil && m.service.Signer != nil {
		err = r.Sign(m.service.Signer)
	}
	return r, err
}
