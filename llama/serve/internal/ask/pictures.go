package ask

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/internal/dataurl"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// A request's images are read before it is known which model is asked, and whether that sees. So a history has them as they are read, and Model.See
// settles them. For example, of
//
//	{"role": "user", "content": [{"type": "text", "text": "Who smiles?"}, {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}]}
//	{"role": "assistant", "content": "Ana."}
//	{"role": "user", "content": "And who else?"}
//
// a model that sees gets a text and an image, which See fetches if the server may. A model that does not see gets the text, and a warning says so: the
// image is history. In the last message it is an error.

// picture is an image of a request.
type picture struct {
	at    string       // its place
	place *llama.Image // what stands for it in a history
	image *llama.Image // the image, once it is there
	url   string       // the address to fetch it from; "": it need not be fetched
	wrong error        // why there is no image
	asked bool         // it comes after the last answer
	low   bool         // the client wants it coarse
}

// Content is the content of a message while it is read: texts, and images among them.
type Content struct {
	parts  []llama.Part
	images bool
}

// WriteString adds a text.
func (c *Content) WriteString(text string) {
	if n := len(c.parts) - 1; n >= 0 && c.parts[n].Image == nil {
		c.parts[n].Text += text
		return
	}
	c.parts = append(c.parts, llama.Part{Text: text})
}

// Image adds an image, as Past.Picture and Past.Base64 return it.
func (c *Content) Image(i *llama.Image) {
	c.parts, c.images = append(c.parts, llama.Part{Image: i}), true
}

// String returns the texts, put together.
func (c *Content) String() string {
	var all strings.Builder
	for _, p := range c.parts {
		all.WriteString(p.Text)
	}
	return all.String()
}

// AddTo adds the content to a message's.
func (c *Content) AddTo(m *llama.Message) {
	if !c.images && m.Parts == nil {
		m.Content += c.String()
		return
	}
	if m.Content != "" {
		m.Parts, m.Content = append(m.Parts, llama.Part{Text: m.Content}), ""
	}
	m.Parts = append(m.Parts, c.parts...)
}

// addPicture notes an image.
func (p *Past) addPicture(one picture) *llama.Image {
	one.asked, one.place = true, new(llama.Image)
	p.pictures = append(p.pictures, one)
	return one.place
}

// Base64 reads an image's file in base64, or a data: URL, as Ollama's interface has them.
func (p *Past) Base64(at string, value json.RawMessage) *llama.Image {
	text, err := wire.String(at, value)
	one := picture{at: at, wrong: err}
	switch {
	case err != nil:
	case dataurl.Is(text):
		one.read(dataurl.Decode(text))
	default:
		one.read(dataurl.Base64(text))
	}
	return p.addPicture(one)
}

// Base64List reads a list of files in base64.
func (p *Past) Base64List(at string, value json.RawMessage, into *Content) error {
	if len(value) == 0 {
		return nil
	}
	list, err := wire.List(at, value)
	if err != nil {
		return err
	}
	for i, one := range list {
		into.Image(p.Base64(fmt.Sprintf("%s[%d]", at, i), one))
	}
	return nil
}

// read makes an image of a file's bytes.
func (one *picture) read(data []byte, err error) {
	if err == nil {
		one.image, err = llama.NewImage(data)
	}
	one.wrong = one.explain(err)
}

// explain returns the error of a request with this image.
func (one *picture) explain(err error) error {
	if err == nil {
		return nil
	}
	return wire.Invalid(one.at, "%s: %s", one.at, trim(err))
}

// pictureJSON is a part that is an image, in the forms of all interfaces.
type pictureJSON struct {
	ImageURL json.RawMessage `json:"image_url"` // a URL, or an object with one: OpenAI's
	Image    *string         `json:"image"`     // a URL: transformers'
	URL      *string         `json:"url"`       // a URL
	Detail   string          `json:"detail"`
	FileID   *string         `json:"file_id"` // of a file that the client sent before
	Source   json.RawMessage `json:"source"`  // Anthropic's
}

// pictureRules are the members of parts that are not read.
var pictureRules = wire.Rules{"type": wire.Ignored(), "cache_control": wire.Ignored(), "prompt_cache_breakpoint": wire.Ignored(), "id": wire.Ignored(),
	"min_pixels": wire.Ignored(), "max_pixels": wire.Ignored()}

// details are OpenAI's words for how closely an image is looked at. The true one asks for a coarse look.
var details = map[string]bool{"": false, "auto": false, "high": false, "original": false, "low": true}

// Picture reads a part that is an image, in whatever form.
func (p *Past) Picture(at string, value json.RawMessage) *llama.Image {
	one := picture{at: at}
	one.wrong = one.parse(p, value)
	return p.addPicture(one)
}

// parse is Picture for an image with a place.
func (one *picture) parse(p *Past, value json.RawMessage) error {
	var in pictureJSON
	if err := p.Object(one.at, value, pictureRules, &in); err != nil {
		return err
	}
	of := struct {
		URL    string `json:"url"`
		Detail string `json:"detail"`
	}{Detail: in.Detail}
	place := one.at
	switch {
	case in.FileID != nil && in.ImageURL == nil:
		return wire.Unsupported(one.at+".file_id", "%s.file_id refers to a file, and nothing is stored: send the image itself, as a data: URL", one.at)
	case in.Source != nil:
		return one.parseSource(p, in.Source)
	case in.Image != nil:
		place, of.URL = place+".image", *in.Image
	case in.URL != nil:
		place, of.URL = place+".url", *in.URL
	case in.ImageURL == nil:
		return wire.Missing(one.at+".image_url", "an image's URL")
	case in.ImageURL[0] == '"':
		place += ".image_url"
		var err error
		if of.URL, err = wire.String(place, in.ImageURL); err != nil {
			return err
		}
	default:
		if err := p.Object(place+".image_url", in.ImageURL, nil, &of); err != nil {
			return err
		}
		place += ".image_url.url"
	}
	low, known := details[of.Detail]
	if !known {
		return wire.Invalid(one.at+".detail", `%s.detail is %.40q; it must be "auto", "low", "high" or "original"`, one.at, of.Detail)
	}
	one.at, one.low = place, low
	return one.open(of.URL)
}

// open takes the image from a URL.
func (one *picture) open(url string) error {
	switch scheme, _, _ := strings.Cut(url, ":"); strings.ToLower(scheme) {
	case "data":
		one.read(dataurl.Decode(url))
		return one.wrong
	case "http", "https":
		one.url = url
		return nil
	}
	return wire.Invalid(one.at, `%s is %.40q; it must be a data: URL, "data:image/png;base64,…"`, one.at, url)
}

// parseSource reads Anthropic's source of an image.
func (one *picture) parseSource(p *Past, value json.RawMessage) error {
	var source struct {
		Type string          `json:"type"`
		Data json.RawMessage `json:"data"`
		URL  string          `json:"url"`
	}
	at := one.at + ".source"
	if err := p.Object(at, value, wire.Rules{"media_type": wire.Ignored(), "file_id": wire.Ignored()}, &source); err != nil {
		return err
	}
	switch source.Type {
	case "base64":
		one.at = at + ".data"
		if source.Data == nil {
			return wire.Missing(one.at, "a file in base64")
		}
		text, err := wire.String(one.at, source.Data)
		if err != nil {
			return err
		}
		one.read(dataurl.Base64(text))
		return one.wrong
	case "url":
		one.at = at + ".url"
		return one.open(source.URL)
	}
	return wire.Invalid(at+".type", `%s.type is %.40q; it must be "base64" or "url": nothing is stored`, at, source.Type)
}

// The bounds of a request's images.
const (
	maxPictures = 256 // in the whole conversation
	lowTokens   = 256 // soft tokens of an image with the detail "low": 512×512 pixels for Qwen's models
)

// See settles the images of a conversation for the model, and returns the messages that the model is to answer. Those of the history that it cannot see
// are left out, with a warning; those of the question are errors. o gets the bound that images with the detail "low" ask for.
func (m *Model) See(ctx context.Context, history []llama.Message, p *Past, o *llama.TemplateOptions) ([]llama.Message, error) {
	if len(p.pictures) == 0 {
		return history, nil
	}
	sees := m.Model.Inputs().Image
	images := map[*llama.Image]*llama.Image{} // what stands in the history → an image, or nil
	for i := range history {
		for _, part := range history[i].Parts {
			if part.Image != nil {
				images[part.Image] = nil
			}
		}
	}
	pictures := slices.DeleteFunc(slices.Clone(p.pictures), func(one picture) bool { // some were in messages that are left out
		_, stands := images[one.place]
		return !stands
	})
	if n := len(pictures); sees && n > maxPictures {
		return nil, wire.Invalid(pictures[maxPictures].at, "the conversation has %d images, and may have %d", n, maxPictures)
	}
	var left []LeftOut
	low := 0
	for i := range pictures {
		one := &pictures[i]
		err := one.wrong
		switch {
		case !sees:
			err = m.blind(one.at)
		case err == nil && one.url != "":
			err = m.fetch(ctx, one)
		}
		switch {
		case err != nil && one.asked:
			return nil, err
		case err != nil:
			why := "the model sees no images"
			if sees {
				why = trim(err)
			}
			left = append(left, LeftOut{At: one.at, Why: why})
		default:
			images[one.place] = one.image
			if one.low {
				low++
			}
		}
	}
	if err := m.service.LeaveOut(ctx, left); err != nil {
		return nil, err
	}
	if o.ImageTokens = m.service.ImageTokens; low > 0 && low == len(pictures)-len(left) && (o.ImageTokens == 0 || o.ImageTokens > lowTokens) {
		o.ImageTokens = lowTokens
	}
	m.shown = map[*llama.Image]string{}
	for _, one := range pictures {
		if image := images[one.place]; image != nil {
			m.shown[image] = one.at
		}
	}
	history = slices.Clone(history)
	for i := range history {
		history[i].Parts = settled(history[i].Parts, images)
	}
	return history, nil
}

// attach lets the model see the images of a conversation. That takes long, and memory for their pixels: a few requests do it at a time, and stop when
// their clients leave. Rendering then finds the images seen.
func (m *Model) attach(ctx context.Context, history []llama.Message, tokens int) error {
	for i := range history {
		for _, part := range history[i].Parts {
			if part.Image == nil {
				continue
			}
			err := m.service.seeImage(ctx, func() error {
				a, err := m.Model.Attach(ctx, part.Image, tokens)
				m.attached = append(m.attached, a)
				return err
			})
			if e, ok := errors.AsType[*llama.ParamError](err); ok && m.shown[part.Image] != "" {
				at := m.shown[part.Image]
				return wire.Invalid(at, "%s is %v; it must be %s", at, e.Value, e.Want)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// seeImage calls f when it is the turn of the context's request.
func (s *Service) seeImage(ctx context.Context, f func() error) error {
	if s.ImageQueue == nil {
		return f()
	}
	return runQueued(ctx, s.ImageQueue, RequestOf(ctx).Client, f)
}

// hasImages reports whether a conversation has images.
func hasImages(history []llama.Message) bool {
	return slices.ContainsFunc(history, func(m llama.Message) bool {
		return slices.ContainsFunc(m.Parts, func(p llama.Part) bool { return p.Image != nil })
	})
}

// settled returns parts with their images, without those that are nil.
func settled(parts []llama.Part, images map[*llama.Image]*llama.Image) []llama.Part {
	if parts == nil {
		return nil
	}
	list := make([]llama.Part, 0, len(parts))
	for _, part := range parts {
		if part.Image != nil {
			if part.Image = images[part.Image]; part.Image == nil {
				continue
			}
		}
		list = append(list, part)
	}
	return list
}

// blind returns the error of an image for a model that sees no images.
func (m *Model) blind(at string) error {
	return wire.Unsupported(at, "%s is an image: the model %.200q sees no images, it reads text alone; send text", at, m.Name)
}

// fetch gets an image from its URL.
func (m *Model) fetch(ctx context.Context, one *picture) error {
	if m.service.Fetch == nil {
		return wire.Unsupported(one.at, "%s is a URL elsewhere, and this server fetches no images: send the image itself, as a data: URL", one.at)
	}
	data, err := m.service.Fetch(ctx, one.url, m.request.Memory.Grow)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		e := Explain(ctx, err, nil)
		if e.Status != http.StatusServiceUnavailable { // no memory
			e = wire.Invalid(one.at, "%s: %s", one.at, trim(err))
		}
		return e
	}
	one.read(data, nil)
	return one.wrong
}
