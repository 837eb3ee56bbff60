package drivertest

import (
	"bufio"
	"context"
	"encoding/json"
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
	"tare/internal/lab"
	"tare/internal/linuxnet"
)

// killedEnv is the environment variable that makes a test binary a run that waits until it is killed: the
// mode that it builds, with its options, as JSON.
const killedEnv = "TARE_TEST_KILLED"

// MainOf is Main for the tests of a driver, whose test binary is also the run that KilledRun kills.
func MainOf(m *testing.M, d labdriver.Driver) {
	if asked := os.Getenv(killedEnv); asked != "" && len(os.Args) == 1 {
		if err := waitToBeKilled(d, asked); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	Main(m)
}

// killedMode is what a run that is killed builds.
type killedMode struct {
	Mode    string
	Options map[string]string
}

// waitToBeKilled builds a mode, prints the run's id and the ids of the mode's processes, and waits.
func waitToBeKilled(d labdriver.Driver, asked string) error {
	var o killedMode
	if err := json.Unmarshal([]byte(asked), &o); err != nil {
		return err
	}
	claim, err := lab.Standalone()
	if err != nil {
		return err
	}
	p, err := d.Provision(context.Background(), SpecOn(
		lab.Spec{Claim: claim, Label: "killed", MTU: lab.DefaultMTU, Offload: true, Pin: linuxnet.RealRoot()},
		driver.Order{Mode: o.Mode, Pairs: 1, Options: o.Options}))
	if err != nil {
		return err
	}
	var pids []int
	if p.Processes != nil {
		pids = p.Processes()
	}
	fmt.Println(claim.ID, strings.Trim(fmt.Sprint(pids), "[]"))
	time.Sleep(time.Minute)
	return nil
}

// KilledRun checks that a run that is killed takes the processes of a mode with it. The last of them is
// stopped, so that it cannot end: it and the namespaces are in gc's list, and removing them leaves nothing. Of a
// mode without processes only namespaces are left.
// ended checks what else must hold when the others have ended. TestMain must call MainOf.
func KilledRun(t *testing.T, mode string, options map[string]string, ended ...func()) {
	t.Helper()
	NeedLab(t)
	NeedRoot(t, "only root sees all that a dead run left")
	asked, err := json.Marshal(killedMode{mode, options})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
	cmd.Env = append(os.Environ(), killedEnv+"="+string(asked))
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
	if err != nil || len(words) == 0 {
		_ = cmd.Process.Kill()
		t.Fatalf("the run says %q, %v; want its id and its processes", line, err)
	}
	var pids []int
	for _, word := range words[1:] {
		pid, err := strconv.Atoi(word)
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	free, stopped := pids[:max(0, len(pids)-1)], 0
	if len(pids) > 0 {
		stopped = pids[len(pids)-1]
		Stop(t, stopped)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	for _, pid := range free {
		WaitEnded(t, pid)
	}
	for _, check := range ended {
		check()
	}
	found, err := lab.Leftovers()
	if err != nil {
		t.Fatal(err)
	}
	var what []string
	for _, l := range found {
		if l.Run != words[0] {
			continue
		}
		what = append(what, l.What)
		if err := l.Remove(); err != nil {
			t.Error(err)
		}
	}
	if stopped != 0 && !slices.Contains(what, fmt.Sprint("process ", stopped)) {
		t.Errorf("process %d was stopped and is not among what is left: %v", stopped, what)
	}
	if !slices.ContainsFunc(what, func(w string) bool { return strings.HasPrefix(w, "namespace ") }) {
		t.Errorf("no namespace is left of a run that was killed: %v", what)
	}
	if stopped != 0 {
		WaitEnded(t, stopped)
	}
}
