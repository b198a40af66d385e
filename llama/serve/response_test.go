package serve

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// deadlined is a ResponseWriter that notes its deadline.
type deadlined struct {
	http.ResponseWriter
	deadline time.Time
}

func (d *deadlined) SetWriteDeadline(t time.Time) error {
	d.deadline = t
	return nil
}

func TestWritingEndsWhenTheServerIsInAHurry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		below := &deadlined{ResponseWriter: httptest.NewRecorder()}
		r := &response{ResponseWriter: below}
		began := time.Now()
		r.WriteHeader(http.StatusOK)
		for _, step := range []struct {
			name  string
			after time.Duration // since the step before
			do    func()
			want  time.Duration // the deadline, since the beginning
		}{
			{"a piece", 0, func() { r.SetWriteDeadline(time.Now().Add(time.Minute)) }, time.Minute},
			{"the hurry, for a piece that is being written", time.Second, r.shortenDeadline, time.Second + closingTime},
			{"the next piece, which took a while to compute", 9 * time.Second, func() { r.SetWriteDeadline(time.Now().Add(time.Minute)) }, 10*time.Second + closingTime},
			{"one more", time.Second, func() { r.SetWriteDeadline(time.Now().Add(time.Minute)) }, 10*time.Second + closingTime},
			{"no deadline", 0, func() { r.SetWriteDeadline(time.Time{}) }, 10*time.Second + closingTime},
			{"the end", 0, r.finish, 10*time.Second + closingTime},
			{"a hurry after it, when the connection may serve another request", time.Second, r.shortenDeadline, 10*time.Second + closingTime},
		} {
			time.Sleep(step.after)
			step.do()
			if got := below.deadline.Sub(began); got != step.want {
				t.Errorf("%s: the deadline is after %v, want %v", step.name, got, step.want)
			}
		}
	})
}

func TestRunningRequests(t *testing.T) {
	var r running
	ended := 0
	first, ok := r.enter(func() { ended++ })
	second, _ := r.enter(func() { ended++ })
	if n, closing := r.count(); !ok || n != 2 || closing {
		t.Errorf("%d, %v", n, closing)
	}
	first()
	empty := r.close()
	if _, ok := r.enter(nil); ok {
		t.Error("one came in after close")
	}
	r.end()
	select {
	case <-empty:
		t.Error("it is empty too early")
	default:
	}
	second()
	<-empty
	<-r.close() // as often as one likes
	if n, closing := r.count(); n != 0 || !closing || ended != 1 {
		t.Errorf("%d, %v; %d were ended, want 1", n, closing, ended)
	}
}
