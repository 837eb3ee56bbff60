package locate

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// rightless, in the environment, is the target that this test is to connect to
// without any right of root.
const rightless = "TARE_TEST_RIGHTLESS"

// Who may not use the socket is told so, and how to get the right.
func TestConnectWithoutPermission(t *testing.T) {
	if target := os.Getenv(rightless); target != "" {
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var none [2]unix.CapUserData
		_, _, errno := syscall.AllThreadsSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none)), 0)
		if errno != 0 {
			t.Fatal(errno)
		}
		refused(t, target, "permission denied", "usermod -aG docker")
		return
	}
	noEngine(t)
	path := onSocket(t, speaks("1.41"))
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run", "^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), rightless+"=unix://"+path)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
