package ask

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// begun returns answers; one of them is being computed.
func begun(ping time.Duration) *Answers {
	return &Answers{model: &Model{service: &Service{PingInterval: ping}}, open: 1, more: make(chan struct{}, 1)}
}

// TestStreamSignsOfLife lets nothing come of an answer for a while: then the client is sent signs of life, and not while something comes.
func TestStreamSignsOfLife(t *testing.T) {
	for _, c := range []struct {
		every time.Duration
		want  string // the text that is written, and after how many seconds
	}{
		{10 * time.Second, "10 ping,20 ping,25 a,29 b,39 ping,40 end"},
		{25 * time.Second, "25 a,29 b,40 end"},
		{0, "25 a,29 b,40 end"},
		{-1, "25 a,29 b,40 end"},
	} {
		synctest.Test(t, func(t *testing.T) {
			a, w := begun(c.every), httptest.NewRecorder()
			events, began := wire.NewEvents(w), time.Now()
			go func() {
				time.Sleep(25*time.Second - 1)
				a.put(Event{Piece: llama.Piece{Text: "a"}})
				time.Sleep(2 * time.Second)
				a.put(Event{}) // it holds nothing
				time.Sleep(2*time.Second + 1)
				a.put(Event{Piece: llama.Piece{Text: "b"}})
				time.Sleep(11 * time.Second)
				a.put(Event{Piece: llama.Piece{Text: "end", Stop: llama.EndOfTurn}})
			}()
			var got []string
			note := func(what string) error {
				got = append(got, fmt.Sprintf("%.0f %s", time.Since(began).Seconds(), what))
				return events.Send("", what)
			}
			err := a.Stream(events, func() error { return note("ping") }, func(e Event) error {
				if e.Piece.Text == "" {
					return nil
				}
				return note(e.Piece.Text)
			})
			if err != nil || strings.Join(got, ",") != c.want || !w.Flushed {
				t.Errorf("every %v: %v, %q, want %q", c.every, err, got, c.want)
			}
		})
	}
}

// TestStreamOfPiecesThatTellNothing lets pieces come that write nothing, as those of a call that is held back: the client is sent signs of life.
func TestStreamOfPiecesThatTellNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := begun(10 * time.Second)
		events := wire.NewEvents(httptest.NewRecorder())
		go func() {
			for range 35 {
				time.Sleep(time.Second)
				a.put(Event{})
			}
			a.put(Event{Piece: llama.Piece{Stop: llama.EndOfTurn}})
		}()
		pings := 0
		ping := func() error {
			pings++
			return events.Comment()
		}
		if err := a.Stream(events, ping, func(Event) error { return nil }); err != nil || pings != 3 {
			t.Errorf("%v, %d signs of life in 35 seconds", err, pings)
		}
	})
}

// TestStreamEnds shows which error ends a stream.
func TestStreamEnds(t *testing.T) {
	gone := errors.New("gone")
	synctest.Test(t, func(t *testing.T) {
		a := begun(time.Second)
		if err := a.Stream(wire.NewEvents(httptest.NewRecorder()), func() error { return gone }, nil); !errors.Is(err, gone) {
			t.Errorf("a sign of life that cannot be written: %v", err)
		}
		a = begun(time.Second)
		a.put(Event{Err: &wire.Error{Message: "no"}})
		if err := a.Stream(wire.NewEvents(httptest.NewRecorder()), nil, func(e Event) error { return e.Err }); err == nil || err.Error() != "no" {
			t.Errorf("an answer that failed: %v", err)
		}
	})
}
