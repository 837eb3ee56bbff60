package facts

import (
	"fmt"
	"runtime"
	"strings"
	"unsafe"

	"golang.org/x/sys/windows"
	winreg "golang.org/x/sys/windows/registry"
)

// system records what Windows tells.
func (m *machine) system() { m.windows(thisWindows{}, cpuidSignatures()) }

// thisWindows is the system that this process runs on.
type thisWindows struct{}

func (thisWindows) Text(key, name string) (string, error) {
	k, err := winreg.OpenKey(winreg.LOCAL_MACHINE, key, winreg.QUERY_VALUE)
	if err != nil {
		return "", fmt.Errorf("open %s: %w", key, err)
	}
	defer k.Close()
	text, _, err := k.GetStringValue(name)
	if err != nil {
		return "", fmt.Errorf("read %s of %s: %w", name, key, err)
	}
	return text, nil
}

func (thisWindows) Number(key, name string) (uint64, error) {
	k, err := winreg.OpenKey(winreg.LOCAL_MACHINE, key, winreg.QUERY_VALUE)
	if err != nil {
		return 0, fmt.Errorf("open %s: %w", key, err)
	}
	defer k.Close()
	n, _, err := k.GetIntegerValue(name)
	if err != nil {
		return 0, fmt.Errorf("read %s of %s: %w", name, key, err)
	}
	return n, nil
}

func (thisWindows) Keys(key string) ([]string, error) {
	k, err := winreg.OpenKey(winreg.LOCAL_MACHINE, key, winreg.ENUMERATE_SUB_KEYS)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", key, err)
	}
	defer k.Close()
	return k.ReadSubKeyNames(0)
}

// memoryStatus is MEMORYSTATUSEX.
type memoryStatus struct {
	length, load              uint32
	total, available          uint64
	totalPage, availablePage  uint64
	totalSpace, freeSpace     uint64
	availableExtendedReserved uint64
}

// procedure finds a procedure that x/sys lacks.
func procedure(library, name string) (*windows.LazyProc, error) {
	p := windows.NewLazySystemDLL(library).NewProc(name)
	return p, p.Find()
}

func (thisWindows) Memory() (total, available uint64, err error) {
	var s memoryStatus
	s.length = uint32(unsafe.Sizeof(s))
	status, err := procedure("kernel32.dll", "GlobalMemoryStatusEx")
	if err != nil {
		return 0, 0, err
	}
	if ok, _, err := status.Call(uintptr(unsafe.Pointer(&s))); ok == 0 {
		return 0, 0, fmt.Errorf("GlobalMemoryStatusEx: %w", err)
	}
	return s.total, s.available, nil
}

func (thisWindows) Processors() (active, allowed int) {
	const allGroups = 0xffff
	active = runtime.NumCPU()
	if count, err := procedure("kernel32.dll", "GetActiveProcessorCount"); err == nil {
		if n, _, _ := count.Call(allGroups); n > 0 {
			active = int(n)
		}
	}
	return active, runtime.NumCPU()
}

func (thisWindows) PowerPlan() (string, error) {
	scheme, err := procedure("powrprof.dll", "PowerGetActiveScheme")
	if err != nil {
		return "", err
	}
	var guid *windows.GUID
	if code, _, _ := scheme.Call(0, uintptr(unsafe.Pointer(&guid))); code != 0 {
		return "", fmt.Errorf("PowerGetActiveScheme: %w", windows.Errno(code))
	}
	defer func() { _, _ = windows.LocalFree(windows.Handle(unsafe.Pointer(guid))) }()
	return strings.ToLower(strings.Trim(guid.String(), "{}")), nil
}

func (thisWindows) Adapters() ([]adapter, error) {
	var table *windows.MibIfTable2
	if err := windows.GetIfTable2Ex(windows.MibIfEntryNormal, &table); err != nil {
		return nil, fmt.Errorf("GetIfTable2Ex: %w", err)
	}
	defer windows.FreeMibTable(unsafe.Pointer(table))
	var out []adapter
	for i := range unsafe.Slice(&table.Table[0], table.NumEntries) {
		row := &unsafe.Slice(&table.Table[0], table.NumEntries)[i]
		const filter = 1 << 1 // of InterfaceAndOperStatusFlags: a driver between a device and the stack
		if row.OperStatus != windows.IfOperStatusUp || row.InterfaceAndOperStatusFlags&filter != 0 {
			continue
		}
		out = append(out, adapter{
			Name: windows.UTF16ToString(row.Alias[:]), Description: windows.UTF16ToString(row.Description[:]), GUID: row.InterfaceGuid.String(),
			MTU: int(row.Mtu), Speed: row.TransmitLinkSpeed, Loopback: row.Type == windows.IF_TYPE_SOFTWARE_LOOPBACK,
		})
	}
	return out, nil
}
