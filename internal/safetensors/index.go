package safetensors

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Index says in which shard each tensor of a model in several files lies: a model.safetensors.index.json.
type Index struct {
	shards map[string]string // by tensor
}

const (
	shardSuffix  = ".safetensors"
	maxShardName = 255 // bytes, as file systems have it
)

// ParseIndex reads an index. A shard must be the plain name of a .safetensors file, so that an index cannot lead out of
// its folder. Every error is a *format.OffsetError.
func ParseIndex(b []byte) (*Index, error) {
	x := &Index{}
	r := newReader(b, 0)
	err := r.object("the index", func(key string) (err error) {
		if key == "weight_map" {
			x.shards, err = r.weightMap()
			return err
		}
		var ignored json.RawMessage // the total size, and whatever others may add
		if err := r.Decode(&ignored); err != nil {
			return r.errorf("reading %.100q: %w", key, err)
		}
		return nil
	})
	if err == nil {
		err = r.end()
	}
	if err == nil && len(x.shards) == 0 {
		err = r.errorf("the index has no weight_map, or an empty one")
	}
	if err != nil {
		return nil, fmt.Errorf("safetensors index: %w", err)
	}
	return x, nil
}

func (r reader) weightMap() (map[string]string, error) {
	m := make(map[string]string)
	names := make(map[string]string) // one copy of each shard's name
	err := r.object("weight_map", func(tensor string) error {
		shard, err := r.text("weight_map")
		if err != nil {
			return err
		}
		if !plainShardName(shard) {
			return r.errorf("tensor %.100q lies in %.100q, which is no plain name of a %s file", tensor, shard, shardSuffix)
		}
		if _, known := names[shard]; !known {
			names[shard] = shard
		}
		m[tensor] = names[shard]
		return nil
	})
	return m, err
}

// plainShardName reports whether name can name a shard on every system: no folder, drive or stream, no control character.
func plainShardName(name string) bool {
	bad := func(r rune) bool { return r < ' ' || strings.ContainsRune(`/\:*?"<>|`, r) }
	return len(name) > len(shardSuffix) && len(name) <= maxShardName && strings.HasSuffix(name, shardSuffix) &&
		!strings.ContainsFunc(name, bad) && !strings.Contains(name, "..")
}

// Shard returns the file that holds a tensor, and whether the index has the tensor.
func (x *Index) Shard(tensor string) (string, bool) {
	shard, ok := x.shards[tensor]
	return shard, ok
}

// Shards returns the files, each once, in alphabetical order.
func (x *Index) Shards() []string { return slices.Compact(slices.Sorted(maps.Values(x.shards))) }

// Names returns the tensors in alphabetical order.
func (x *Index) Names() []string { return slices.Sorted(maps.Keys(x.shards)) }
