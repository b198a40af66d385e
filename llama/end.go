package llama

import "slices"

// addEnd adds the end that the tokenizer names to Config.EOS. Models that were trained further for conversations have a new one
// there, and config.json often still has the base model's alone.
func (m *Model) addEnd() {
	id, ok := m.tokenizer.ID(m.tokenizer.end)
	if !ok || m.tokenizer.end == "" || slices.Contains(m.config.EOS, id) {
		return
	}
	m.config.EOS = append(slices.Clip(m.config.EOS), id)
	m.ends = slices.Sorted(slices.Values(m.config.EOS))
}

// IsEnd reports whether a token ends a turn: whether it is one of Config.EOS, which has those of config.json and generation_config.json (or
// of the GGUF file), and the one that the tokenizer names.
func (m *Model) IsEnd(t Token) bool {
	_, is := slices.BinarySearch(m.ends, t)
	return is
}
