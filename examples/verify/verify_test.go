package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestVerify makes a signed receipt and verifies it, as it is, with another key and altered.
func TestVerify(t *testing.T) {
	dir := t.TempDir()
	write := func(name, kind string, der []byte, err error) string {
		t.Helper()
		if err == nil {
			name = filepath.Join(dir, name)
			err = os.WriteFile(name, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		return name
	}
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	other, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	secret := write("private.pem", "PRIVATE KEY", der, err)
	der, err = x509.MarshalPKIXPublicKey(public)
	known := write("public.pem", "PUBLIC KEY", der, err)
	der, err = x509.MarshalPKIXPublicKey(other)
	unknown := write("other.pem", "PUBLIC KEY", der, err)
	call := func(stdin []byte, args ...string) (string, error) {
		var out bytes.Buffer
		err := run(t.Context(), args, bytes.NewReader(stdin), &out, &bytes.Buffer{})
		return out.String(), err
	}
	made, err := call(nil, "-make", "What is the capital of Japan?", "-sign", secret)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		receipt string
		args    []string
		holds   bool
		want    string
	}{
		{made, nil, true, "signed with a key that -key did not give"},
		{made, []string{"-key", known}, true, "signed with the key"},
		{made, []string{"-key", unknown}, false, "another key"},
		{strings.Replace(made, `"seed":"0"`, `"seed":"1"`, 1), nil, false, "altered"},
		{"{}", nil, false, "canonical"},
	} {
		out, err := call([]byte(c.receipt), c.args...)
		if (err == nil) != c.holds || !strings.Contains(out, c.want) {
			t.Errorf("%v: %q, %v: want %q", c.args, out, err, c.want)
		}
	}
}
