package stats

// Shown returns an effect of the verdict as people see it, in words and in drawings: the ratio of the figure itself. Where a rate was
// judged, the effect is of the time that it stands for, and this is the inverse.
func (v Verdict) Shown(e Effect) Effect {
	if !v.Rate || e == (Effect{}) {
		return e
	}
	return Effect{Ratio: inverse(e.Ratio), Lo: inverse(e.Hi), Hi: inverse(e.Lo)}
}

// Words are the interval of an effect of the verdict.
func (v Verdict) Words(e Effect) string { return v.interval(e) }

// KindOf returns the kind of verdict that one effect gives by itself. What makes the verdict doubtful makes each of its effects so.
func (v Verdict) KindOf(e Effect) Kind {
	switch v.Kind {
	case Confounded, Invalid:
		return v.Kind
	}
	return e.kind(v.Margin)
}
