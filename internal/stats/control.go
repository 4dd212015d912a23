package stats

// Control returns the cell number of the baseline's duplicate.
func (r *Judge) Control() int { return len(r.design.Cells) }

func (r *Judge) control() comparison { return r.comparisons[r.Control()] }

// differs reports whether the baseline is known to differ from its own duplicate.
func (r *Judge) differs() bool { return r.control().differs() || r.changed() }

// changed reports whether the ratio of the two changed during the run.
func (r *Judge) changed() bool {
	e := r.control().typical.ends()
	return e.Lo > e.Hi
}

// unsound reports whether no verdict is possible: it is not known by how much the two differ.
func (r *Judge) unsound() bool { return r.changed() || r.design.Strict && r.differs() }

// apart returns the factor by which the two may differ, if they do: each ratio to the baseline may be wrong by as much. Otherwise it is 1.
func (r *Judge) apart() float64 {
	factor := 1.0
	if r.design.Strict {
		return factor
	}
	for _, e := range [...]Effect{r.control().typical.ends(), r.control().total.interval} {
		if e.differs() {
			factor = max(factor, e.Hi, 1/e.Lo)
		}
	}
	return factor
}

// ends returns the interval of a typical ratio, wider by as much as the baseline may differ from its duplicate.
func (r *Judge) ends(c comparison) Effect { return r.design.grid().wider(c.typical.ends(), r.apart()) }

// controlled reports whether the control's interval is at most as wide as ± margin.
func (r *Judge) controlled() bool {
	e := r.control().typical.ends()
	return e.Hi-e.Lo <= 2*r.design.Margin+rounding
}

// ControlVerdict returns the verdict on the baseline's duplicate, judged by itself. Any kind but Same limits what this run
// can show.
func (r *Judge) ControlVerdict() Verdict {
	v := r.measured(r.control())
	if v.Kind == CantTell {
		v.Forecast = r.forecast(r.control())
	}
	return v
}
