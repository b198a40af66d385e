//go:build (amd64 || arm64) && !purego

package asm

import (
	"github.com/antigravity-go/antigravity/asm/internal/attention"
	"github.com/antigravity-go/antigravity/asm/internal/panels"
)

// replacePanels sets the panels of some formats; of others they stay those of the tier below. The list of the tier below does not change.
// Attention by a unit multiplies with them too.
func (k *Kernels) replacePanels(replacements []*Panels, unit *attention.Unit) {
	list := replacements
	for _, p := range k.panels {
		if panels.Find(replacements, p.Format()) == nil {
			list = append(list, p)
		}
	}
	k.panels, k.pages, k.merge = list, unit.Pages(list), unit.Merge
}
