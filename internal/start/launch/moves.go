package launch

import (
	"errors"
	"os"

	"gorun/internal/kernel/sysfs"
	"gorun/internal/machine/perf"
	"gorun/internal/machine/topology"
	"gorun/internal/record/result"
)

// Migrations returns the moves by the relation of the two CPUs; nil if they were not requested, or not recorded.
func (o Outcome) Migrations(m *topology.Machine) *result.Migrations {
	if o.MovesBy == "" {
		return nil
	}
	migrations := perf.Classify(m, o.Moves)
	migrations.By, migrations.Lost = o.MovesBy, o.MovesLost
	return &migrations
}

// Count adds the moves to the counters of a sample, for each relation that two CPUs of the machine have.
func (o Outcome) Count(m *topology.Machine, c *result.Counters) {
	moves := o.Migrations(m)
	if moves == nil || moves.Lost > 0 {
		return
	}
	has := m.Counts()
	for _, relation := range []struct {
		is    bool
		moves uint64
		to    **uint64
	}{
		{has.Cores < has.Online, moves.SameCore, &c.SameCoreMoves},
		{has.LLCs < has.Cores, moves.SameLLC, &c.SameLLCMoves},
		{has.Nodes < has.LLCs, moves.SameNode, &c.SameNodeMoves},
		{has.Nodes > 1, moves.CrossNode, &c.CrossNodeMoves},
	} {
		if relation.is {
			*relation.to = &relation.moves
		}
	}
}

// follow opens a trace of the processes that the calling thread will start, and notes its method or why there is none;
// nil without a trace.
func (o *Outcome) follow() *perf.Family {
	cpus, err := sysfs.ReadSet(os.DirFS("/"), "sys/devices/system/cpu/online")
	if err != nil {
		o.unseen(err)
		return nil
	}
	family, err := perf.OpenFamily(cpus.List())
	if err != nil {
		o.unseen(err)
		return nil
	}
	o.MovesBy = string(perf.TraceSwitches)
	return family
}

// unseen notes why moves are not counted, which differs from 0 moves.
func (o *Outcome) unseen(err error) {
	w := result.WarningOf("no-migrations", "migrations are not counted", err)
	o.MovesBy, o.Moves, o.MovesLost, o.NoMoves = "", nil, 0, &w
}

// count reads a trace, if it is not nil, until the returned function is called, which returns the counts.
func count(family *perf.Family) (end func(o *Outcome)) {
	if family == nil {
		return func(*Outcome) {}
	}
	var counts []perf.MoveCount
	var lost uint64
	var failure error
	read := func() {
		moves, n, err := family.Read()
		counts, lost, failure = perf.CountMoves(counts, moves), lost+n, errors.Join(failure, err)
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		for family.Wait() {
			read()
		}
	}()
	return func(o *Outcome) {
		family.Stop()
		<-over
		read()
		o.Moves, o.MovesLost = counts, lost
		if err := errors.Join(failure, family.Close()); err != nil {
			o.unseen(err)
		}
	}
}
