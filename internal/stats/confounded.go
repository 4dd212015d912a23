package stats

import "math"

// Disturbance sums up a disturbance, such as the CPU time that the hypervisor took, in the rounds of a cell and its baseline. The zero value
// has none.
type Disturbance struct {
	rounds       int
	sum, squares float64
}

// Add adds a round's difference, cell minus baseline.
func (d *Disturbance) Add(difference float64) {
	d.rounds++
	d.sum += difference
	d.squares += difference * difference
}

// Differs reports whether a disturbance affected a cell and its baseline unequally, so that it may have caused their
// ratio. Each round gives one difference, cell minus baseline: of the share of CPU time that was stolen or that other
// programs took, or of the logarithm of a canary loop's time. A mean difference of at most the material size, 0.02
// for two percentage points or 2%, does not count, even if it is certain.
// If the disturbance does not depend on which of the two runs, a random order makes each difference equally likely
// positive and negative, for differences of any size, including rare large ones. Then the sum S and the root V of the
// sum of squares have P(|S| ≥ xV) ≤ 2·exp(−x²/2) (Hoeffding, "Probability inequalities for sums of bounded random
// variables", JASA 58, 1963, given the sizes; Efron, "Student's t-test under symmetry conditions", JASA 64, 1969):
// the probability of a false positive is at most alpha at any number of rounds, for one look. At least 2·ln(2/alpha)
// rounds are needed for a positive.
func (d Disturbance) Differs(alpha, material float64) bool {
	return math.Abs(d.sum) > material*float64(d.rounds) && d.sum*d.sum > 2*math.Log(2/alpha)*d.squares
}
