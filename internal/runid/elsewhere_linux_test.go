package runid

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
)

// claimant is the variable that makes the test's program claim a run until its stdin ends.
const claimant = "TARE_TEST_CLAIMANT"

func TestMain(m *testing.M) {
	if os.Getenv(claimant) == "" {
		os.Exit(m.Run())
	}
	r, err := New()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(r.ID)
	_, _ = io.Copy(io.Discard, os.Stdin)
	r.Release()
}

// A run that was claimed in another network namespace is alive for who has a process there, and for nobody once its
// process has ended.
func TestElsewhere(t *testing.T) {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), claimant+"=1")
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
	}
	in, out := must.Get(cmd.StdinPipe())(t), must.Get(cmd.StdoutPipe())(t)
	if err := cmd.Start(); err != nil {
		testneed.Missing(t, testneed.Feature, err)
	}
	var id string
	must.Get(fmt.Fscan(bufio.NewReader(out), &id))(t)
	all := must.Get(List())(t)
	must.True(t, IsID(id) && all.Hold(id, os.Geteuid()), "%s is not among %v", id, all)
	must.True(t, os.Geteuid() == 0 || !all.Hold(id, os.Geteuid()+1), "%s holds what another user has", id)
	must.Do(t, in.Close(), cmd.Wait())
	if all := must.Get(List())(t); all.Hold(id, UnknownUser) {
		t.Errorf("%s is still among %v", id, all)
	}
}
