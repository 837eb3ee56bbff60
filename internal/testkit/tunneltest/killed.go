//go:build linux

package tunneltest

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/tunnel"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/testkit/drivertest"
)

// doomed is the environment variable that makes a test binary a run that waits until it is
// killed.
const doomed = "TARE_TEST_DOOMED"

// StandIfDoomed makes this process the run of KilledRun, if it was started as such. Call it from
// TestMain.
func StandIfDoomed(d labdriver.Driver) {
	if os.Getenv(doomed) == "" || len(os.Args) != 1 {
		return
	}
	if err := stand(d); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// stand provisions modes that have processes, prints the run's id and their process ids, and
// waits.
func stand(d labdriver.Driver) error {
	claim, err := lab.Standalone()
	if err != nil {
		return err
	}
	said := []string{claim.ID}
	for i, mode := range strings.Fields(os.Getenv(doomed)) {
		p, err := d.Provision(context.Background(), drivertest.SpecOn(lab.Spec{
			Claim: claim, Label: fmt.Sprint("doomed", i), MTU: lab.DefaultMTU, Offload: true, Pin: linuxnet.RealRoot()}, driver.Order{Mode: mode, Pairs: 1}))
		if err != nil {
			return err
		}
		for _, pid := range p.Internal.(*tunnel.Path).PIDs() {
			said = append(said, strconv.Itoa(pid))
		}
	}
	fmt.Println(strings.Join(said, " "))
	time.Sleep(time.Minute)
	return nil
}

// KilledRun checks that a killed run takes its tunnels with it. Processes that could not exit
// because they were stopped, and the namespaces, are in gc's list; removing them leaves nothing.
// Each mode has two processes, and one mode may be given twice: those of the last are stopped.
func KilledRun(t *testing.T, modes ...string) {
	drivertest.NeedLab(t)
	drivertest.NeedRoot(t, "only root sees all that a dead run left")
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
	cmd.Env = append(os.Environ(), doomed+"="+strings.Join(modes, " "))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	words := strings.Fields(line)
	if err != nil || len(words) != 1+2*len(modes) {
		_ = cmd.Process.Kill()
		t.Fatalf("it says %q, %v", line, err)
	}
	run := words[0]
	pids := make([]int, 2*len(modes))
	for i, word := range words[1:] {
		if pids[i], err = strconv.Atoi(word); err != nil {
			t.Fatal(err)
		}
	}
	stopped := pids[len(pids)-2:]
	for _, pid := range stopped {
		drivertest.Stop(t, pid)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	for _, pid := range pids[:len(pids)-2] {
		drivertest.WaitEnded(t, pid)
	}
	found, err := lab.Leftovers()
	if err != nil {
		t.Fatal(err)
	}
	var what []string
	for _, l := range found {
		if l.Run != run {
			continue
		}
		what = append(what, l.What)
		if err := l.Remove(); err != nil {
			t.Error(err)
		}
	}
	for _, pid := range stopped {
		if !slices.Contains(what, fmt.Sprint("process ", pid)) {
			t.Errorf("process %d was stopped and is not among what is left: %v", pid, what)
		}
		drivertest.WaitEnded(t, pid)
	}
	if !slices.ContainsFunc(what, func(w string) bool { return strings.HasPrefix(w, "namespace ") }) {
		t.Errorf("no namespace is left of a run that was killed: %v", what)
	}
}
