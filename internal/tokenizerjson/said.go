package tokenizerjson

// Said is what a file says of settings that tokenizer_config.json may have, too. A nil field: the file has no step that the setting is of.
type Said struct {
	Lower, StripAccents, Chinese *bool // of a BertNormalizer
	PrefixSpace                  *bool // of a ByteLevel or Metaspace among the pre-tokenizers
}

// Said returns what the file says. Its components are ones that Components returns without an error.
func (f *File) Said() (s Said) {
	normalizers, _ := f.Components("normalizer")
	for _, c := range normalizers {
		if c.Type == "BertNormalizer" {
			lower := OrDefault(c.LowercaseText, true)
			strips, spaces := OrDefault(c.StripAccents, lower), OrDefault(c.SpaceChinese, true)
			s.Lower, s.StripAccents, s.Chinese = &lower, &strips, &spaces
		}
	}
	splits, _ := f.Components("pre_tokenizer")
	for _, c := range splits {
		switch c.Type {
		case "ByteLevel":
			prefix := OrDefault(c.AddPrefixSpace, true)
			s.PrefixSpace = &prefix
		case "Metaspace":
			scheme, _ := c.PrefixScheme()
			prefix := scheme != "never"
			s.PrefixSpace = &prefix
		}
	}
	return s
}
