package stats

// ControlVerdict returns the verdict on the baseline's duplicate, judged by itself: any kind but Same means that this
// run cannot support verdicts, not yet or not at all.
func (r *Judge) ControlVerdict() Verdict {
	c := r.comparisons[r.Control()]
	v := r.measured(c)
	if v.Kind == CantTell {
		v.Forecast = r.forecast(c)
	}
	return v
}

// measured returns the verdict that follows from the two effects of a comparison alone.
func (r *Judge) measured(c comparison) Verdict {
	v := Verdict{
		Typical: c.effect(),
		Rounds:  len(c.typical.rounds),
		Margin:  r.design.Margin,
		Step:    1 / float64(r.grid),
		Rate:    r.design.Rate,
		Amount:  r.design.Amount,
	}
	if c.total.looks > 0 {
		total := c.totalEffect()
		v.Total = &total
	}
	v.Kind = v.judged()
	return v
}
