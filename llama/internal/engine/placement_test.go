package engine_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/llama/internal/engine"
)

// TestDivide divides 8 layers of 10 bytes, with 5 bytes of embeddings, 7 behind the layers, and 1 for each device.
func TestDivide(t *testing.T) {
	c := &model.Config{Layers: 8}
	n := &engine.Needs{Layers: slices.Repeat([]int64{10}, 8), First: 5, Last: 7, Each: 1}
	processor, shared := engine.Wish{}, &model.Config{Layers: 8}
	shared.Mixers = make([]model.Mixer, 8)
	for i := 5; i < 8; i++ { // which read layer 4
		shared.Mixers[i] = model.SharedAttention
	}
	for _, test := range []struct {
		of     *model.Config
		wishes []engine.Wish
		want   string
	}{
		{c, []engine.Wish{processor}, "[8]"},
		{c, []engine.Wish{processor, processor}, "[4 4]"},
		{c, []engine.Wish{processor, processor, processor}, "[3 3 2]"},
		{c, []engine.Wish{processor, {Layers: 3}}, "[5 3]"},
		{c, []engine.Wish{processor, {Layers: 99}}, "[0 8]"},
		{c, []engine.Wish{{Layers: 5}, {Layers: 5}}, "[5 3]"},
		{c, []engine.Wish{{Layers: 3}, {Layers: 4}}, "the devices are to compute 7 layers of the model's 8"},
		{c, []engine.Wish{processor, {Bytes: 39 * 64}}, "[0 8]"},
		{c, []engine.Wish{processor, {Bytes: 64}}, "[3 5]"},                // 50 and 7 and 1
		{c, []engine.Wish{{Bytes: 64}, processor}, "[5 3]"},                // 50 and 5 and 1
		{c, []engine.Wish{processor, {Bytes: 64 / 8}}, "[8 0]"},            // not even the output head
		{c, []engine.Wish{{Bytes: 64}, processor, {Bytes: 64}}, "[5 0 3]"}, // a device that is full has no more room than one that is not
		{c, []engine.Wish{{Bytes: 100}, {Bytes: 100}}, "[4 4]"},
		{c, []engine.Wish{{Bytes: 100}, {Bytes: 50}}, "[6 2]"},
		{c, []engine.Wish{{Bytes: 64}, {Bytes: 8}}, "the model takes about 93 bytes of the devices' memory, which have 72: 5 of 8 layers fit"},
		{shared, []engine.Wish{processor, {Layers: 5}}, "[3 5]"},
		{shared, []engine.Wish{processor, {Bytes: 64}}, "[3 5]"},
		{shared, []engine.Wish{processor, processor}, "[3 5]"},
		{shared, []engine.Wish{processor, {Layers: 3}}, "the devices cannot have so many layers each: some of the model's 8 layers read keys and values of earlier ones, " +
			"which must be on the same device, so that a device may begin with layers [0 1 2 3 4] alone"},
	} {
		counts, err := engine.Divide(test.of, n, test.wishes)
		got := fmt.Sprint(counts)
		if err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%+v: %s, want %s", test.wishes, got, test.want)
		}
	}
}

// TestDivideKeepsBounds divides random models between random devices: all layers are placed, and no device has more than its memory.
func TestDivideKeepsBounds(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		c := &model.Config{Layers: 1 + random.IntN(12)}
		n := &engine.Needs{First: random.Int64N(30), Last: random.Int64N(30), Each: random.Int64N(5)}
		n.Head = random.Int64N(min(n.First, n.Last) + 1)
		for range c.Layers {
			n.Layers = append(n.Layers, 1+random.Int64N(20))
		}
		wishes := make([]engine.Wish, 1+random.IntN(4))
		for i := range wishes {
			wishes[i] = []engine.Wish{{}, {Layers: 1 + random.IntN(4)}, {Bytes: 1 + random.Int64N(200)}}[random.IntN(3)]
		}
		counts, err := engine.Divide(c, n, wishes)
		var large *engine.TooLargeError
		if errors.As(err, &large) != (err != nil && slices.ContainsFunc(wishes, func(w engine.Wish) bool { return w.Bytes > 0 })) {
			t.Errorf("%+v of %+v: %v", wishes, n, err)
		}
		if err != nil {
			if slices.Contains(wishes, engine.Wish{}) {
				t.Errorf("%+v of %+v: %v", wishes, n, err)
			}
			continue
		}
		at := 0
		for i, count := range counts {
			if bytes := n.Of(at, at+count); wishes[i].Bytes > 0 && bytes > wishes[i].Bytes {
				t.Errorf("%+v of %+v: device %d has %d bytes", wishes, n, i, bytes)
			}
			at += count
		}
		if at != c.Layers {
			t.Errorf("%+v of %+v: %v", wishes, n, counts)
		}
	}
}
