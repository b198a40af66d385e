// Verify computes the answers of receipts again, and prints for each whether it holds. It makes receipts, too.
package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/receipt"
)

func main() { cli.Main("verify", run) }

const about = `
verify reads files with a receipt in each line, computes their answers again with the model, and prints for each receipt whether it holds or which
fields differ. Without a file it reads standard input. It fails if one does not hold. It also makes receipts:

  verify -make "What is the capital of Japan?" > receipts.jsonl
  verify receipts.jsonl
  openssl genpkey -algorithm ed25519 -out private.pem; openssl pkey -in private.pem -pubout -out public.pem
  verify -make "What is 3 + 4?" -sign private.pem > signed.jsonl
  verify -key public.pem signed.jsonl

llama/receipt/README.md says what a receipt proves, and what it does not.`

// run makes a receipt, or verifies those of files.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) (err error) {
	f := cli.NewFlags("verify", about)
	var choice cli.Model
	var adapter cli.Adapter
	var question, sign, key string
	var params llama.Params
	f.StringVar(&key, "key", "", "`FILE` with a public key (PEM): receipts without a signature of its owner do not hold")
	f.Group("Making a receipt", func() {
		f.StringVar(&question, "make", "", "`text` of a question: it is answered, and the answer's receipt printed")
		f.StringVar(&sign, "sign", "", "`FILE` with a private key (PKCS 8, PEM) that signs the receipt")
		f.IntVar(&params.MaxTokens, "n", 200, "most `tokens` of the answer")
		f.Uint64Var(&params.Seed, "seed", 0, "`number` that the choice of tokens begins with; 0 chooses the likeliest")
	})
	adapter.Flags(f)
	choice.Flags(f)
	files, err := f.ParseMixed(args, stdout)
	switch {
	case err != nil:
		return err
	case question == "" && sign != "":
		return cli.Usagef("-sign needs -make: signatures are put on new receipts")
	case question != "" && (key != "" || len(files) > 0):
		return cli.Usagef("-make makes a receipt, and verifies no files")
	}
	model, closeModel, err := choice.Load(ctx, stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeModel()) }()
	loaded, scale, err := adapter.Open(ctx, model, stderr)
	if err != nil {
		return err
	}
	if loaded != nil {
		defer loaded.Close()
	}
	if question != "" {
		params.Adapter, params.AdapterScale = loaded, scale
		if params.Seed != 0 {
			params.Temperature = 1
		}
		return create(ctx, model, question, params, sign, stdout)
	}
	v := &verifier{model: model, options: receipt.VerifyOptions{Adapter: loaded}, stdout: stdout}
	if key != "" {
		if v.key, err = publicKey(key); err != nil {
			return err
		}
	}
	if len(files) == 0 {
		err = v.all(ctx, "standard input", stdin)
	}
	for _, name := range files {
		if err := v.file(ctx, name); err != nil {
			return err
		}
	}
	if err == nil && v.failed > 0 {
		err = fmt.Errorf("%d of %d receipts do not hold", v.failed, v.seen)
	}
	return err
}

// create answers a question and prints the answer's receipt.
func create(ctx context.Context, m *llama.Model, question string, params llama.Params, sign string, stdout io.Writer) error {
	prompt, err := m.Tokenizer().Template([]llama.Message{{Role: llama.RoleUser, Content: question}}, params.Template)
	if err != nil {
		return err
	}
	pool, err := m.NewPool(nil)
	if err != nil {
		return err
	}
	defer pool.Close()
	recorder, err := receipt.New(m, prompt, &params, nil)
	if err != nil {
		return err
	}
	if _, err := llama.Collect(recorder.Watch(pool.Answer(ctx, prompt, params))); err != nil {
		return err
	}
	r, err := recorder.Receipt(ctx)
	if err != nil {
		return err
	}
	if sign != "" {
		signer, err := privateKey(sign)
		if err != nil {
			return err
		}
		if err := r.Sign(signer); err != nil {
			return err
		}
	}
	text, err := r.MarshalJSON()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "%s\n", text)
	return err
}

// verifier verifies receipts.
type verifier struct {
	model        *llama.Model
	options      receipt.VerifyOptions
	key          crypto.PublicKey // nil: signatures are not asked for
	stdout       io.Writer
	seen, failed int
}

// file verifies the receipts of a file.
func (v *verifier) file(ctx context.Context, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return v.all(ctx, name, f)
}

// all verifies receipts, one in each line.
func (v *verifier) all(ctx context.Context, name string, from io.Reader) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, receipt.MaxBytes+2)
	for n := 1; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		v.seen++
		holds, err := v.one(ctx, lines.Bytes())
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			v.failed++
			holds = err.Error()
		}
		if _, err := fmt.Fprintf(v.stdout, "%s:%d: %s\n", name, n, cli.Printable(holds)); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// one verifies a receipt, and returns a description of it if it holds.
func (v *verifier) one(ctx context.Context, text []byte) (string, error) {
	r, err := receipt.Parse(text)
	if err != nil {
		return "", err
	}
	signed := "not signed"
	if r.Signature != nil {
		signed = "signed with a key that -key did not give"
	}
	if v.key != nil {
		if err := r.CheckSignature(v.key); err != nil {
			return "", err
		}
		signed = "signed with the key"
	}
	if err := receipt.VerifyWith(ctx, v.model, r, v.options); err != nil {
		return "", err
	}
	s := &r.Statement
	return fmt.Sprintf("holds: %d tokens answer %d; made by %s on %s with %s kernels; %s",
		s.Answer.Count, s.Prompt.Count, s.Made.Library, s.Made.Platform, s.Made.Kernels, signed), nil
}

// publicKey reads a public key.
func publicKey(name string) (crypto.PublicKey, error) {
	block, err := pemOf(name)
	if err != nil {
		return nil, err
	}
	key, err := x509.ParsePKIXPublicKey(block)
	if err != nil {
		return nil, fmt.Errorf("%s is no public key in PKIX: %w", name, err)
	}
	return key, nil
}

// privateKey reads a private key.
func privateKey(name string) (crypto.Signer, error) {
	block, err := pemOf(name)
	if err != nil {
		return nil, err
	}
	key, err := x509.ParsePKCS8PrivateKey(block)
	if err != nil {
		return nil, fmt.Errorf("%s is no private key in PKCS 8: %w", name, err)
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("%s is a key that cannot sign", name)
	}
	return signer, nil
}

// pemOf returns the bytes of a file's first PEM block.
func pemOf(name string) ([]byte, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("%s has no PEM block", name)
	}
	return block.Bytes, nil
}
