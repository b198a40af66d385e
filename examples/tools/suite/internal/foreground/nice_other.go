//go:build !linux

package foreground

// nicenessKnown says that setNice can do anything.
const nicenessKnown = false

func setNice(int) error { return nil }
