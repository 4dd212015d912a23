package doctor

import (
	"errors"
	"fmt"

	"gorun/internal/base/units"
	"gorun/internal/kernel/linux"
	"gorun/internal/kernel/sysfs"
)

func numaNodes(s Subject, _ *Trial) *Condition {
	n := s.Machine.Counts().Nodes
	c := &Condition{Level: OK, Value: units.Things(n, "node")}
	if n < 2 {
		c.Level, c.Effect = Unfit, "all memory is equally near: there is nothing to compare"
		return c
	}
	c.Digest = c.Value
	return c
}

func memoryPolicy(_ Subject, _ *Trial) *Condition {
	_, _, err := linux.GetMempolicy()
	if err == nil {
		return &Condition{Level: OK, Value: "allowed"}
	}
	return &Condition{
		Level: Limit, Value: "refused: " + err.Error(), Remedy: linux.Remedy(err),
		Effect: "memory cannot be placed on a node",
	}
}

func numaBalancing(s Subject, _ *Trial) *Condition {
	if s.Machine.Counts().Nodes < 2 {
		return nil
	}
	is, err := linux.ReadNUMABalancing(s.Root)
	switch {
	case errors.Is(err, linux.ErrNoNUMABalancing):
		return &Condition{Level: OK, Value: "not in this kernel"}
	case err != nil:
		return &Condition{Level: Limit, Value: "unknown", Effect: err.Error()}
	case is == 0:
		return &Condition{Level: OK, Value: "off"}
	}
	delay, _ := linux.ReadNUMAScan(s.Root)
	return &Condition{
		Level: Note, Value: fmt.Sprintf("%d, first scan after %s of CPU time", is, units.Seconds(delay)), Digest: "NUMA balancing on",
		Effect: "the kernel moves memory and threads while a sample runs, but not in samples shorter than that",
		Remedy: "compare with --numa-balancing 0,1, or turn it off",
		Fix: &Fix{
			Do: "sudo sysctl kernel.numa_balancing=0", Undo: fmt.Sprintf("sudo sysctl kernel.numa_balancing=%d", is),
		},
	}
}

func hugePages(s Subject, _ *Trial) *Condition {
	thp := s.Host.THP
	if thp == "" {
		thp = "not reported"
	}
	free, _ := sysfs.ReadString(s.Root, "sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages")
	c := &Condition{Level: OK, Value: "transparent " + thp}
	if free != "" {
		c.Value += ", " + free + " reserved of 2 MiB free"
	}
	if thp == "always" {
		c.Level, c.Effect = Note, "whether a program gets huge pages depends on free memory, and changes its times"
	}
	if free == "0" {
		c.Fix = &Fix{Do: "sudo sysctl vm.nr_hugepages=64", Undo: "sudo sysctl vm.nr_hugepages=0"}
	}
	return c
}
