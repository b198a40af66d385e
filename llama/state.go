package llama

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"

	"github.com/antigravity-go/antigravity/kvcache"
	"github.com/antigravity-go/antigravity/llama/internal/engine"
	"github.com/antigravity-go/antigravity/tensor"
)

// A saved session is, in this order and with all numbers little-endian:
//
//	stateMagic
//	uint32         stateVersion
//	[32]byte       the model's fingerprint; with an adapter, see adapterPrint
//	stateHeader
//	[Tokens]int32  the tokens
//	the images of the tokens, if Flags has hasImages: see state_images.go
//	[vocab]float32 the logits after the last token, if Flags has hasLogits
//	the memory of the layers, as engine.Memory.Write writes it
//	[32]byte       the SHA-256 of everything before it
const (
	stateMagic   = "antigravity session\n"
	stateVersion = 1
)

// stateHeader follows magic, version and fingerprint.
type stateHeader struct {
	KV       uint32 // tensor.DType
	Capacity uint32
	Flags    uint32 // hasLogits, longAngles, hasImages
	Tokens   uint64 // how many there are
	Evicted  uint64 // sequence.evicted
}

// The bits of stateHeader.Flags.
const (
	hasLogits  = 1 // the logits follow the tokens
	longAngles = 2 // keys were rotated by the angles of long conversations
	hasImages  = 4 // some tokens are rows of images
)

// Save writes the conversation: tokens, cache and logits, and for images what the model made of them, not the eviction policy. Restore of the same model goes on from it
// as the session would have, bit for bit.
func (s *Session) Save(w io.Writer) error {
	if err := s.begin(); err != nil {
		return err
	}
	defer s.end()
	c, err := s.lock()
	if err != nil {
		return err
	}
	defer s.unlock()
	if err := writeState(w, c); err != nil {
		return fmt.Errorf("save a session of %d tokens: %w", len(c.tokens), err)
	}
	return nil
}

// writeState writes a sequence.
func writeState(w io.Writer, c *sequence) error {
	if err := c.rest(); err != nil {
		return err
	}
	if err := c.onDevice(context.Background(), func() error { return catchUp(context.Background(), c) }); err != nil {
		return err
	}
	if err := c.fetchLogits(); err != nil {
		return err
	}
	fingerprint, err := fingerprintOf(c.model)
	if err == nil {
		fingerprint, err = adapterPrint(fingerprint, c.options.Adapter, c.options.AdapterScale)
	}
	if err != nil {
		return err
	}
	sum := sha256.New()
	out := io.MultiWriter(w, sum)
	header := stateHeader{
		KV: uint32(c.options.KV), Capacity: uint32(c.options.Capacity),
		Tokens: uint64(len(c.tokens)), Evicted: uint64(c.evicted),
	}
	if c.logits.At == engine.OnHost {
		header.Flags |= hasLogits
	}
	if c.job.Long {
		header.Flags |= longAngles
	}
	if len(c.images.held) > 0 {
		header.Flags |= hasImages
	}
	for _, part := range []any{[]byte(stateMagic), uint32(stateVersion), fingerprint, &header, c.tokens} {
		if err := binary.Write(out, binary.LittleEndian, part); err != nil {
			return err
		}
	}
	if len(c.images.held) > 0 {
		if err := writeImages(out, c); err != nil {
			return err
		}
	}
	if c.logits.At == engine.OnHost {
		if err := binary.Write(out, binary.LittleEndian, c.logits.Host); err != nil {
			return err
		}
	}
	if err := c.memory.Write(out, c.options.SaveSnapshots); err != nil {
		return err
	}
	_, err = w.Write(sum.Sum(nil))
	return err
}

// Restore makes a session from what Save wrote, for the same model, with weights of the same type. KV and Capacity that are zero in the
// options, or in nil options, are those of the saved session. Adapter and AdapterScale must be those of the saved session, which identifies
// the adapter by its fingerprint; everything else in the options, such as the eviction policy and the monitor, is not saved. A policy that
// needs a record of past attention can only restore a session that was saved with such a record.
//
// The error wraps ErrStateMismatch when the state is another model's or does not fit the options, and is a *FormatError when
// it is damaged. Then there is no session, and nothing is left behind.
func (m *Model) Restore(r io.Reader, o *SessionOptions) (*Session, error) {
	s, err := restore(m, r, o)
	if err != nil {
		return nil, fmt.Errorf("restore a session: %w", err)
	}
	return s, nil
}

func restore(m *Model, r io.Reader, o *SessionOptions) (_ *Session, err error) {
	if m.config.Whole {
		return nil, hasHead(m)
	}
	fingerprint, err := fingerprintOf(m)
	if err != nil {
		return nil, err
	}
	options := SessionOptions{}
	if o != nil {
		options = *o
	}
	if options.Adapter != nil && options.AdapterScale == 0 {
		options.AdapterScale = 1
	}
	if fingerprint, err = adapterPrint(fingerprint, options.Adapter, options.AdapterScale); err != nil {
		return nil, err
	}
	in := &stateReader{r: r, sum: sha256.New()}
	header, err := in.header(fingerprint)
	if err != nil {
		return nil, err
	}
	if options.KV == 0 {
		options.KV = tensor.DType(header.KV)
	}
	if options.KV != tensor.DType(header.KV) {
		return nil, fmt.Errorf("%w: its cache is %v, the options want %v", ErrStateMismatch, tensor.DType(header.KV), options.KV)
	}
	if options.Capacity == 0 && options.Eviction == nil { // with a policy, its budget decides
		options.Capacity = int(header.Capacity)
	}
	s, err := m.NewSession(&options)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	if err := s.with(func(c *sequence) error { return in.sequence(c, header) }); err != nil {
		return nil, err
	}
	if s.sequence.bounded() { // the session may have been saved without a budget, or with a larger one
		return s, s.maybeEvict(true)
	}
	return s, nil
}

// sequence fills an empty sequence with what follows the header.
func (in *stateReader) sequence(c *sequence, header *stateHeader) error {
	if long := header.Flags&longAngles != 0; long != c.job.Long {
		return fmt.Errorf("%w: whether it may become longer than %d tokens decides by which angles keys are rotated: restore it with the capacity that it had",
			ErrStateMismatch, c.model.config.RoPE.OriginalContext)
	}
	const most = 1 << 12 // tokens read at once: memory grows with the tokens that are there, not with a length that may be wrong
	for left := header.Tokens; left > 0; {
		part := make([]Token, min(left, most))
		if err := in.read(part); err != nil {
			return err
		}
		for _, t := range part {
			if t < 0 || int(t) >= c.model.config.VocabSize && header.Flags&hasImages == 0 {
				return in.damaged(fmt.Errorf("token %d of a vocabulary of %d", t, c.model.config.VocabSize))
			}
		}
		c.tokens = append(c.tokens, part...)
		left -= uint64(len(part))
	}
	if header.Flags&hasImages != 0 {
		if err := in.images(c); err != nil {
			return err
		}
	}
	if header.Flags&hasLogits != 0 {
		c.logits.Host = make([]float32, c.model.config.VocabSize)
		if err := in.read(c.logits.Host); err != nil {
			return err
		}
	}
	switch err := c.memory.Read(in, len(c.tokens), int(header.Evicted)); {
	case errors.Is(err, kvcache.ErrMismatch):
		return fmt.Errorf("%w: %w", ErrStateMismatch, err)
	case err != nil:
		return in.damaged(err)
	}
	if err := in.end(); err != nil {
		return err
	}
	c.evicted = int(header.Evicted)
	if header.Flags&hasLogits != 0 {
		c.logits.At = engine.OnHost
	}
	c.count()
	c.usage.PeakBytes = c.usage.Bytes
	return nil
}

// stateReader reads a saved session.
type stateReader struct {
	r      io.Reader
	sum    hash.Hash // of all bytes that were read, but the checksum itself
	offset int64     // how many bytes those are
	failed error     // the error of r, if it gave one other than io.EOF
}

// Read reads what the checksum covers.
func (s *stateReader) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	s.sum.Write(p[:n])
	s.offset += int64(n)
	if err != nil && err != io.EOF {
		s.failed = err
	}
	return n, err
}

// read fills a value of fixed size.
func (s *stateReader) read(v any) error {
	if err := binary.Read(s, binary.LittleEndian, v); err != nil {
		return s.damaged(err)
	}
	return nil
}

// damaged returns a *FormatError at the present offset; or r's own error, if reading failed.
func (s *stateReader) damaged(err error) error {
	if s.failed != nil {
		return s.failed
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return &FormatError{File: "session state", Offset: s.offset, Err: err}
}

// header reads everything before the tokens, and refuses a state with another model's fingerprint.
func (s *stateReader) header(fingerprint [sha256.Size]byte) (*stateHeader, error) {
	var (
		magic   [len(stateMagic)]byte
		version uint32
		model   [sha256.Size]byte
		header  stateHeader
	)
	if err := s.read(&magic); err != nil {
		return nil, err
	}
	if string(magic[:]) != stateMagic {
		return nil, s.damaged(fmt.Errorf("it begins with %q: this is no saved session", magic))
	}
	if err := s.read(&version); err != nil {
		return nil, err
	}
	if version != stateVersion {
		return nil, fmt.Errorf("%w: its version is %d, and this program reads %d", ErrStateMismatch, version, stateVersion)
	}
	if err := s.read(&model); err != nil {
		return nil, err
	}
	if model != fingerprint {
		return nil, fmt.Errorf("%w: it was saved by another model, another type of weights, or another adapter", ErrStateMismatch)
	}
	if err := s.read(&header); err != nil {
		return nil, err
	}
	if header.Flags > hasLogits|longAngles|hasImages || header.Flags&hasLogits != 0 && header.Tokens == 0 || header.Evicted > header.Tokens || header.Tokens > math.MaxInt32 || !tensor.DType(header.KV).Valid() {
		return nil, s.damaged(fmt.Errorf("header %+v", header))
	}
	return &header, nil
}

// end checks the checksum at the state's end.
func (s *stateReader) end() error {
	want, got := s.sum.Sum(nil), make([]byte, sha256.Size)
	if _, err := io.ReadFull(s.r, got); err != nil {
		return s.damaged(err)
	}
	if !bytes.Equal(want, got) {
		return s.damaged(fmt.Errorf("the checksum is wrong"))
	}
	return nil
}
