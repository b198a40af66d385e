package checkpoint

import (
	"github.com/antigravity-go/antigravity/internal/checkpoint/families"
	"github.com/antigravity-go/antigravity/internal/checkpoint/keys"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/modeljson"
	"github.com/antigravity-go/antigravity/internal/unsupported"
)

// parseConfig reads config.json: it finds the family, which reads its keys. Keys that count and that the family does not read are an error.
func parseConfig(data []byte) (*model.Config, error) {
	bare, err := headless(data)
	if err != nil {
		return nil, err
	}
	if data, err = textConfig(data); err != nil {
		return nil, err
	}
	k, err := keys.ReadFolder(data)
	if err != nil {
		return nil, err
	}
	var kind string
	var bidirectional any
	if value := k.Unread("use_bidirectional_attention"); value != nil {
		if err := modeljson.Unmarshal(value, &bidirectional); err != nil {
			return nil, err
		}
	}
	if k.Text("model_type", "", &kind, ""); k.Err() != nil {
		return nil, k.Err()
	}
	every := 0
	if value := k.Unread("moe_every_n_layers"); value != nil {
		if err := modeljson.Unmarshal(value, &every); err != nil {
			return nil, err
		}
	}
	f, err := families.ByType(kind, bidirectional, every > 0)
	if err != nil {
		return nil, err
	}
	c := &model.Config{}
	if err := f.Walk(k, c); err != nil {
		return nil, err
	}
	if err := f.Refuse(k); err != nil {
		return nil, err
	}
	if bare {
		c.TiedEmbeddings = true // there is no head to load; see Pipeline.Headless
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c.EOS = distinct(c.EOS)
	return c, nil
}

// generationJSON has the keys of generation_config.json that count.
type generationJSON struct {
	EOS tokenList `json:"eos_token_id"`
}

// tokenList is one token id, several, or null.
type tokenList = families.TokenList

// addGeneration reads generation_config.json. Its end-of-sequence ids join those of config.json.
func addGeneration(c *model.Config, data []byte) error {
	var g generationJSON
	if err := modeljson.Unmarshal(data, &g); err != nil {
		return err
	}
	if err := c.CheckTokens(g.EOS...); err != nil {
		return err
	}
	c.EOS = distinct(append(c.EOS, g.EOS...))
	var err error
	c.Sampling, err = readSampling(data)
	return err
}

// JSON returns config.json for weights of a type that PyTorch knows by the name dtype, of a Llama: other families are an error.
// RoPE.Divisors are left out: the format has no place for them.
func JSON(c *model.Config, dtype string) ([]byte, error) {
	if c.Family != "" || c.Windowed != nil || c.NoRoPE != nil {
		return nil, unsupported.Errorf("a config.json of the architecture %s", families.Of(c).Name)
	}
	k := keys.WriteFolder()
	if err := families.Of(c).Walk(k, c); err != nil {
		return nil, err
	}
	k.Put("torch_dtype", "", dtype, keys.None)
	return k.JSON()
}

// or returns what p points to; if it is nil, otherwise.
func or[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}
