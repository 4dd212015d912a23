package csrc

// PrimeArgs are the numbers First, First+Step, …: Count of them, all below 2^63; Step is at least 1.
type PrimeArgs struct {
	First, Step, Count uint64
	Stop               *Stop // may be nil
}

// PrimeResult describes the work of a loop until it ended or was stopped.
type PrimeResult struct {
	Numbers uint64 // tested to the end
	Primes  uint64 // of them
	Trials  uint64 // divisibility tests
}
