package llama

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/cost"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/tensor"
)

// encoderOfShape writes a BERT of random weights, with a small vocabulary, and returns its folder.
func encoderOfShape(b *testing.B, layers, hidden, heads, wide int) string {
	b.Helper()
	dir := b.TempDir()
	config := fmt.Sprintf(`{"model_type":"bert","architectures":["BertModel"],"hidden_size":%d,"num_hidden_layers":%d,"num_attention_heads":%d,"intermediate_size":%d,
		"vocab_size":1000,"max_position_embeddings":512,"type_vocab_size":2}`, hidden, layers, heads, wide)
	if err := os.WriteFile(filepath.Join(dir, checkpoint.ConfigFile), []byte(config), 0o644); err != nil {
		b.Fatal(err)
	}
	c, err := checkpoint.Folder(func(name string) ([]byte, error) { return os.ReadFile(filepath.Join(dir, name)) }).Config()
	if err != nil {
		b.Fatal(err)
	}
	head, r := map[string]any{}, rand.New(rand.NewPCG(1, 2))
	var data []byte
	for _, t := range checkpoint.Tensors(c) {
		first := len(data)
		n := 1
		for _, d := range t.Shape {
			n *= d
		}
		for range n {
			v := float32(r.NormFloat64()) / float32(math.Sqrt(float64(hidden)))
			if t.Role == model.Vector && !t.Bias {
				v++
			}
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
		}
		head[t.HuggingFace.Name] = map[string]any{"dtype": "F32", "shape": t.Shape, "data_offsets": []int{first, len(data)}}
	}
	h, err := json.Marshal(head)
	if err != nil {
		b.Fatal(err)
	}
	file := append(binary.LittleEndian.AppendUint64(nil, uint64(len(h))), h...)
	if err := os.WriteFile(filepath.Join(dir, checkpoint.WeightsFile), append(file, data...), 0o644); err != nil {
		b.Fatal(err)
	}
	return dir
}

// BenchmarkEmbed embeds texts of some numbers of tokens with MiniLM's shape (6 layers of 384) and with those of bge-small (12 of 384) and bge-base (12 of 768).
// It also reports the least time of processors, which other programs do not change much.
func BenchmarkEmbed(top *testing.B) {
	b := top
	for _, shape := range []struct {
		name                        string
		layers, hidden, heads, wide int
	}{{"MiniLM", 6, 384, 12, 1536}, {"small", 12, 384, 12, 1536}, {"base", 12, 768, 12, 3072}} {
		var dir string
		for _, d := range []tensor.DType{tensor.F32, tensor.F16, tensor.Q8_0} {
			b.Run(shape.name+"/"+d.String(), func(b *testing.B) {
				if dir == "" {
					dir = encoderOfShape(top, shape.layers, shape.hidden, shape.heads, shape.wide)
				}
				m, err := Load(dir, &LoadOptions{Weights: d})
				if err != nil {
					b.Fatal(err)
				}
				defer m.Close()
				for _, tokens := range []int{16, 64, 128, 512} {
					for _, texts := range []int{1, 8, 64} {
						if testing.Short() && tokens*texts > 1024 {
							continue
						}
						all := make([][]Token, texts)
						for i := range all {
							for j := range tokens {
								all[i] = append(all[i], Token((i*31+j*17)%1000))
							}
						}
						b.Run(fmt.Sprintf("%dx%d", texts, tokens), func(b *testing.B) {
							e := embedding{model: m}
							b.ReportAllocs()
							least := math.Inf(1)
							for b.Loop() {
								began := cost.Seconds()
								if _, err := e.tokens(b.Context(), all); err != nil {
									b.Fatal(err)
								}
								least = min(least, cost.Seconds()-began)
							}
							b.ReportMetric(1000*least, "least-cpu-ms")
							b.ReportMetric(float64(b.N*texts*tokens)/b.Elapsed().Seconds(), "tokens/s")
						})
					}
				}
			})
		}
	}
}
