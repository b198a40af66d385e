package ollama

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// keepAlive is how long a model is to stay in memory after a request. It is looked at only if it is 0: models stay as long as there is
// room.
type keepAlive struct{ unload bool }

// ReadJSON reads a number of seconds or a duration as Go writes it, "5m"; either may be negative, for "for ever".
func (k *keepAlive) ReadJSON(at string, value json.RawMessage) error {
	if value[0] != '"' {
		var seconds float64
		err := wire.Decode(at, value, &seconds)
		k.unload = err == nil && seconds == 0
		return err
	}
	var text string
	if err := wire.Decode(at, value, &text); err != nil {
		return err
	}
	d, err := time.ParseDuration(strings.TrimSpace(text))
	if err != nil {
		return wire.Invalid(at, `%s is %.40q; it must be a number of seconds, or a duration such as "5m"`, at, text)
	}
	k.unload = d == 0
	return nil
}
