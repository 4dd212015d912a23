package stats

// ControlVerdict returns that on the baseline's duplicate, judged by itself: anything but Same means that the run cannot be
// judged by, yet or at all.
func (r *Race) ControlVerdict() Verdict {
	c := r.comparisons[r.Control()]
	v := r.measured(c)
	if v.Kind == CantTell {
		v.Forecast = r.forecast(c)
	}
	return v
}

// measured is what the two effects of a comparison say by themselves.
func (r *Race) measured(c comparison) Verdict {
	v := Verdict{
		Typical: c.effect(),
		Rounds:  len(c.typical.rounds),
		Margin:  r.design.Margin,
		Step:    1 / float64(r.grid),
		Rate:    r.design.Rate,
	}
	if c.total.looks > 0 {
		total := c.totalEffect()
		v.Total = &total
	}
	v.Kind = v.judged()
	return v
}
