package contend

// fairness is Jain's index (Jain, Chiu and Hawe, "A quantitative measure of fairness and discrimination", DEC-TR-301,
// 1984), and the lowest rate over the highest. It is 1 without any work.
func fairness(rates []float64) (jain, minMax float64) {
	sum, squares := 0.0, 0.0
	least, most := rates[0], rates[0]
	for _, r := range rates {
		sum += r
		squares += r * r
		least, most = min(least, r), max(most, r)
	}
	if most == 0 {
		return 1, 1
	}
	return sum * sum / (float64(len(rates)) * squares), least / most
}
