package render

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"gorun/internal/render/term"
	"gorun/internal/topology"
)

// A machine with hundreds of devices has a table that ends, and says how many there are.
func TestTopoLimitsDevices(t *testing.T) {
	m, d := readHost(t, "devices.txtar")
	d.Devices = nil
	for i := range 300 {
		d.Devices = append(d.Devices, topology.DeviceInterrupts{Device: topology.Device{PCI: fmt.Sprintf("0000:%02x:00.0", i)}})
	}
	text := topoText(t, m, d, term.Options{})
	assert.Less(t, strings.Count(text, "\n"), 90)
	assert.Contains(t, text, "and 252 more: gorun topo --format json")

	for i := range d.Devices {
		d.Devices[i].PhysicalFunction = "0001:00:00.0"
		d.Devices[i].Names = []string{"a", "b", "c", "d", "e"}
	}
	assert.Contains(t, topoText(t, m, d, term.Options{}), "300 virtual functions of 0001:00:00.0 ")

	d.Devices[0].PhysicalFunction = ""
	assert.Contains(t, topoText(t, m, d, term.Options{}), "  a, b, c, d and 1 more ")
	assert.NotContains(t, topoText(t, m, topology.Details{}, term.Options{}), "devices")
}
