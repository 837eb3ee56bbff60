package cni_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"tare/internal/driver"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
)

// doomed is the environment variable that makes this test binary a run that waits until it is
// killed. Its value is a conflist and a directory of plugins, separated by a space.
const doomed = "TARE_TEST_DOOMED"

// stand provisions a mode, prints the run's id and the processes that execute its plugins, and
// waits.
func stand() error {
	file, dir, _ := strings.Cut(os.Getenv(doomed), " ")
	claim, err := lab.Standalone()
	if err != nil {
		return err
	}
	p, err := trusting().Provision(context.Background(), drivertest.SpecOn(
		lab.Spec{Claim: claim, Label: "doomed", MTU: lab.DefaultMTU, Offload: true, Pin: linuxnet.RealRoot()},
		driver.Order{Mode: "cni/network:" + file, Pairs: 1, Options: map[string]string{"plugins": dir}}))
	if err != nil {
		return err
	}
	fmt.Println(claim.ID, p.Processes()[0], p.Processes()[1])
	time.Sleep(time.Minute)
	return nil
}

// A killed run has its plugins' DEL called, and its processes end. One that was stopped is in
// gc's list; removing it ends it.
func TestKilledRun(t *testing.T) {
	drivertest.NeedRoot(t, "only root sees all that a dead run left")
	dir := needPlugins(t, "current")
	called := filepath.Join(t.TempDir(), "called")
	plugins := fake(t, map[string]string{"noting": noting(called)})
	file := write(t, "doomed.conflist", `{"cniVersion": "1.0.0", "name": "doomed", "plugins": [
{"type": "ptp", "ipam": {"type": "host-local", "subnet": "{{.PodCIDR}}", "routes": [{"dst": "0.0.0.0/0"}]}}, {"type": "noting"}]}`)
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
	cmd.Env = append(os.Environ(), doomed+"="+file+" "+dir+":"+plugins)
	cmd.Stderr = os.Stderr
	out := must.Get(cmd.StdoutPipe())(t)
	must.Do(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	words := strings.Fields(line)
	if err != nil || len(words) != 3 {
		_ = cmd.Process.Kill()
		t.Fatalf("it says %q, %v", line, err)
	}
	free, stopped := number(t, words[1]), number(t, words[2])
	drivertest.Stop(t, stopped)
	must.Do(t, cmd.Process.Kill())
	_ = cmd.Wait() // it was killed
	drivertest.WaitEnded(t, free)
	if text, _ := os.ReadFile(called); strings.Count(string(text), "DEL a-client") != 1 || strings.Count(string(text), "ADD") != 2 {
		t.Errorf("the plugin was called for %q, want an ADD for each endpoint and the DEL of that of host a", text)
	}
	found := must.Get(lab.Leftovers())(t)
	listed := false
	for _, l := range found {
		if l.Run == words[0] {
			listed = listed || l.What == fmt.Sprintf("process %d", stopped)
			must.Equal(t, nil, l.Remove())
		}
	}
	if !listed {
		t.Errorf("the stopped process %d is not among what is left: %v", stopped, found)
	}
	drivertest.WaitEnded(t, stopped)
}

func number(t *testing.T, word string) int {
	t.Helper()
	n := must.Get(strconv.Atoi(word))(t)
	return n
}
