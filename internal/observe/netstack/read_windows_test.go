package netstack

import (
	"strings"
	"testing"
)

// The counters of devices are known, those of protocols are a gap, and the machine keeps its identity.
func TestReadOnWindows(t *testing.T) {
	r := Read("")
	if r.Boot == "" || r.Boot != Boot("") {
		t.Errorf("the machine's identity is %q, then %q", r.Boot, Boot(""))
	}
	devices := 0
	for name := range r.Counters {
		if strings.HasPrefix(name, "dev/") && strings.HasSuffix(name, ".rx_dropped") {
			devices++
		}
	}
	if devices == 0 || len(r.Gaps) != 1 {
		t.Errorf("%d devices, gaps %+v", devices, r.Gaps)
	}
	if _, err := ReadInterface(1 << 30); err == nil {
		t.Error("a device that is not there has counters")
	}
}
