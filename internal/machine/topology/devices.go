package topology

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"gorun/internal/base/hint"
	"gorun/internal/base/lazy"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/sysfs"
)

// pciDir holds the PCI functions by address: Documentation/ABI/testing/sysfs-bus-pci.
const pciDir = "sys/bus/pci/devices"

// Device is a PCI function that has a name from its driver, or is of a kind near which programs are placed.
type Device struct {
	PCI   string   `json:"pci"`   // its address: domain, bus, device and function, "0000:3b:00.0"
	Kind  string   `json:"kind"`  // by its PCI class: "network", "nvme", …
	Names []string `json:"names"` // given by the kernel: "eth0", "mlx5_0", "nvme0"; none without a driver, or with one for user space

	Node *int       `json:"node"` // the memory node that it is attached to; nil: the firmware does not report it
	CPUs cpuset.Set `json:"cpus"` // online, local to it; if the node is unknown, the kernel lists all CPUs

	// PhysicalFunction is the address of the physical function of a virtual one (SR-IOV); "" for a physical one.
	PhysicalFunction string `json:"physical_function"`
}

// Name returns the device's name in a selector: its first name or, without one, its address.
func (d Device) Name() string {
	if len(d.Names) > 0 {
		return d.Names[0]
	}
	return d.PCI
}

// pciClasses are the kinds of devices, by the first digits of the PCI class (include/linux/pci_ids.h). Functions of
// the listed kinds are devices even without a name: a driver for user space, such as vfio-pci, gives none.
var pciClasses = []struct {
	prefix, kind string
	listed       bool
}{
	{"0x0207", "infiniband", true},
	{"0x02", "network", true},
	{"0x0108", "nvme", true},
	{"0x01", "storage", false},
	{"0x03", "gpu", true},
	{"0x0b40", "accelerator", true}, // a coprocessor
	{"0x0c06", "infiniband", true},
	{"0x12", "accelerator", true},
}

// deviceClass is a directory of links to devices of one kind.
type deviceClass struct {
	dir  string
	name func() *regexp.Regexp // of the entries that are devices; nil: all
}

// deviceClasses are the directories of links that give PCI functions their names, in the order in which the names of
// a function are shown.
var deviceClasses = []deviceClass{
	{"sys/class/net", nil},
	{"sys/class/infiniband", nil},
	{"sys/class/nvme", nil},
	{"sys/class/drm", lazy.Regexp(`^(card|renderD)[0-9]+$`)}, // this directory also has a card's connectors
	{"sys/class/accel", nil},
	{"sys/block", nil},
}

var (
	pciAddress = lazy.Regexp(`^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$`)
	// nvmePath is one of the paths to an NVMe namespace, which is named after the subsystem
	// (drivers/nvme/host/multipath.c).
	nvmePath = lazy.Regexp(`^(nvme[0-9]+)c[0-9]+(n[0-9]+)$`)
)

// deviceList is read on demand: a machine may have hundreds of devices, and few runs need one, or a million counts of
// their interrupts.
type deviceList struct {
	root     fs.FS
	once     sync.Once
	devices  []Device
	warnings []string

	count      sync.Once
	interrupts map[int]uint64 // by CPU
	seconds    float64
}

// Devices returns the devices in the order of their addresses, and warnings about malformed files. The first call
// reads them.
func (m *Machine) Devices() (devices []Device, warnings []string) {
	l := m.devices
	if l == nil {
		return nil, nil
	}
	l.once.Do(func() {
		r := &reader{fsys: l.root, online: m.Online()}
		l.devices = r.readDevices(m)
		l.warnings = r.finished()
	})
	return l.devices, l.warnings
}

func (r *reader) readDevices(m *Machine) []Device {
	names := r.readNames()
	addresses := map[string]bool{}
	for address := range names {
		addresses[address] = true
	}
	entries, err := fs.ReadDir(r.fsys, pciDir)
	r.read(err)
	for _, entry := range entries {
		addresses[entry.Name()] = true
	}
	devices := []Device{}
	longerLast := func(a, b string) int { return cmp.Or(len(a)-len(b), strings.Compare(a, b)) } // domains may be longer
	for _, address := range slices.SortedFunc(maps.Keys(addresses), longerLast) {
		if d, listed, ok := r.readDevice(m, address); ok && (listed || len(names[address]) > 0) {
			d.Names = append(d.Names, names[address]...)
			devices = append(devices, d)
		}
	}
	return devices
}

// readNames returns the names of PCI functions by address. Devices attached to a function by USB do not count.
func (r *reader) readNames() map[string][]string {
	names := map[string][]string{}
	for _, class := range deviceClasses {
		entries, err := fs.ReadDir(r.fsys, class.dir)
		if !r.read(err) {
			continue
		}
		for _, entry := range entries {
			name := entry.Name()
			if class.name != nil && !class.name().MatchString(name) {
				continue
			}
			target, err := sysfs.ReadLink(r.fsys, class.dir+"/"+name)
			if err != nil {
				continue // a plain file, such as bonding_masters, or a device that has just gone
			}
			if address := nearestPCI(target); address != "" {
				name = nvmePath().ReplaceAllString(name, "$1$2")
				if !slices.Contains(names[address], name) {
					names[address] = append(names[address], name)
				}
			}
		}
	}
	return names
}

// nearestPCI returns the address of the PCI function nearest to a device on the path to it; "" if there is none, or
// if USB is in between.
func nearestPCI(target string) string {
	for _, element := range slices.Backward(strings.Split(target, "/")) {
		switch {
		case pciAddress().MatchString(element):
			return element
		case strings.HasPrefix(element, "usb"):
			return ""
		}
	}
	return ""
}

// readDevice reads a PCI function; ok is false if there is none, and listed is false if it counts only with a name.
func (r *reader) readDevice(m *Machine, address string) (d Device, listed, ok bool) {
	dir := pciDir + "/" + address
	class, err := sysfs.ReadString(r.fsys, dir+"/class")
	if !r.read(err) {
		return d, false, false
	}
	d = Device{PCI: address, Kind: "other", Names: []string{}}
	for _, c := range pciClasses {
		if strings.HasPrefix(class, c.prefix) {
			d.Kind, listed = c.kind, c.listed
			break
		}
	}
	d.Node = r.readDeviceNode(m, dir+"/numa_node")
	cpus, err := sysfs.ReadSet(r.fsys, dir+"/local_cpulist")
	switch {
	case r.read(err):
		d.CPUs = cpus.Intersect(r.online)
	case d.Node != nil:
		d.CPUs = m.NodeCPUs(*d.Node)
	default:
		d.CPUs = r.online
	}
	if target, err := sysfs.ReadLink(r.fsys, dir+"/physfn"); err == nil {
		d.PhysicalFunction = path.Base(target)
	}
	return d, listed, true
}

// readDeviceNode reads the node of a device; nil if the kernel writes -1 or nothing.
func (r *reader) readDeviceNode(m *Machine, name string) *int {
	node, ok := r.readNumber(name)
	if !ok || node < 0 {
		return nil
	}
	if _, there := m.node(node); !there {
		r.fault(sysfs.Malformed(name, "there is no node %d", node), "the node is not known")
		return nil
	}
	return &node
}

// Interrupt is an interrupt of a device, by message (MSI) or by pin.
type Interrupt struct {
	IRQ int `json:"irq"` // the kernel's number

	// CPUs may handle the interrupt, and Effective is the one to which the kernel directs it
	// (Documentation/core-api/irq/irq-affinity.rst). nil: not recorded or not readable. Effective is empty while the
	// interrupt is not in use.
	CPUs      *cpuset.Set `json:"cpus"`
	Effective *cpuset.Set `json:"effective"`
}

// readInterrupts reads the interrupts of a PCI function, ascending. Message-signalled interrupts are the names of the
// files in msi_irqs; a function without any has one by pin, or none.
func (r *reader) readInterrupts(address string) []Interrupt {
	dir := pciDir + "/" + address
	var numbers []int
	entries, err := fs.ReadDir(r.fsys, dir+"/msi_irqs")
	r.read(err)
	for _, entry := range entries {
		if n, err := strconv.Atoi(entry.Name()); err == nil {
			numbers = append(numbers, n)
		}
	}
	byPin := len(numbers) == 0
	if byPin {
		if pin, ok := r.readNumber(dir + "/irq"); ok && pin > 0 {
			numbers = []int{pin}
		}
	}
	slices.Sort(numbers)
	interrupts := []Interrupt{}
	for _, n := range numbers {
		i := Interrupt{IRQ: n, CPUs: r.readIRQ(n, "smp_affinity_list"), Effective: r.readIRQ(n, "effective_affinity_list")}
		if byPin && i.CPUs == nil {
			continue // not in use
		}
		interrupts = append(interrupts, i)
	}
	return interrupts
}

// readIRQ reads a CPU list of an interrupt; nil if it is absent or may not be read.
func (r *reader) readIRQ(irq int, name string) *cpuset.Set {
	cpus, err := sysfs.ReadSet(r.fsys, fmt.Sprintf("proc/irq/%d/%s", irq, name))
	if errors.Is(err, fs.ErrPermission) || !r.read(err) {
		return nil
	}
	return &cpus
}

// LookupDevice returns the device with a name or an address, in which the domain 0000 may be omitted. Any PCI
// function has an address. Every error has a hint.
func (m *Machine) LookupDevice(name string) (Device, error) {
	devices, _ := m.Devices()
	address := name
	if pciAddress().MatchString("0000:" + name) {
		address = "0000:" + name
	}
	var found []Device
	for _, d := range devices {
		if d.PCI == address || slices.Contains(d.Names, name) {
			found = append(found, d)
		}
	}
	if len(found) == 0 && pciAddress().MatchString(address) && m.devices != nil {
		r := &reader{fsys: m.devices.root, online: m.Online()}
		if d, _, ok := r.readDevice(m, address); ok {
			found = append(found, d)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		var addresses []string
		for _, d := range found {
			addresses = append(addresses, d.PCI)
		}
		return Device{}, hint.With(fmt.Errorf("%d devices lead to %s", len(found), name), "give one of them: "+strings.Join(addresses, ", "))
	case len(devices) == 0:
		return Device{}, hint.With(fmt.Errorf("there is no device %s: no PCI bus is recorded", name), "gorun help devices says which devices count")
	}
	return Device{}, hint.With(errors.New("there is no device "+name), "there are "+listDevices(devices))
}

// listDevices names devices, shortened to a few lines.
func listDevices(devices []Device) string {
	const most = 24
	var names []string
	for _, d := range devices {
		if d.PhysicalFunction == "" || len(devices) <= most {
			names = append(names, d.Name())
		}
	}
	if more := len(devices) - min(len(names), most); more > 0 {
		return strings.Join(names[:min(len(names), most)], ", ") + fmt.Sprintf(" and %d more (gorun topo --format json)", more)
	}
	return strings.Join(names, ", ")
}
