//go:build (!amd64 && !arm64) || purego

package panels

// run is portable: no tier without assembly has panels.
func (t transposition) run(unit, bytes int) { t.portable(unit, bytes) }

// There are no quantizers.
var quantizers []quantizer
