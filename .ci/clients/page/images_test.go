package page

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// pictureFile returns a PNG with a gradient, in base64.
func pictureFile(t *testing.T, width, height int) string {
	t.Helper()
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			img.Set(x, y, color.RGBA{byte(255 * x / width), byte(255 * y / height), 128, 255})
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

// give makes an event with files happen at an element: a drop or a paste.
func (b *tab) give(event, selector string, files ...[3]string) {
	b.t.Helper()
	var list []string
	for _, f := range files {
		list = append(list, fmt.Sprintf("new File([Uint8Array.from(atob(%q), (c) => c.charCodeAt(0))], %q, { type: %q })", f[2], f[0], f[1]))
	}
	data, class := "dataTransfer", "DragEvent"
	if event == "paste" {
		data, class = "clipboardData", "ClipboardEvent"
	}
	js[bool](b, fmt.Sprintf(`(() => {
		const transfer = new DataTransfer();
		for (const file of [%s]) transfer.items.add(file);
		return document.querySelector(%q).dispatchEvent(new %s(%q, { %s: transfer, bubbles: true, cancelable: true }));
	})()`, strings.Join(list, ","), selector, class, event, data))
}

// TestPictures sends pictures that were dropped and pasted.
func TestPictures(t *testing.T) {
	f := start(t, func(r request, a *answer) {
		a.say(fmt.Sprintf("%d pictures, %s", len(r.Messages[len(r.Messages)-1].Images), r.last()))
		a.end("stop")
	})
	b := open(t, f.URL)
	small, large := pictureFile(t, 60, 40), pictureFile(t, 2000, 500)
	b.give("drop", "#messages", [3]string{"small.png", "image/png", small}, [3]string{"large.png", "image/png", large})
	b.until("document.querySelectorAll('#attached img').length === 2")
	b.give("paste", "#prompt", [3]string{"third.png", "image/png", small})
	b.until("document.querySelectorAll('#attached img').length === 3")
	b.click(`[aria-label="Take third.png away"]`)
	b.until("document.querySelectorAll('#attached img').length === 2")
	b.picture("pictures-ready")
	b.ask("What is on them?")
	equal(t, "answer", b.text(".prose"), "2 pictures, What is on them?")
	equal(t, "pictures after sending", js[int](b, "document.querySelectorAll('#attached img').length"), 0)
	equal(t, "pictures of the message", js[int](b, "document.querySelectorAll('.message.user img').length"), 2)
	sent := f.asked()[0].Messages[0].Images
	equal(t, "the small picture", sent[0], "data:image/png;base64,"+small)
	if !strings.HasPrefix(sent[1], "data:image/jpeg;base64,") {
		t.Errorf("the large picture is %.60s", sent[1])
	}
	equal(t, "the width of the large picture", js[int](b, "document.querySelectorAll('.message.user img')[1].naturalWidth"), 1536)
	b.picture("pictures")

	// A message may be pictures alone. The history goes along, and lasts.
	b.give("drop", "#messages", [3]string{"alone.png", "image/png", small})
	b.until("!document.querySelector('#send').disabled")
	b.button("Send")
	b.answered()
	equal(t, "pictures alone", b.texts(".prose")[1], "1 pictures,")
	equal(t, "pictures of the history", len(f.asked()[1].Messages[0].Images), 2)
	b.reload()
	b.until("document.querySelectorAll('.message.user img').length === 3")

	// Another text for the same picture.
	b.click(`.message.user [aria-label="Edit the message"]`)
	b.fill(`[aria-label="Your message"]`, "Count them")
	b.button("Save and send")
	b.answered()
	equal(t, "the edited message", b.text(".prose"), "2 pictures, Count them")
}

// TestNoPictures gives the page files that it cannot send.
func TestNoPictures(t *testing.T) {
	f := start(t, echo)
	b := open(t, f.URL)
	b.give("drop", "#messages", [3]string{"a.txt", "text/plain", "aGk="})
	b.until("document.querySelector('#toast').textContent === 'Only pictures can be sent.'")
	b.give("drop", "#messages", [3]string{"a.png", "image/png", "aGk="})
	b.until("document.querySelector('#toast').textContent.startsWith('a.png cannot be read')")
	b.do(chromedp.SetValue(chromedp.CSS("#model"), "pebble"))
	js[bool](b, "document.querySelector('#model').dispatchEvent(new Event('change'))")
	b.until("document.querySelector('#attach').hidden")
	b.give("drop", "#messages", [3]string{"a.png", "image/png", pictureFile(t, 2, 2)})
	b.until("document.querySelector('#toast').textContent === 'pebble sees no pictures.'")
}
