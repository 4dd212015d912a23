package matrix

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"gorun/internal/base/units"
	"gorun/internal/record/column"
	"gorun/internal/record/result"
	"gorun/internal/stats"
)

// ties counts, for each comparison by a figure, the pairs of samples that the instrument does not tell apart: a histogram has
// buckets, a program prints whole numbers, the kernel counts ticks. Two such samples are not equal; they differ by less than a
// step. The zero value is ready for use.
type ties map[comparison]*tie

type tie struct {
	pairs  int
	equal  int // the figures are the same
	bucket int // both are in one bucket
	last   result.Bucket
	figure float64 // the last equal one
	digits int     // most decimals of any of the figures
}

// mostTies is the share of ties from which a verdict would be one on the instrument.
const mostTies = 0.5

// add counts a pair that has the figure.
func (t *ties) add(c comparison, figure Comparand, cell, base *result.Sample) {
	if *t == nil {
		*t = ties{}
	}
	of := (*t)[c]
	if of == nil {
		of = &tie{}
		(*t)[c] = of
	}
	of.pairs++
	x, _ := figure.raw(cell)
	y, _ := figure.raw(base)
	of.digits = max(of.digits, decimals(x), decimals(y))
	if x == y {
		of.equal, of.figure = of.equal+1, x
	}
	bucket, known := cell.Buckets[figure.Column]
	if other, alsoKnown := base.Buckets[figure.Column]; known && alsoKnown && bucket == other {
		of.bucket, of.last = of.bucket+1, bucket
	}
}

// correct returns the verdict of a comparison by a figure in this unit, unless it rests on ties: within a bucket nothing is judged, and equal figures are no
// proof that the difference is within the margin if the step between figures is larger than that.
func (t ties) correct(v stats.Verdict, c comparison, unit column.Unit) stats.Verdict {
	of := t[c]
	if of == nil {
		return v
	}
	most := mostTies * float64(of.pairs)
	if float64(of.bucket) > most {
		return v.Unjudged("both in the bucket " + bucketWords(of.last))
	}
	step := math.Pow10(-of.digits)
	if share := step / math.Abs(of.figure); v.Kind == stats.Same && float64(of.equal) > most && share > v.Margin {
		return v.Unjudged(fmt.Sprintf("both are %s, and the figure has steps of %s (%.2g%%)", show(of.figure, unit), show(step, unit), 100*share))
	}
	return v
}

func bucketWords(b result.Bucket) string {
	from, to := show(b.From, column.Unit(b.Unit)), show(b.To, column.Unit(b.Unit))
	switch {
	case b.To == 0:
		return "above " + from
	case b.From == 0:
		return "up to " + to
	}
	return "from " + from + " to " + to
}

// show returns a figure in words.
func show(x float64, unit column.Unit) string {
	text := strconv.FormatFloat(x, 'g', -1, 64)
	if word, is := unit.Word(); is {
		text += " " + word
	}
	if unit == column.Seconds {
		text = units.Seconds(x)
	}
	return text
}

// decimals returns the number of decimals of a figure, written as short as it can be; 0 for a whole number, however many zeros it
// ends in.
func decimals(x float64) int {
	_, after, _ := strings.Cut(strconv.FormatFloat(x, 'f', -1, 64), ".")
	return len(after)
}
