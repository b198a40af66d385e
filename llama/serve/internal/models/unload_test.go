package models

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestUnload checks that an unwanted model is closed as soon as nobody uses it, and not before; and that it comes back when somebody asks.
func TestUnload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakes{t: t}
		a := &kind{name: "a", said: 10, size: 10, load: time.Second, shut: time.Second}
		c := cacheOf(t, 0, f, a)
		slot := c.slots[0]
		c.unload(slot) // is not there
		acquire := func() {
			t.Helper()
			if _, err := c.acquire(t.Context(), slot); err != nil {
				t.Fatal(err)
			}
		}
		acquire()
		acquire()
		c.unload(slot)
		c.release(slot)
		synctest.Wait()
		if a.open.Load() != 1 {
			t.Error("it was closed while it was in use")
		}
		c.release(slot)
		time.Sleep(time.Minute)
		if a.open.Load() != 0 || f.used != 0 {
			t.Errorf("%d are open, and take %d bytes", a.open.Load(), f.used)
		}
		acquire()
		c.release(slot)
		time.Sleep(time.Minute)
		if a.loads.Load() != 2 || a.open.Load() != 1 {
			t.Errorf("%d loads, %d open; want one more, which stays", a.loads.Load(), a.open.Load())
		}
		c.unload(slot)
		acquire() // while it is closed
		c.release(slot)
		checkCache(t, c)
		if a.loads.Load() != 3 || a.open.Load() != 1 {
			t.Errorf("%d loads, %d open", a.loads.Load(), a.open.Load())
		}
		end(t, c, f)
	})
}

// TestNames checks names with Ollama's tag.
func TestNames(t *testing.T) {
	r, err := New([]Spec{{Name: "a", Aliases: []string{"x"}, Load: loadPebble}, {Name: "b:latest", Load: loadPebble}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close(t.Context())
	for name, want := range map[string]string{
		"a": "a", "a:latest": "a", "x": "a", "x:latest": "a", "b:latest": "b:latest", "b": "", "a:1b": "", ":latest": "", "": "", "a:latest:latest": "",
	} {
		if s, known := r.Find(name); s.Name != want || known != (want != "") {
			t.Errorf("%q is %q, want %q", name, s.Name, want)
		}
	}
	if r.Unload("b") || !r.Unload("a:latest") {
		t.Error("what is not there is given back, or what is there is not")
	}
	if f := r.Describe("a"); f != nil {
		t.Errorf("%+v is known of a model that was never loaded", f)
	}
	lease, err := r.Lease(t.Context(), "a:latest")
	if err != nil {
		t.Fatal(err)
	}
	lease.Close()
	r.Unload("a")
	if f := r.Describe("a"); f == nil || f.Fingerprint == "" || f.Context == 0 || f.Parameters == 0 || f.Type != "Q4_0" || f.ContextLength() != f.Context {
		t.Errorf("of a model that was loaded %+v is known", f)
	}
}
