package facts

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tare/internal/testkit/must"
)

// fakeWindows is a system with these values in its registry, by KEY\NAME.
type fakeWindows struct {
	text    map[string]string
	numbers map[string]uint64
	keys    []string // of adapters
	list    []adapter
	plan    string
	fails   error
}

func (f fakeWindows) Text(key, name string) (string, error) {
	if v, ok := f.text[key+`\`+name]; ok {
		return v, nil
	}
	return "", fmt.Errorf("read %s of %s: not there", name, key)
}

func (f fakeWindows) Number(key, name string) (uint64, error) {
	if v, ok := f.numbers[key+`\`+name]; ok {
		return v, nil
	}
	return 0, fmt.Errorf("read %s of %s: not there", name, key)
}

func (f fakeWindows) Keys(string) ([]string, error)   { return f.keys, f.fails }
func (f fakeWindows) Memory() (uint64, uint64, error) { return 16 << 30, 8 << 30, f.fails }
func (fakeWindows) Processors() (int, int)            { return 8, 4 }
func (f fakeWindows) PowerPlan() (string, error)      { return f.plan, f.fails }
func (f fakeWindows) Adapters() ([]adapter, error)    { return f.list, f.fails }

func windows11() fakeWindows {
	key := keyAdapters + `\0001`
	other := keyAdapters + `\0007`
	return fakeWindows{
		text: map[string]string{
			keyVersion + `\CurrentBuild`: "22631", keyVersion + `\ProductName`: "Windows 10 Pro", keyVersion + `\DisplayVersion`: "23H2", keyVersion + `\EditionID`: "Professional",
			keyProcessor + `\ProcessorNameString`: "Intel(R) Core(TM) i5-2500 CPU  @ 3.30GHz   ",
			key + `\NetCfgInstanceId`:             "{11111111-2222-3333-4444-555555555555}", key + `\DriverVersion`: "12.19.2.45", key + `\*LsoV2IPv4`: "1", key + `\*RSS`: "0",
			key + `\*TCPChecksumOffloadIPv4`: "3", key + `\*UDPChecksumOffloadIPv4`: "77", key + `\*ReceiveBuffers`: "512", key + `\*FlowControl`: "x",
			other + `\NetCfgInstanceId`: "{AAAAAAAA-2222-3333-4444-555555555555}", other + `\ComponentId`: "vms_mp",
		},
		numbers: map[string]uint64{keyVersion + `\CurrentMajorVersionNumber`: 10, keyVersion + `\CurrentMinorVersionNumber`: 0, keyVersion + `\UBR`: 4317},
		keys:    []string{"0000", "0001", "0007", "Properties"},
		list: []adapter{
			{Name: "Loopback Pseudo-Interface 1", Description: "Software Loopback Interface 1", Loopback: true},
			{Name: "Ethernet 2", Description: "Intel(R) Ethernet\x1b[31m I219-V", GUID: "{11111111-2222-3333-4444-555555555555}", MTU: 1500, Speed: 1e9},
			{Name: "vEthernet (WSL)", Description: "Hyper-V Virtual Ethernet Adapter", GUID: "{aaaaaaaa-2222-3333-4444-555555555555}", MTU: 1500, Speed: 10e9},
			{Name: "Сеть", Description: "A", GUID: "{0}", MTU: 1400},
			{Name: "Кабе", Description: "B", GUID: "{0}", MTU: 1400},
		},
		plan: "381b4222-f694-41f0-9685-ff5bb260df2e",
	}
}

func TestWindows(t *testing.T) {
	m := &machine{}
	m.group("machine")
	m.windows(windows11(), []string{"Microsoft Hv"})
	checkForm(t, m.report)
	want := []string{
		"kernel = 10.0.22631.4317",
		"distribution = Windows 11 Pro, 23H2, Professional",
		"hypervisor = Hyper-V (CPUID signature Microsoft Hv; also where this Windows runs virtual machines itself)",
		"cpu_model = Intel(R) Core(TM) i5-2500 CPU @ 3.30GHz",
		"cpus_online = 8", "cpus_allowed = 4", "power_plan = balanced", "memory = 16.0 GiB", "memory_available = 8.0 GiB",
		"tcp_congestion_control = unknown: only PowerShell tells it: Get-NetTCPSetting",
		"device_ethernet_2 = Intel(R) Ethernet[31m I219-V, MTU 1500, 1000 Mbit/s, driver 12.19.2.45, tso on, rss off, tcp-checksum tx and rx, receive-buffers 512",
		"device_vethernet__wsl_ = Hyper-V Virtual Ethernet Adapter, MTU 1500, 10000 Mbit/s, of a Hyper-V virtual switch",
		"device_____ = A, MTU 1400, driver unknown", "device______2 = B, MTU 1400, driver unknown",
	}
	must.Equal(t, want, lines(m))

	// Nothing can be read: each fact says why.
	m = &machine{}
	m.group("machine")
	m.windows(fakeWindows{fails: errors.New("access denied")}, nil)
	checkForm(t, m.report)
	for _, name := range []string{"kernel", "distribution", "cpu_model", "power_plan", "memory", "devices"} {
		if !slices.ContainsFunc(lines(m), func(l string) bool { return strings.HasPrefix(l, name+" = unknown: ") }) {
			t.Errorf("%s is not unknown: %v", name, lines(m))
		}
	}

	old := windows11()
	delete(old.numbers, keyVersion+`\CurrentMajorVersionNumber`)
	old.text[keyVersion+`\CurrentVersion`], old.text[keyVersion+`\CurrentBuild`] = "6.3", "9600"
	old.text[keyVersion+`\ProductName`] = "Windows Server 2012 R2"
	if kernel, product, err := windowsVersion(old); kernel != "6.3.9600.4317" || !strings.HasPrefix(product, "Windows Server 2012 R2") || err != nil {
		t.Errorf("%q, %q, %v", kernel, product, err)
	}
}

// fakeMac has these variables.
type fakeMac struct {
	text    map[string]string
	numbers map[string]uint64
}

func (f fakeMac) Text(name string) (string, error) {
	if v, ok := f.text[name]; ok {
		return v, nil
	}
	return "", fmt.Errorf("read %s: no such variable", name)
}

func (f fakeMac) Number(name string) (uint64, error) {
	if v, ok := f.numbers[name]; ok {
		return v, nil
	}
	return 0, fmt.Errorf("read %s: no such variable", name)
}

func TestMac(t *testing.T) {
	numbers := map[string]uint64{
		"kern.hv_vmm_present": 0, "hw.logicalcpu": 8, "hw.physicalcpu": 8, "hw.memsize": 16 << 30, "hw.nperflevels": 2, "hw.perflevel0.logicalcpu": 4, "hw.perflevel1.logicalcpu": 4,
	}
	for i, v := range macVariables() {
		numbers[v.sysctl] = uint64(1000 + i)
	}
	m := &machine{}
	m.group("machine")
	m.mac(fakeMac{map[string]string{
		"kern.osrelease": "24.1.0", "kern.osproductversion": "15.1", "kern.osversion": "24B83", "hw.model": "Mac14,2", "machdep.cpu.brand_string": "Apple M2",
		"hw.perflevel0.name": "Performance", "hw.perflevel1.name": "Efficiency",
	}, numbers})
	checkForm(t, m.report)
	want := []string{
		"kernel = 24.1.0", "distribution = macOS 15.1 (24B83)", "hardware_model = Mac14,2", "hypervisor = none seen (kern.hv_vmm_present)",
		"cpu_model = Apple M2", "cpus_online = 8", "cores_allowed = 8", "cpu_kinds = 4 Performance, 4 Efficiency", "memory = 16.0 GiB",
	}
	for i, v := range macVariables() {
		want = append(want, fmt.Sprintf("%s = %d", v.fact, 1000+i))
	}
	want = append(want, "tcp_congestion_control = unknown: macOS has no variable that names it")
	must.Equal(t, want, lines(m))

	m = &machine{}
	m.group("machine")
	m.mac(fakeMac{})
	checkForm(t, m.report)
	for _, l := range lines(m) {
		must.ContainFor(t, "nothing could be read", l, " = unknown: ")
	}
}

func lines(m *machine) (out []string) {
	for _, f := range m.report.Facts {
		out = append(out, f.Name+" = "+f.Value)
	}
	return out
}
