package proxy_test

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
	"tare/internal/driver/proxy"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/study"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
)

func limits() study.Limits { return study.Limits{Server: study.Limit{CPUs: 1}} }

// doomed is the environment variable that makes this test binary a run that waits until it
// is killed.
const doomed = "TARE_TEST_DOOMED"

// stand provisions a mode, prints the run's id and the process ids of its proxies, and waits.
func stand() error {
	claim, err := lab.Standalone()
	if err != nil {
		return err
	}
	p, err := proxy.Driver{}.Provision(context.Background(), drivertest.SpecOn(lab.Spec{
		Claim: claim, Label: "doomed", MTU: lab.DefaultMTU, Offload: true, Pin: linuxnet.RealRoot()}, driver.Order{Mode: os.Getenv(doomed), Pairs: 1}))
	if err != nil {
		return err
	}
	fmt.Println(claim.ID, p.Processes()[0], p.Processes()[1])
	time.Sleep(time.Minute)
	return nil
}

// A killed run takes its proxies with it. One that could not exit because it was stopped is in
// gc's list; removing it ends it.
func TestEnginesKilledRun(t *testing.T) {
	for _, mode := range []string{"proxy/tls", "proxy/l4"} {
		t.Run(mode, func(t *testing.T) { killedRun(t, mode) })
	}
}

func killedRun(t *testing.T, mode string) {
	drivertest.NeedProgram(t, testneed.HAProxy, "haproxy")
	drivertest.NeedRoot(t, "only root sees all that a dead run left")
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
	cmd.Env = append(os.Environ(), doomed+"="+mode)
	cmd.Stderr = os.Stderr
	out := must.Get(cmd.StdoutPipe())(t)
	must.Do(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	words := strings.Fields(line)
	if err != nil || len(words) != 3 {
		_ = cmd.Process.Kill()
		t.Fatalf("it says %q, %v", line, err)
	}
	run := words[0]
	free, stopped := number(t, words[1]), number(t, words[2])
	drivertest.Stop(t, stopped)
	must.Do(t, cmd.Process.Kill())
	_ = cmd.Wait() // it was killed
	drivertest.WaitEnded(t, free)
	found := must.Get(lab.Leftovers())(t)
	var what []string
	for _, l := range found {
		if l.Run != run {
			continue
		}
		what = append(what, l.What)
		must.Equal(t, nil, l.Remove())
	}
	if !slices.Contains(what, fmt.Sprintf("process %d", stopped)) || !slices.ContainsFunc(what, func(w string) bool { return strings.HasPrefix(w, "namespace ") }) {
		t.Errorf("process %d was stopped; what is left is %v", stopped, what)
	}
	drivertest.WaitEnded(t, stopped)
}

func number(t *testing.T, word string) int {
	t.Helper()
	n := must.Get(strconv.Atoi(word))(t)
	return n
}
