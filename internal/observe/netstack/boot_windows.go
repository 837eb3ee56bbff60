package netstack

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"
)

// timeOfDay is SYSTEM_TIMEOFDAY_INFORMATION. Times are in 100 ns.
type timeOfDay struct {
	bootTime, currentTime, timeZoneBias int64
	timeZone, _                         uint32
	bootTimeBias, sleepTimeBias         int64
}

// Boot returns an identity of the machine since its last start, or "" if it is unknown: Windows has
// no boot id that every version shows. It consists of the installation's id, or the machine's name
// where it has none, and the time of the start. That moves with the wall clock when that is set, and
// its bias by the same amount, so that the difference is constant. The argument is for systems with
// procfs.
func Boot(string) string {
	var t timeOfDay
	if err := windows.NtQuerySystemInformation(windows.SystemTimeOfDayInformation, unsafe.Pointer(&t), uint32(unsafe.Sizeof(t)), nil); err != nil || t.bootTime == 0 {
		return ""
	}
	machine := installation()
	if machine == "" {
		name, err := os.Hostname()
		if err != nil {
			return ""
		}
		machine = name
	}
	return fmt.Sprintf("%s-%x", machine, t.bootTime-t.bootTimeBias)
}

func installation() string {
	key, err := registry.OpenKey(registry.LOCAL_MACHINE, `SOFTWARE\Microsoft\Cryptography`, registry.QUERY_VALUE|registry.WOW64_64KEY)
	if err != nil {
		return ""
	}
	defer key.Close()
	id, _, err := key.GetStringValue("MachineGuid")
	if err != nil {
		return ""
	}
	return id
}
