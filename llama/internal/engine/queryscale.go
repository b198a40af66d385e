package engine

import (
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/model"
)

// scaledRows are rows from … to-1 of a pass. Their queries are multiplied by a factor that is not 1.
type scaledRows struct {
	from, to int
	factor   float32
}

// appendScaled appends the rows of a job with scaled queries. Neighbouring rows of the same factor are together, whatever jobs they belong
// to: since the factor stays the same for thousands of positions, most passes have at most a few entries.
func appendScaled(list []scaledRows, r *model.RoPE, j *Job) []scaledRows {
	for row := j.first; row < j.first+j.rows; row++ {
		factor := r.QueryFactor(j.start() + row - j.first)
		if factor == 1 {
			continue
		}
		if n := len(list); n > 0 && list[n-1].to == row && list[n-1].factor == factor {
			list[n-1].to++
		} else {
			list = append(list, scaledRows{row, row + 1, factor})
		}
	}
	return list
}

// scaleQueries multiplies queries, which RoPE has rotated, by the factors of their positions.
func (p *pass) scaleQueries(a *attention) error {
	s := &p.attention[a.shape]
	for _, rows := range p.angles[a.rotary].scaled {
		if err := s.q.SliceInto(&s.scaled, rows.from, rows.to); err != nil {
			return err
		}
		if err := p.scaled.Run(p.device, backend.Scale{X: &s.scaled, By: rows.factor}); err != nil {
			return err
		}
	}
	return nil
}
