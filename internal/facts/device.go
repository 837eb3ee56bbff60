package facts

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"tare/internal/unit"
	"tare/internal/warning"
)

const sysNet = "sys/class/net/"

// devices records the devices that lead out of the machine: those with hardware or a
// hypervisor's emulation. A lab's traffic crosses none of them.
func (m *machine) devices() {
	entries, err := fs.ReadDir(m.fsys, strings.TrimSuffix(sysNet, "/"))
	if err != nil {
		m.fact("devices", unknown(plain(strings.TrimSuffix(sysNet, "/"), err)))
		return
	}
	var names []string
	for _, e := range entries {
		if _, err := fs.Stat(m.fsys, sysNet+e.Name()+"/device"); err == nil {
			names = append(names, e.Name())
		}
	}
	if len(names) == 0 {
		m.fact("devices", "none with hardware")
		return
	}
	slices.Sort(names)
	for _, name := range names {
		m.device(name)
	}
}

// device records one device.
func (m *machine) device(name string) {
	dir := sysNet + name + "/"
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if driver, err := m.driverOf(dir); err == nil {
		add("%s", driver)
	}
	if v, err := readFile(m.fsys, dir+"operstate"); err == nil {
		add("%s", v)
	}
	// For a device that is down or has no speed, the read fails or returns -1.
	if v, err := readFile(m.fsys, dir+"speed"); err == nil && v != "-1" && v != "4294967295" {
		add("%s Mbit/s", v)
	} else {
		add("speed unknown")
	}
	if v, err := readFile(m.fsys, dir+"mtu"); err == nil {
		add("MTU %s", v)
	}
	if v, err := readFile(m.fsys, dir+"device/numa_node"); err == nil && v != "-1" {
		add("NUMA node %s", v)
	}
	add("%s", m.queues(dir))
	if m.reader == nil {
		m.fact("device_"+factName(name), strings.Join(parts, ", "))
		return
	}
	on, err := m.reader.Offloads(name)
	if err != nil {
		add("offloads unknown: %v", err)
	} else {
		var have, lack []string
		for o, set := range on {
			if set {
				have = append(have, o)
			} else {
				lack = append(lack, o)
			}
		}
		slices.Sort(have)
		slices.Sort(lack)
		add("offloads %s", orNone(have))
		if len(lack) > 0 {
			m.warnExisting(warning.DeviceOffloads, "The device %s lacks %s: packet processing in the kernel may limit the rate instead of the wire, and modes whose own devices "+
				"have these offloads look cheaper. Turn them on with `ethtool -K %s ...` where the hardware can.",
				name, strings.Join(lack, ", "), name)
		}
	}
	m.fact("device_"+factName(name), strings.Join(parts, ", "))
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, " ")
}

// factName converts a device's name for use in the name of a fact.
func factName(device string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToLower(device))
}

// driverOf returns the name of a device's driver: that of its module, or of the directory
// to which the kernel links.
func (sys files) driverOf(dir string) (string, error) {
	text, err := readFile(sys.fsys, dir+"device/uevent")
	if err != nil {
		return "", err
	}
	for f := range strings.FieldsSeq(text) {
		if v, ok := strings.CutPrefix(f, "DRIVER="); ok {
			return v, nil
		}
	}
	return "", errors.New("driver unknown")
}

// queues records the number of queues of a device and whether the kernel distributes
// packets over further CPUs.
func (sys files) queues(dir string) string {
	count := map[string]int{}
	steered := map[string]bool{}
	entries, err := fs.ReadDir(sys.fsys, path.Clean(dir+"queues"))
	if err != nil {
		return "queues unknown"
	}
	for _, e := range entries {
		kind, _, _ := strings.Cut(e.Name(), "-")
		count[kind]++
		for what, file := range map[string]string{"RPS": "rps_cpus", "XPS": "xps_cpus"} {
			mask, err := readFile(sys.fsys, dir+"queues/"+e.Name()+"/"+file)
			steered[what] = steered[what] || err == nil && strings.Trim(mask, "0,") != ""
		}
	}
	return fmt.Sprintf("%d receive and %d send queues, RPS %s, XPS %s", count["rx"], count["tx"], onOff(steered["RPS"]), onOff(steered["XPS"]))
}

// filters records the packet filters of this network stack.
func (m *machine) filters() {
	if m.reader == nil {
		return
	}
	found, err := m.reader.Filters()
	if err != nil {
		m.fact("packet_filter", unknown(err))
		return
	}
	rules, docker := 0, false
	var parts []string
	for _, f := range found {
		rules += f.Rules
		docker = docker || f.Docker
		hook := f.Hook
		if hook == "" {
			hook = "(old iptables)"
		}
		text := fmt.Sprintf("%s %s %s: %s", f.Family, f.Table, hook, unit.Count(f.Rules, "rule", "rules"))
		if f.Drops {
			text += ", else drop"
		}
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		parts = []string{"none"}
	}
	m.fact("packet_filter", strings.Join(parts, "; "))
	if rules == 0 {
		return
	}
	by := ""
	if docker {
		by = ", including Docker's"
	}
	m.warnExisting(warning.HostFiltered, "The packet filter of this network stack has %s%s: a baseline in it pays for them and for connection tracking, so every "+
		"other mode looks cheaper than it is. Use a lab, which has network stacks of its own.", unit.Count(rules, "rule", "rules"), by)
}

// conntrack records how full the connection tracking table is.
func (m *machine) conntrack() {
	const dir = "proc/sys/net/netfilter/"
	m.factFileIfAny("nf_conntrack_max", dir+"nf_conntrack_max")
	m.factFileIfAny("nf_conntrack_buckets", dir+"nf_conntrack_buckets")
	most, errMost := readCount(m.fsys, dir+"nf_conntrack_max")
	now, errNow := readCount(m.fsys, dir+"nf_conntrack_count")
	if errors.Is(errNow, fs.ErrNotExist) {
		return
	}
	if errNow != nil {
		m.fact("nf_conntrack_count", unknown(errNow))
		return
	}
	m.fact("nf_conntrack_count", fmt.Sprintf("%d tracked", now))
	if errMost == nil && most > 0 && float64(now) > conntrackNearlyFull*float64(most) {
		m.warnExisting(warning.ConntrackFilled, "Connection tracking holds %d of %d entries: when it is full, new connections and datagrams of new flows are dropped, "+
			"which looks like the mode's loss. Raise the limit with `sysctl -w net.netfilter.nf_conntrack_max=...`.", now, most)
	}
}

// conntrackNearlyFull is the share of the connection tracking table above which a trial that opens
// connections may fill it.
const conntrackNearlyFull = 0.8

// warnExisting adds a warning that applies only to runs whose endpoints use this machine's
// own network stack.
func (c *collected) warnExisting(code warning.Code, format string, args ...any) {
	c.report.Existing = append(c.report.Existing, warning.New(code, "run", format, args...))
}
