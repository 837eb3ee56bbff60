package locate

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
)

// unprivilegedVariable is the environment variable with the target to which this test connects without root's
// capabilities.
const unprivilegedVariable = "TARE_TEST_RIGHTLESS"

// A user without access to the socket gets an error that says how to get access.
func TestConnectWithoutPermission(t *testing.T) {
	if target := os.Getenv(unprivilegedVariable); target != "" {
		refused(t, target, "permission denied", "usermod -aG docker")
		return
	}
	testneed.NotShort(t) // as root, the first process of namespaces of their own
	noEngine(t)
	path := onSocket(t, fakeEngine("1.41"))
	must.Do(t, os.Chmod(path, 0))
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run", "^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), unprivilegedVariable+"=unix://"+path)
	ended := make(chan error)
	go func() {
		// Programs that this thread starts do not have the capabilities that it drops. The thread
		// stays locked, so it ends with this function.
		runtime.LockOSThread()
		for c := uintptr(0); unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0) == nil; c++ {
		}
		out, err := cmd.CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
		ended <- err
	}()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
