package machine

import (
	"fmt"
	"time"
)

// Figures say how fast a Work was done, in the form in which the programs print JSON.
type Figures struct {
	GBPerSecond   float64  `json:"gb_per_second"`   // 10⁹ bytes
	GMACPerSecond float64  `json:"gmac_per_second"` // 10⁹ multiply-accumulates
	OfLimit       float64  `json:"of_limit"`        // the least time that the limits allow ÷ the time; 0: not measured
	BoundBy       Resource `json:"bound_by"`
}

// Figures compares the time that a Work took with the limits.
func (l Limits) Figures(w Work, took time.Duration) Figures {
	seconds := max(took.Seconds(), 1e-9) // not 0, by which the rates are divided
	floor, bound := l.Floor(w)
	return Figures{
		GBPerSecond:   float64(w.Memory+w.Cache) / seconds / 1e9,
		GMACPerSecond: float64(w.Integer+w.Float) / seconds / 1e9,
		OfLimit:       floor.Seconds() / seconds,
		BoundBy:       bound,
	}
}

// GB writes the bytes per second for a table; "" if no bytes were moved.
func (f Figures) GB() string { return Digits(f.GBPerSecond) }

// GMAC writes the multiply-accumulates per second for a table; "" if there were no multiplications.
func (f Figures) GMAC() string { return Digits(f.GMACPerSecond) }

// Limit writes the part of the limit as percents for a table; "" if it is not known.
func (f Figures) Limit() string {
	switch {
	case f.OfLimit == 0:
		return ""
	case f.OfLimit < 0.01:
		return "< 1 %"
	}
	return fmt.Sprintf("%.0f %%", 100*f.OfLimit)
}

// Digits writes a number for a table: with three digits, or more if more stand before the point; "" for 0.
func Digits(x float64) string {
	switch {
	case x == 0:
		return ""
	case x < 9.995:
		return fmt.Sprintf("%.2f", x)
	case x < 99.95:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.0f", x)
}

// LimitFigures are Limits in the form in which the programs print JSON: an object with the op "limits".
type LimitFigures struct {
	Op      string  `json:"op"`
	Threads int     `json:"threads"`
	Memory  float64 `json:"memory_gb_per_second"`
	Cache   float64 `json:"cache_gb_per_second"`
	Integer float64 `json:"int8_gmac_per_second"`
	Float   float64 `json:"f32_gmac_per_second"`
}

// JSON returns the limits as the programs print them.
func (l Limits) JSON() LimitFigures {
	return LimitFigures{"limits", l.Threads, l.Memory / 1e9, l.Cache / 1e9, l.Integer / 1e9, l.Float / 1e9}
}
