package live

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"gorun/internal/base/units"
	"gorun/internal/record/result"
)

// longBlock is the figure in the second half of a long block over that in the first, and the name of its setting.
type longBlock struct {
	ratio float64
	of    string
}

// longLength is how long a block goes on that is continued.
func (s *sampler) longLength() time.Duration {
	return min(mostLong, max(leastLong, longBlocks*s.block))
}

// long continues a block, and returns the figure in the second half over that in the first.
func (s *sampler) long(ctx context.Context, b block, of string) (_ *float64, err error) {
	half := s.longLength() / 2
	var halves [2]float64
	for i := range halves {
		figures := &Figures{}
		if b, err = s.measure(ctx, &b, half, figures); err != nil {
			return nil, err
		}
		if halves[i], err = s.first(b, figures); err != nil {
			return nil, nil // the next long block may have it
		}
	}
	ratio := halves[1] / halves[0]
	if checkFigure(s.metrics[0], ratio) != nil {
		return nil, nil
	}
	s.longs = append(s.longs, longBlock{ratio, of})
	return &ratio, nil
}

// slowly is the mean change within long blocks from which the program settles more slowly than blocks show.
const slowly = 0.04

// settlesSlowly warns if long blocks show that the program is still settling when a block is over. All blocks follow a switch in the
// same way, so such a program is compared in a state that it does not have without switches.
func (s *sampler) settlesSlowly() []result.Warning {
	if len(s.longs) == 0 {
		return nil
	}
	sum, up := 0.0, 0
	var of []string
	for _, l := range s.longs {
		sum += math.Log(l.ratio)
		if l.ratio > 1 {
			up++
		}
		of = append(of, l.of)
	}
	slices.Sort(of)
	mean := sum / float64(len(s.longs))
	if math.Abs(mean) < slowly || up != 0 && up != len(s.longs) {
		return nil
	}
	return []result.Warning{{
		Code: "slow-carry-over",
		Message: fmt.Sprintf("%s was still %s during long blocks of %s",
			s.metrics[0].text, drift(mean), strings.Join(slices.Compact(of), " and of ")),
		Hint: "give a longer --washout and --block: each setting is compared in a state that follows a switch",
	}}
}

// drift has the direction and the size of a mean change, a logarithm, within long blocks.
func drift(mean float64) string {
	direction := "rising"
	if mean < 0 {
		direction = "falling"
	}
	return fmt.Sprintf("%s (%s)", direction, units.Changes{Step: 0.01, Amount: true}.Ratio(math.Exp(mean)))
}
