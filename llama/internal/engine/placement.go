package engine

import (
	"fmt"
	"sort"

	"github.com/antigravity-go/antigravity/internal/model"
)

// Which layers a device computes is decided before memory is taken for any, from how many bytes each layer takes and each device has. For example, a
// model of 32 layers of 1 GB, with 2 GB around them, and a GPU with 20 GB after the processor:
//
//	Divide   the processor has enough memory, and gets as few layers as possible: with 14 of them the other 18, and the output head, fit on
//	         the GPU
//
// Two GPUs alone are both filled to the same part of their memory, so that both have room for caches.

// Needs is how many bytes a model takes, about.
type Needs struct {
	Layers []int64 // the weights of each layer, and what it remembers
	First  int64   // the embeddings
	Last   int64   // what comes after the layers
	Logits int64   // of conversations and passes: on the device that has Last
	Head   int64   // the part of Last that is the embeddings' table again: a device that has First, too, has it once
	Each   int64   // the working memory of each device
}

// Of returns the bytes of the layers from first to end-1: with the embeddings if the first layer is there, and the output head if the last one is. No layers
// take 0.
func (n *Needs) Of(first, end int) (bytes int64) {
	if first >= end {
		return 0
	}
	bytes = n.Each
	for _, layer := range n.Layers[first:end] {
		bytes += layer
	}
	if first == 0 {
		bytes += n.First
	}
	if end == len(n.Layers) {
		bytes += n.Last + n.Logits
		if first == 0 {
			bytes -= n.Head
		}
	}
	return bytes
}

// NeedsOf returns what a model needs. Its tensors, those of model.Config.Tensors, have some sizes. All conversations together remember a number of tokens, and
// passes have up to some rows of prompts and of answers. Keys and values are taken to have 16 bits.
func NeedsOf(c *model.Config, sizes []int64, tokens, prompts, answers int) Needs {
	const floatBytes, halfBytes = 4, 2
	n := Needs{Layers: make([]int64, c.Layers)}
	tensors := c.Tensors()
	for i := range tensors {
		switch t := &tensors[i]; {
		case t.Part.InLayers():
			n.Layers[t.Layer] += sizes[i]
		case t.Part == model.PerLayerEmbedding: // it stays in its file
		case t.Part < model.AttentionNorm:
			n.First += sizes[i]
			if t.Part == model.Embedding && c.TiedEmbeddings {
				n.Head = sizes[i]
			}
		default:
			n.Last += sizes[i]
		}
	}
	cacheOf, _ := cachesOf(c)
	for i := range n.Layers {
		is := c.Layer(i)
		n.Layers[i] += floatBytes * c.StateElements(is.Mixer)
		if cacheOf[i] != i || !is.Mixer.Attends() {
			continue
		}
		seen := tokens
		if is.Window > 0 {
			seen = min(tokens, is.Window+prompts)
		}
		n.Layers[i] += 2 * halfBytes * int64(is.KVHeads) * int64(is.HeadDim) * int64(seen)
	}
	const copies = 4 // of a row's logits: the conversation's, those of two passes, and those that are drawn from
	n.Last, n.Logits = n.Last+n.Head, floatBytes*int64(c.VocabSize)*int64(GroupRows+copies*answers)
	n.Each = floatBytes * int64(prompts+answers) * rowFloats(c)
	return n
}

// Wish bounds a device's share.
type Wish struct {
	Layers int   // how many the device is to compute, or all if there are fewer; 0: what the others leave, as far as Bytes suffice
	Bytes  int64 // its memory for the model; 0: enough
}

// TooLargeError says that the devices' memory does not suffice.
type TooLargeError struct {
	Layers, Fit int   // of the model, and how many of them fit
	Need, Have  int64 // bytes
}

// Error says by how much.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the model takes about %d bytes of the devices' memory, which have %d: %d of %d layers fit", e.Need, e.Have, e.Fit, e.Layers)
}

// shares is how finely the memory of devices is divided that are filled to the same part.
const shares = 4096

// Divide returns how many layers each device computes, in the devices' order; 0 for devices that are not needed. If the devices' memory does not suffice,
// the error is a *TooLargeError.
func Divide(c *model.Config, n *Needs, wishes []Wish) ([]int, error) {
	layers := len(n.Layers)
	wanted, most := 0, 0 // layers that were asked for, and the most that each device without a bound gets
	for _, w := range wishes {
		wanted += w.Layers
		if w.Layers == 0 && w.Bytes == 0 {
			most = layers
		}
	}
	fill := func(free int, share int64) (counts []int, at int) {
		left := wanted // by the devices that come
		for _, w := range wishes {
			end := at
			left -= w.Layers
			switch most := max(layers-left, at); {
			case w.Layers > 0:
				end = min(at+w.Layers, layers)
			case w.Bytes == 0:
				for end = min(at+free, most); end < layers && end > at && !MayCut(c, end); {
					end++
				}
			default:
				for i := at + 1; i <= most; i++ {
					if (i == layers || MayCut(c, i)) && n.Of(at, i) <= w.Bytes/shares*share+w.Bytes%shares*share/shares {
						end = i
					}
				}
			}
			counts, at = append(counts, end-at), end
		}
		return counts, at
	}
	for free := range most + 1 {
		if counts, at := fill(free, shares); most > 0 && at == layers {
			return counts, checked(c, counts, wishes, wanted)
		}
	}
	least := sort.Search(shares, func(share int) bool { // the smallest part of all memory in which the model has room
		_, at := fill(0, int64(share))
		return at == layers
	})
	counts, at := fill(0, int64(least))
	if at == layers {
		return counts, checked(c, counts, wishes, wanted)
	}
	var have int64
	for _, w := range wishes {
		if w.Layers == 0 {
			have += w.Bytes
		}
	}
	if have == 0 {
		return nil, fmt.Errorf("the devices are to compute %d layers of the model's %d", wanted, layers)
	}
	return nil, &TooLargeError{layers, at, n.Of(0, layers), have}
}

// checked checks that devices may begin with the layers that they have, and have the layers that were asked for, unless these are more than the model has: wanted.
func checked(c *model.Config, counts []int, wishes []Wish, wanted int) error {
	at := 0
	for i, count := range counts {
		if count > 0 && at > 0 && !MayCut(c, at) || count < wishes[i].Layers && wanted <= c.Layers {
			return fmt.Errorf("the devices cannot have so many layers each: some of the model's %d layers read keys and values of earlier ones, which must be on the "+
				"same device, so that a device may begin with layers %v alone", c.Layers, cuts(c))
		}
		at += count
	}
	return nil
}

// cuts lists the layers with which stages may begin.
func cuts(c *model.Config) (list []int) {
	for i := range c.Layers {
		if i == 0 || MayCut(c, i) {
			list = append(list, i)
		}
	}
	return list
}
