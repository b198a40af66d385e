package kvcache

import (
	"errors"
	"fmt"

	"github.com/antigravity-go/antigravity/backend"
)

// PrunePrefix forgets the first n slots of each head and moves the others to the front. A head that has fewer slots loses all.
func (c *Cache) PrunePrefix(n int) error {
	if err := c.usable(); err != nil {
		return err
	}
	if used := c.Len(); n < 0 || n > used {
		return fmt.Errorf("kvcache: prune the first %d slots: 0 to %d are possible", n, used)
	}
	slots := make([][]int, c.KVHeads())
	for head := range slots {
		for slot := n; slot < c.HeadLen(head); slot++ {
			slots[head] = append(slots[head], slot)
		}
	}
	return c.Keep(slots)
}

// Keep forgets all slots but those listed, in strictly ascending order, and moves them to the front. slots is one list for all KV
// heads, or a list for each KV head; without any list all slots stay. If the lists differ, a slot may hold different tokens in different
// heads, and heads may have different numbers of slots. Attention stays right, because each key carries its own position: RoPE was applied
// when the key was written.
func (c *Cache) Keep(slots [][]int) error {
	if err := c.usable(); err != nil {
		return err
	}
	if len(slots) == 0 {
		return nil
	}
	if c.window.size > 0 {
		return fmt.Errorf("kvcache: keep slots of a cache with a window of %d, which keeps its window", c.window.size)
	}
	keep, err := c.lists(slots)
	if err != nil {
		return err
	}
	if err := c.ownChanged(keep); err != nil {
		return fmt.Errorf("kvcache: keep slots: %w", err)
	}
	if err := c.Backend().Run(&backend.Compact{Slots: &c.slots, Keep: keep}); err != nil {
		return c.markBroken(fmt.Errorf("keep some of %d slots: %w", c.Len(), err))
	}
	var errs []error
	same := true
	for head, list := range keep {
		same = same && len(list) == c.HeadLen(head)
		errs = append(errs, c.trim(head, len(list)))
	}
	if !same {
		if err := c.record.keep(keep); err != nil {
			return c.markBroken(fmt.Errorf("keep %d slots: %w", c.Len(), err))
		}
	}
	return errors.Join(errs...)
}

// lists returns Keep's slots as a list for each head, and an error if Keep does not take them.
func (p *pages) lists(slots [][]int) ([][]int32, error) {
	if len(slots) > 1 && len(slots) != p.KVHeads() {
		return nil, fmt.Errorf("kvcache: keep slots of %d heads: give 1 list for all heads, or 1 for each of the %d KV heads", len(slots), p.KVHeads())
	}
	keep := make([][]int32, p.KVHeads())
	for head := range keep {
		list := slots[head%len(slots)]
		if err := ascending(list, p.HeadLen(head)); err != nil {
			return nil, fmt.Errorf("kvcache: head %d: %w", head, err)
		}
		if head > 0 && len(slots) == 1 {
			keep[head] = keep[0]
			continue
		}
		keep[head] = make([]int32, len(list))
		for i, slot := range list {
			keep[head][i] = int32(slot)
		}
	}
	return keep, nil
}

// ownChanged makes the pages that Keep writes the lists' own: those of the slots behind the first that do not stay in place.
func (p *pages) ownChanged(keep [][]int32) error {
	for head, list := range keep {
		same := 0 // slots at the front that stay
		for same < len(list) && int(list[same]) == same {
			same++
		}
		if err := p.own(head, same, len(list)); err != nil {
			return err
		}
	}
	return nil
}

// ascending checks that slots are strictly ascending and each at least 0 and below n.
func ascending(slots []int, n int) error {
	for i, slot := range slots {
		if slot < 0 || slot >= n || (i > 0 && slot <= slots[i-1]) {
			return fmt.Errorf("keep slot %d of %d: slots must be in range and ascending", slot, n)
		}
	}
	return nil
}
