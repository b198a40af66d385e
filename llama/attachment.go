package llama

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"weak"

	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/pixels"
	"github.com/antigravity-go/antigravity/llama/internal/engine"
	"github.com/antigravity-go/antigravity/tensor"
)

// An image becomes rows that stand in the place of tokens. Their ids are beyond the vocabulary, so that whoever compares, counts or copies tokens does the
// same with images. For example, the first image that a model with 1000 tokens sees has 6 rows, and the second 4; an image with the same pixels as an
// earlier one has that one's ids, as long as somebody holds it:
//
//	prompt   1 7 7 3  1000 1001 1002 1003 1004 1005  4 12 9  3  1006 1007 1008 1009  4 8
//	         text     the first image                text       the second          text
//
// No id is given twice. So a conversation that begins with the same numbers begins with the same images.

// Attachment is an image as a model sees it: rows that a prompt has in the place of tokens. It is immutable and safe for concurrent use.
//
// Its tokens mean the image only as long as the Attachment, or a conversation that has its tokens, is reachable, and only in conversations that its model
// opened: they may have moved to another device meanwhile.
type Attachment struct {
	tokens        []Token // as Tokens returns them; before ids are issued, each row is noToken. nil: it comes from a saved session, and nobody has attached it since
	first         Token   // of its rows: the others follow
	rows, columns int
	features      *engine.Features
	key           attachmentKey
}

// attachmentKey identifies an image and how finely it is seen. Two attachments with one key are one.
type attachmentKey struct {
	image  [sha256.Size]byte
	tokens int               // rows
	size   [2]int            // to which the image is resized
	saved  [sha256.Size]byte // of the features, if they come from a saved session: whoever wrote that may have written anything. Otherwise 0
}

// Tokens returns what stands for the image in a prompt, in a new slice: ids beyond the vocabulary, one for each row, and the tokens that the model wants
// around them and between them, as [IMG_BREAK] after each line of rows. They go into Prefill, Generate, Sync and Pool.Generate as other tokens do, all
// of them and in this order.
func (a *Attachment) Tokens() []Token { return slices.Clone(a.tokens) }

// Size returns in how many rows and columns the image's rows lie. rows·columns of Features stand for the image.
func (a *Attachment) Size() (rows, columns int) { return a.rows, a.columns }

// Features returns what stands in the place of embeddings, [rows·columns, width], row after row, in a new slice.
func (a *Attachment) Features() []float32 {
	defer runtime.KeepAlive(a)
	return slices.Clone(floatsOf(a.features.X))
}

// floatsOf returns the elements of a float32 tensor on the host.
func floatsOf(t *tensor.Tensor) []float32 {
	list, _ := tensor.As[float32](t)
	return list
}

// attachments are the images that a model has seen, and that somebody still holds.
type attachments struct {
	mu    sync.Mutex
	byKey map[attachmentKey]*attaching
	list  []issued // in the order of first
	count int      // ids so far

	lent  []*Attachment // that only the model holds, oldest first
	bytes int           // of these
}

// mostLent bounds the bytes of features that only the model holds: those of some hundred images that were rendered to tokens, and are in no conversation yet.
const mostLent = 512 << 20

// lend holds an attachment that nobody else may hold, until a conversation does or many others have come.
func (l *attachments) lend(a *Attachment) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if slices.Contains(l.lent, a) {
		return
	}
	l.lent = append(l.lent, a)
	for l.bytes += a.bytes(); l.bytes > mostLent && len(l.lent) > 1; {
		l.drop(0)
	}
}

// settle gives an attachment up that a conversation holds now.
func (l *attachments) settle(a *Attachment) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.lent, a); i >= 0 {
		l.drop(i)
	}
}

// drop gives up one of those that are lent, with mu held.
func (l *attachments) drop(i int) {
	l.bytes -= l.lent[i].bytes()
	l.lent = slices.Delete(l.lent, i, i+1)
}

// bytes returns the memory of the features.
func (a *Attachment) bytes() (n int) {
	for _, t := range a.features.Tensors() {
		n += t.Size()
	}
	return n
}

// issued are the ids of an attachment.
type issued struct {
	first Token
	rows  int
	of    weak.Pointer[Attachment]
}

// attaching is an attachment that is there or is being made.
type attaching struct {
	made chan struct{} // closed when of is there, or will not be
	of   weak.Pointer[Attachment]
}

// attach returns the attachment of a key, which made computes unless somebody holds it. Others that ask meanwhile wait for it. If the computation fails, the others try by
// themselves.
func (l *attachments) attach(ctx context.Context, vocabulary int, key attachmentKey, made func() (*Attachment, error)) (*Attachment, error) {
	for {
		l.mu.Lock()
		entry := l.byKey[key]
		if entry == nil {
			entry = &attaching{made: make(chan struct{})}
			if l.byKey == nil {
				l.byKey = map[attachmentKey]*attaching{}
			}
			l.byKey[key] = entry
			l.mu.Unlock()
			return l.make(vocabulary, key, entry, made)
		}
		l.mu.Unlock()
		select {
		case <-entry.made:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if a := entry.of.Value(); a != nil {
			return a, nil
		}
		l.forget(key, entry)
	}
}

// make computes an attachment and gives it ids.
func (l *attachments) make(vocabulary int, key attachmentKey, entry *attaching, made func() (*Attachment, error)) (*Attachment, error) {
	defer close(entry.made)
	a, err := made()
	if err == nil {
		if same := l.restored(key, a); same != nil { // which says nothing of what stands around its rows
			entry.of = weak.Make(same)
			return same, nil
		}
		a.key = key // before anybody else can find it
		err = l.issue(vocabulary, a)
	}
	if err != nil {
		l.forget(key, entry)
		return nil, err
	}
	entry.of = weak.Make(a)
	runtime.AddCleanup(a, func(key attachmentKey) { l.forget(key, entry) }, key)
	runtime.AddCleanup(a.features, func(list []*tensor.Tensor) { // which conversations hold, perhaps longer
		for _, t := range list {
			t.Free()
		}
	}, a.features.Tensors())
	return a, nil
}

// restored returns the attachment of a saved session that is the same image with the same features; nil if there is no such attachment.
func (l *attachments) restored(key attachmentKey, made *Attachment) *Attachment {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, i := range l.list {
		a := i.of.Value()
		if a == nil || a.key.saved == [sha256.Size]byte{} {
			continue
		}
		like := a.key
		if like.saved = key.saved; like == key && made.sum() == a.key.saved {
			if a.tokens == nil {
				a.tokens = made.tokens
				a.number()
			}
			return a
		}
	}
	return nil
}

// sum returns a hash of the features.
func (a *Attachment) sum() (sum [sha256.Size]byte) {
	h := sha256.New()
	for _, t := range a.features.Tensors() {
		_ = binary.Write(h, binary.LittleEndian, floatsOf(t)) // a hash takes everything
	}
	h.Sum(sum[:0])
	return sum
}

// forget removes an entry.
func (l *attachments) forget(key attachmentKey, entry *attaching) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byKey[key] == entry {
		delete(l.byKey, key)
	}
	l.list = slices.DeleteFunc(l.list, func(i issued) bool { return i.of.Value() == nil })
}

// errManyImages is the error of a model that has no ids left.
var errManyImages = errors.New("the model has seen so much that no numbers are left to stand for another image: load it anew")

// issue gives the rows of an attachment their ids.
func (l *attachments) issue(vocabulary int, a *Attachment) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := a.features.Rows()
	if n > math.MaxInt32-vocabulary-l.count {
		return errManyImages
	}
	a.first = Token(vocabulary + l.count)
	l.count += n
	l.list = append(l.list, issued{a.first, n, weak.Make(a)})
	a.number()
	return nil
}

// number puts the ids of the rows into tokens.
func (a *Attachment) number() {
	row := a.first
	for i, t := range a.tokens {
		if t == noToken {
			a.tokens[i] = row
			row++
		}
	}
}

// find returns the attachment that an id beyond the vocabulary belongs to, and the number of its row; nil if nobody holds it.
func (l *attachments) find(t Token) (*Attachment, int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, found := slices.BinarySearchFunc(l.list, t, func(i issued, t Token) int { return cmp.Compare(i.first, t) })
	if !found {
		n--
	}
	if n < 0 || int(t-l.list[n].first) >= l.list[n].rows {
		return nil, 0
	}
	return l.list[n].of.Value(), int(t - l.list[n].first)
}

// Attach lets the model see an image, for a prompt that is made of tokens; Chat does it for the images of messages. The image becomes at most maxTokens
// rows; 0 stands for the model's default. An image with the pixels of one that somebody holds costs nothing.
//
// If the model sees no images, or the image cannot be decoded, the error is a *ParamError. The context is looked at between the layers of the tower.
func (s *vision) Attach(ctx context.Context, i *Image, maxTokens int) (*Attachment, error) {
	switch {
	case maxTokens < 0:
		return nil, &ParamError{"maxTokens", maxTokens, "positive, or 0 for the model's default"}
	case i == nil:
		return nil, &ParamError{"an image", nil, "one of NewImage or ImageOf"}
	case s.tower == nil:
		return nil, &ParamError{"an image", "given", "not given: " + s.tokenizer.eyes.blind()}
	}
	plan, err := s.planOf(i, maxTokens)
	if err != nil {
		return nil, err
	}
	key := attachmentKey{tokens: plan.Tokens()}
	for _, r := range plan.Resizes {
		key.size = [2]int{r.Width, r.Height}
	}
	if key.image, err = i.sum(); err != nil {
		return nil, err
	}
	return s.seen.attach(ctx, s.vocabulary, key, func() (*Attachment, error) {
		ctx, end, err := s.working.begin(ctx)
		if err != nil {
			return nil, err
		}
		defer end()
		rgb, err := i.decoded()
		if err != nil {
			return nil, err
		}
		features, rows, columns, err := s.encode(ctx, rgb, maxTokens)
		if err != nil {
			if ctx.Err() != nil && context.Cause(ctx) == ErrClosed {
				return nil, ErrClosed
			}
			return nil, fmt.Errorf("an image of %d×%d pixels: %w", rgb.Width, rgb.Height, err)
		}
		tokens, err := s.frameOf(&plan)
		return &Attachment{features: features, rows: rows, columns: columns, tokens: tokens}, err
	})
}

// planOf returns what becomes of an image.
func (s *vision) planOf(i *Image, most int) (pixels.Plan, error) {
	width, height, err := i.size()
	if err != nil {
		return pixels.Plan{}, err
	}
	plan, err := s.pixels.Plan(width, height, most)
	if err != nil {
		return pixels.Plan{}, &ParamError{"an image", fmt.Sprintf("of %d×%d pixels (%v)", width, height, err), "one that the model can see"}
	}
	return plan, nil
}

// frameOf returns what stands in a prompt for an image of a plan: noToken for each row, and the tokens that the model's processor puts around them
// and between them. A model without a tokenizer has the rows alone.
func (s *vision) frameOf(plan *pixels.Plan) ([]Token, error) {
	stretches := s.described.Frame(plan)
	if !s.tokenizer.eyes.texts {
		stretches = []checkpoint.Stretch{{Rows: plan.Tokens()}}
	}
	prompt := framing{t: s.tokenizer}
	prompt.frame(stretches)
	_, row := s.described.Placeholder()
	tokens, err := prompt.encode(row)
	if err != nil {
		return nil, err
	}
	return prompt.fill(tokens, func(_, rows int) []Token { return slices.Repeat([]Token{noToken}, rows) }), nil
}

// seer is what a model sees with, as the sight of its tokenizer.
type seer struct{ *vision }

func (s seer) placeholder() (written, row string) { return s.described.Placeholder() }

// see returns the rows of an image. Since nobody holds its attachment, the model does until a conversation takes it over.
func (s seer) see(ctx context.Context, i *Image, most int) ([]Token, error) {
	a, err := s.Attach(ctx, i, most)
	if err != nil {
		return nil, err
	}
	s.seen.lend(a)
	rows := make([]Token, a.features.Rows())
	for n := range rows {
		rows[n] = a.first + Token(n)
	}
	return rows, nil
}

func (s seer) frame(i *Image, most int) ([]checkpoint.Stretch, error) {
	plan, err := s.planOf(i, most)
	if err != nil {
		return nil, err
	}
	return s.described.Frame(&plan), nil
}
