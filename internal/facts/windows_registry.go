package facts

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tare/internal/printable"
)

// windowsSystem reads what Windows tells without WMI. It is an interface of the code that
// describes it, so that every system tests that code.
type windowsSystem interface {
	registry
	// Memory returns the physical memory and what is available of it, in bytes.
	Memory() (total, available uint64, err error)
	// Processors returns the number of active logical processors, and how many this process
	// may use.
	Processors() (active, allowed int)
	// PowerPlan returns the active power plan as a GUID in lower case, without braces.
	PowerPlan() (string, error)
	// Adapters lists the network devices that are up.
	Adapters() ([]adapter, error)
}

// registry reads values below HKEY_LOCAL_MACHINE.
type registry interface {
	Text(key, name string) (string, error)
	Number(key, name string) (uint64, error)
	Keys(key string) ([]string, error)
}

// adapter is a network device of Windows. A device without hardware has Speed 0 or a
// nominal one.
type adapter struct {
	Name, Description string
	GUID              string // of its configuration, with braces
	MTU               int
	Speed             uint64 // bit/s
	Loopback          bool
}

// The keys of the registry that are read.
const (
	keyVersion   = `SOFTWARE\Microsoft\Windows NT\CurrentVersion`
	keyProcessor = `HARDWARE\DESCRIPTION\System\CentralProcessor\0`
	keyAdapters  = `SYSTEM\CurrentControlSet\Control\Class\{4d36e972-e325-11ce-bfc1-08002be10318}`
)

// windows records what Windows tells of the machine.
func (c *collected) windows(w windowsSystem, signatures []string) {
	kernel, distribution, err := windowsVersion(w)
	c.factOr("kernel", kernel, err)
	c.factOr("distribution", distribution, err)
	name, by := noHypervisor, "CPUID"
	if found, signature := nameBySignature(signatures); found != "" {
		name, by = found, "CPUID signature "+signature
		if found == "Hyper-V" {
			by += "; also where this Windows runs virtual machines itself"
		}
	}
	c.fact("hypervisor", fmt.Sprintf("%s (%s)", name, by))
	c.group("CPUs")
	model, err := w.Text(keyProcessor, "ProcessorNameString")
	c.factOr("cpu_model", strings.Join(strings.Fields(model), " "), err)
	active, allowed := w.Processors()
	c.fact("cpus_online", fmt.Sprint(active))
	c.fact("cpus_allowed", fmt.Sprint(allowed))
	plan, err := w.PowerPlan()
	c.factOr("power_plan", powerPlan(plan), err)
	c.group("memory and limits")
	total, available, err := w.Memory()
	c.factOr("memory", gib(float64(total)), err)
	c.factOr("memory_available", gib(float64(available)), err)
	c.group("network stack")
	c.fact("tcp_congestion_control", unknown(errors.New("only PowerShell tells it: Get-NetTCPSetting")))
	c.group("devices")
	c.adapters(w)
}

// windowsVersion returns the kernel's version and the product. The registry of Windows 11
// names the product Windows 10.
func windowsVersion(r registry) (kernel, product string, err error) {
	build, err := r.Text(keyVersion, "CurrentBuild")
	if err != nil {
		return "", "", err
	}
	major, errMajor := r.Number(keyVersion, "CurrentMajorVersionNumber")
	minor, _ := r.Number(keyVersion, "CurrentMinorVersionNumber") // 0 where the major number is not there either
	kernel = fmt.Sprintf("%d.%d.%s", major, minor, build)
	if errMajor != nil { // before Windows 10
		version, err := r.Text(keyVersion, "CurrentVersion")
		if err != nil {
			return "", "", err
		}
		kernel = version + "." + build
	}
	if revision, err := r.Number(keyVersion, "UBR"); err == nil {
		kernel += fmt.Sprintf(".%d", revision)
	}
	product, err = r.Text(keyVersion, "ProductName")
	if err != nil {
		return kernel, "", err
	}
	const first11 = 22000
	if number, ok := wholeNumber(build); ok && number >= first11 {
		product = strings.Replace(product, "Windows 10", "Windows 11", 1)
	}
	for _, name := range []string{"DisplayVersion", "EditionID"} {
		if v, err := r.Text(keyVersion, name); err == nil && v != "" {
			product += ", " + v
		}
	}
	return kernel, product, nil
}

// wholeNumber reads a decimal number of up to nine digits.
func wholeNumber(text string) (n int, ok bool) {
	if text == "" || len(text) > 9 {
		return 0, false
	}
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int(c-'0')
	}
	return n, true
}

// powerPlan names the power plans that come with Windows.
func powerPlan(guid string) string {
	names := map[string]string{
		"381b4222-f694-41f0-9685-ff5bb260df2e": "balanced",
		"8c5e7fda-e8bf-4a96-9a85-a6e23a8c635c": "high performance",
		"a1841308-3541-4fab-bc81-f71556f20b4a": "power saver",
		"e9a42b02-d5df-448d-aa00-03f14749eb61": "ultimate performance",
	}
	return cmp.Or(names[guid], "another plan: "+guid)
}

// maxAdapters bounds the adapters that are described.
const maxAdapters = 64

// adapters records the devices that are up, with the driver and the offloads that the
// registry has for them. Those of Hyper-V's virtual switch are marked.
func (c *collected) adapters(w windowsSystem) {
	found, err := w.Adapters()
	if err != nil {
		c.fact("devices", unknown(err))
		return
	}
	found = slices.DeleteFunc(found, func(a adapter) bool { return a.Loopback })
	if len(found) == 0 {
		c.fact("devices", "none that is up")
		return
	}
	keys, names := adapterKeys(w), map[string]int{}
	for _, a := range found[:min(len(found), maxAdapters)] {
		parts := []string{a.Description, fmt.Sprintf("MTU %d", a.MTU)}
		if a.Speed > 0 {
			parts = append(parts, fmt.Sprintf("%d Mbit/s", a.Speed/1e6))
		}
		key, ok := keys[strings.ToLower(a.GUID)]
		if !ok {
			parts = append(parts, "driver unknown")
		} else {
			parts = append(parts, adapterDriver(w, key)...)
		}
		name := "device_" + factName(a.Name)
		if names[name]++; names[name] > 1 {
			name += fmt.Sprintf("_%d", names[name]) // aliases may differ in other letters only
		}
		c.fact(name, printable.Prose(strings.Join(parts, ", ")))
	}
}

// adapterKeys returns the keys of drivers by the GUIDs of their adapters, in lower case.
func adapterKeys(r registry) map[string]string {
	names, err := r.Keys(keyAdapters)
	if err != nil {
		return nil
	}
	out := map[string]string{}
	for _, name := range names {
		key := keyAdapters + `\` + name
		if guid, err := r.Text(key, "NetCfgInstanceId"); err == nil {
			out[strings.ToLower(guid)] = key
		}
	}
	return out
}

// adapterDriver describes a driver: its version, its part in a virtual switch, and its
// standard keywords, which Windows documents for all drivers. A keyword that a driver does
// not have is left out.
func adapterDriver(r registry, key string) []string {
	var parts []string
	if v, err := r.Text(key, "DriverVersion"); err == nil {
		parts = append(parts, "driver "+v)
	}
	switch id, _ := r.Text(key, "ComponentId"); strings.ToLower(id) {
	case "vms_mp", "vms_vsmp", "vms_vsf":
		parts = append(parts, "of a Hyper-V virtual switch")
	case `vmbus\{f8615163-df3e-46c5-913f-f2d2f965ed0e}`:
		parts = append(parts, "in a Hyper-V virtual machine")
	}
	for _, k := range []struct{ keyword, name string }{
		{"*LsoV2IPv4", "tso"}, {"*LsoV2IPv6", "tso6"}, {"*UsoIPv4", "uso"}, {"*RscIPv4", "rsc"}, {"*RscIPv6", "rsc6"}, {"*RSS", "rss"},
		{"*InterruptModeration", "interrupt-moderation"}, {"*FlowControl", "flow-control"},
	} {
		v, err := keyword(r, key, k.keyword)
		switch {
		case err != nil:
		case v == 0:
			parts = append(parts, k.name+" off")
		default:
			parts = append(parts, k.name+" on")
		}
	}
	// 0 is off, 1 transmit, 2 receive, 3 both.
	sums := []string{"off", "tx", "rx", "tx and rx"}
	for _, k := range []struct{ keyword, name string }{{"*TCPChecksumOffloadIPv4", "tcp-checksum"}, {"*UDPChecksumOffloadIPv4", "udp-checksum"}} {
		if v, err := keyword(r, key, k.keyword); err == nil && v < uint64(len(sums)) {
			parts = append(parts, k.name+" "+sums[v])
		}
	}
	for _, k := range []struct{ keyword, name string }{{"*ReceiveBuffers", "receive-buffers"}, {"*TransmitBuffers", "transmit-buffers"}, {"*NumRssQueues", "rss-queues"}} {
		if v, err := keyword(r, key, k.keyword); err == nil {
			parts = append(parts, fmt.Sprintf("%s %d", k.name, v))
		}
	}
	return parts
}

// keyword reads a standard keyword, which is a number or, mostly, its text.
func keyword(r registry, key, name string) (uint64, error) {
	if v, err := r.Number(key, name); err == nil {
		return v, nil
	}
	text, err := r.Text(key, name)
	if err != nil {
		return 0, err
	}
	n, ok := wholeNumber(text)
	if !ok {
		return 0, fmt.Errorf("%s is %q, which is not a number", name, text)
	}
	return uint64(n), nil
}
