//go:build linux

package netns_test

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/netns"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
)

// userNamespaceEnv makes the test binary test what works in a user namespace.
const userNamespaceEnv = "TARE_TEST_NETNS_USER"

// In a user namespace labs can be built, but no eBPF program can be loaded: the probe of a
// mode that needs one says what is missing.
func TestProgramsWithoutRights(t *testing.T) {
	drivertest.NeedLab(t)
	if os.Getenv(userNamespaceEnv) != "" {
		err := netns.Driver{}.Probe(t.Context(), labdriver.Order{Order: driver.Order{Mode: "netns/ebpf"}})
		u, lacking := driver.AsUnsupported(err)
		must.True(t, lacking && strings.Contains(u.Reason, "CAP_BPF and CAP_NET_ADMIN"), "the probe says: %v", err)
		return
	}
	self := must.Get(os.Executable())(t)
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestProgramsWithoutRights$", "-test.v")
	cmd.Env = append(os.Environ(), userNamespaceEnv+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}, GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	must.True(t, err == nil && strings.Contains(string(out), "--- PASS: TestProgramsWithoutRights"), "%v\n%s", err, out)
}
