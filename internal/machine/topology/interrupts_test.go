package topology_test

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/machine/topology"
)

// Only interrupts of devices count: ticks and what CPUs send to each other follow the load.
func TestInterrupts(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want map[int]uint64
	}{
		"x86": {`           CPU0       CPU1       CPU3
  0:        900          0          0  IO-APIC   2-edge      timer
 25:          7          0          1  IO-APIC   6-edge      ACPI:Ged
 36:          0     349632 4294967295 PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0
120:         55         55         55  HPET_MSI   3-edge      hpet3
NMI:          3          0          0   Non-maskable interrupts
LOC:    4552852    4386534          9   Local timer interrupts
ERR:          0
MIS:          0
`, map[int]uint64{0: 7, 1: 349632, 3: 4294967296}},
		"arm": {`           CPU0       CPU1
 11:    1234567    1234568     GICv3  27 Level     arch_timer
 24:         16          2     GICv3  33 Level     uart-pl011
IPI0:      5555       6666       Rescheduling interrupts
Err:          0
`, map[int]uint64{0: 16, 1: 2}},
		"power": {`           CPU0       CPU8
 16:     123456     123457  XIVE-IPI   0 Edge      IPI
 17:          4          5  XIVE-IRQ 4097 Edge      nvme0q1
LOC:          9          9   Local timer interrupts for timer event device
`, map[int]uint64{0: 4, 8: 5}},
		"xen": {`           CPU0       CPU1
 48:       9999          0  xen-percpu    -virq      timer0
 56:         10          0   xen-dyn    -event     eth0
`, map[int]uint64{0: 10, 1: 0}},
		"without numbers": {"           CPU0       CPU1\nEXT:        12         13   external interrupt\n", nil},
		"empty":           {"", nil},
		"no header":       {" 25:  7  0  IO-APIC  6-edge  ACPI:Ged\n", nil},
		"cut short":       {"  CPU0  CPU1\n 25:  7  0  IO-APIC\n 26:  7", nil},
		"a CPU twice":     {"  CPU0  CPU0\n 25:  7  0  IO-APIC\n", nil},
		"not a number":    {"  CPU0  CPU1\n 25:  7  0x1  IO-APIC\n", nil},
		"too long":        {"  CPU0\n 25:  99999999999999999999999  IO-APIC\n", nil},
	} {
		m, err := topology.Read(fstest.MapFS{
			"sys/devices/system/cpu/present": {Data: []byte("0-1\n")}, "sys/devices/system/cpu/online": {Data: []byte("0-1\n")},
			"proc/interrupts": {Data: []byte(c.text)}, "proc/uptime": {Data: []byte("77.25 12.50\n")},
		})
		require.NoError(t, err)
		counts, seconds := m.Interrupts()
		assert.Equal(t, c.want, counts, name)
		assert.InDelta(t, 77.25, seconds, 0)
	}
}
