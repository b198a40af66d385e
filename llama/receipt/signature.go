package receipt

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
)

// Signature is somebody's word for a receipt.
type Signature struct {
	Algorithm string `json:"algorithm"` // "ed25519", "ecdsa-sha256" or "rsa-pss-sha256"
	Key       string `json:"key"`       // the public key, as PKIX in base64, to find its owner; who checks has the key from elsewhere
	Value     string `json:"value"`     // in base64, of signedAs and the statement's canonical JSON
}

// signedAs stands before the statement, so that no signature for something else is one of a receipt.
const signedAs = Format + " signature\n"

// The algorithms.
const (
	ed25519Name = "ed25519"
	ecdsaName   = "ecdsa-sha256"
	rsaName     = "rsa-pss-sha256"
)

// pss are the options of RSA.
var pss = &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash, Hash: crypto.SHA256}

// algorithmOf returns the algorithm for a key, and the bytes that it signs for a message.
func algorithmOf(key crypto.PublicKey, message []byte) (name string, signed []byte, o crypto.SignerOpts, err error) {
	sum := sha256.Sum256(message)
	switch key.(type) {
	case ed25519.PublicKey:
		return ed25519Name, message, crypto.Hash(0), nil
	case *ecdsa.PublicKey:
		return ecdsaName, sum[:], crypto.SHA256, nil
	case *rsa.PublicKey:
		return rsaName, sum[:], pss, nil
	}
	return "", nil, nil, fmt.Errorf("a key of the type %T: it must be of ed25519, ECDSA or RSA", key)
}

// message returns the bytes for signatures.
func (r *Receipt) message() ([]byte, error) {
	text, err := r.Statement.canonical()
	return append([]byte(signedAs), text...), err
}

// Sign puts the signer's signature on the receipt, in the place of another. The key is one of ed25519, ECDSA or RSA, wherever it lies.
func (r *Receipt) Sign(signer crypto.Signer) error {
	message, err := r.message()
	if err != nil {
		return fmt.Errorf("receipt: sign: %w", err)
	}
	name, signed, o, err := algorithmOf(signer.Public(), message)
	if err != nil {
		return fmt.Errorf("receipt: sign: %w", err)
	}
	key, err := x509.MarshalPKIXPublicKey(signer.Public())
	if err != nil {
		return fmt.Errorf("receipt: sign: %w", err)
	}
	value, err := signer.Sign(rand.Reader, signed, o)
	if err != nil {
		return fmt.Errorf("receipt: sign: %w", err)
	}
	r.Signature = &Signature{name, base64.StdEncoding.EncodeToString(key), base64.StdEncoding.EncodeToString(value)}
	return nil
}

// CheckSignature returns an error unless the receipt has a signature that the owner of a public key made. Whether the receipt is true, Verify finds out.
func (r *Receipt) CheckSignature(key crypto.PublicKey) error {
	if r.Signature == nil {
		return errors.New("receipt: it is not signed")
	}
	if err := r.check(); err != nil {
		return fmt.Errorf("receipt: %w", err)
	}
	message, err := r.message()
	if err != nil {
		return fmt.Errorf("receipt: %w", err)
	}
	name, signed, _, err := algorithmOf(key, message)
	if err != nil {
		return fmt.Errorf("receipt: check the signature: %w", err)
	}
	marshalled, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return fmt.Errorf("receipt: check the signature: %w", err)
	}
	if name != r.Signature.Algorithm || base64.StdEncoding.EncodeToString(marshalled) != r.Signature.Key {
		return errors.New("receipt: it is signed with another key")
	}
	value, err := base64.StdEncoding.DecodeString(r.Signature.Value)
	if err != nil {
		return fmt.Errorf("receipt: the signature is no base64: %w", err)
	}
	valid := false
	switch key := key.(type) {
	case ed25519.PublicKey:
		valid = ed25519.Verify(key, signed, value)
	case *ecdsa.PublicKey:
		valid = ecdsa.VerifyASN1(key, signed, value)
	case *rsa.PublicKey:
		valid = rsa.VerifyPSS(key, crypto.SHA256, signed, value, pss) == nil
	}
	if !valid {
		return errors.New("receipt: the signature is not one of this statement: the receipt or the signature was altered")
	}
	return nil
}

// check returns an error if the signature has a form that this package does not write.
func (s *Signature) check() error {
	if s.Algorithm != ed25519Name && s.Algorithm != ecdsaName && s.Algorithm != rsaName {
		return fmt.Errorf("signature.algorithm is %.40q: it must be %q, %q or %q", s.Algorithm, ed25519Name, ecdsaName, rsaName)
	}
	for _, f := range []struct{ field, text string }{{"key", s.Key}, {"value", s.Value}} {
		if b, err := base64.StdEncoding.Strict().DecodeString(f.text); err != nil || base64.StdEncoding.EncodeToString(b) != f.text {
			return fmt.Errorf("signature.%s is no base64", f.field)
		}
	}
	return nil
}
