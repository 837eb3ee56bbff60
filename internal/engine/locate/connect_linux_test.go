package locate

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// rightless, in the environment, is the target that this test is to connect to
// without any right of root.
const rightless = "TARE_TEST_RIGHTLESS"

// Who may not use the socket is told so, and how to get the right.
func TestConnectWithoutPermission(t *testing.T) {
	if target := os.Getenv(rightless); target != "" {
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
	ended := make(chan error)
	go func() {
		// What this thread takes from itself no program that it starts has. It is not
		// unlocked, and so ends with this function.
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
