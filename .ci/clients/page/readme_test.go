package page

import "testing"

// TestReadme talks to the first model that examples/serve serves. Its picture is examples/serve/page.png, which README.md shows:
//
//	go test -run Readme -screenshots SOME/FOLDER .
func TestReadme(t *testing.T) {
	b := open(t, serveSamples(t))
	b.see(1000, 640, "light")
	b.ask("What is the capital of Japan?")
	b.ask("Tell me a story about a fox.")
	if texts := b.texts(".prose"); len(texts) != 2 || texts[1] == "" {
		t.Errorf("%q", texts)
	}
	b.picture("page")
}
