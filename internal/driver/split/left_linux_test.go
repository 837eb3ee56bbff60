package split_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"tare/internal/linuxnet"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
)

// processes lists the processes of a run by their command lines.
func processes(run string) (pids []int, lines []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil || !bytes.Contains(text, []byte("\x00--run\x00"+run+"\x00")) {
			continue
		}
		var pid int
		if _, err := fmt.Sscanf(f, "/proc/%d/", &pid); err == nil {
			pids, lines = append(pids, pid), append(lines, strings.ReplaceAll(string(text), "\x00", " "))
		}
	}
	return pids, lines
}

// gone waits until no process of a run is left, and so none of its namespaces, which have no
// names.
func gone(t *testing.T, run string) {
	t.Helper()
	var lines []string
	for until := time.Now().Add(30 * time.Second); time.Now().Before(until); time.Sleep(20 * time.Millisecond) {
		if _, lines = processes(run); len(lines) == 0 {
			return
		}
	}
	t.Errorf("these processes are left: %q", lines)
}

// free requires that no device is attached to the card of a machine: a bridge accepts no
// port that has one.
func free(t *testing.T, ns *linuxnet.NS) {
	t.Helper()
	must.Do(t, ns.Links().Bridge(linuxnet.Device{Name: "test0"}))
	var err error
	for until := time.Now().Add(30 * time.Second); time.Now().Before(until); time.Sleep(20 * time.Millisecond) {
		if err = ns.Links().Attach(card, "test0"); err == nil {
			return
		}
	}
	t.Errorf("a device is still on the card: %v", err)
}

// A killed controller leaves no process, and so no namespace and no device, on either
// machine.
func TestKilledController(t *testing.T) {
	t.Parallel()
	drivertest.NeedLab(t)
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
	cmd.Env = append(os.Environ(), doomed+"=wireguard/userspace")
	cmd.Stderr = os.Stderr
	out := must.Get(cmd.StdoutPipe())(t)
	must.Do(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	run := strings.TrimSpace(line)
	pids, lines := processes(run)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if err != nil || len(pids) != 6 { // a half and two WireGuard processes on each machine
		t.Fatalf("run %q, %v, has the processes %q", run, err, lines)
	}
	gone(t, run)
}

// A killed half takes its namespaces with it. The path then says what happened, and closing
// it leaves nothing.
func TestKilledHalf(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	p := must.Get(b.driver.Provision(t.Context(), b.order("wireguard/userspace", 1, nil)))(t)
	pids, lines := processes(b.run)
	killed := 0
	for i, line := range lines {
		if strings.HasPrefix(line, "tare split ") && strings.Contains(line, "--at b") {
			killed++
			must.Do(t, syscall.Kill(pids[i], syscall.SIGKILL))
		}
	}
	if killed != 1 {
		t.Fatalf("%d halves of host b are among %q", killed, lines)
	}
	must.FailFor(t, "the counters of a killed half", must.Err(p.Snapshot(t.Context())), "host two: tare split", "killed")
	must.Do(t, p.Close(t.Context()))
	gone(t, b.run)
	for _, ns := range b.ns {
		free(t, ns)
	}
}

// state is what a mode must not change on a machine: rules, settings, devices, addresses,
// routes.
func state(t *testing.T, ns *linuxnet.NS) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, args := range [][]string{
		{"nft", "list", "ruleset"}, {"ip", "-d", "link"}, {"ip", "address"}, {"ip", "-4", "route", "show", "table", "all"}, {"ip", "-6", "route", "show", "table", "all"},
		{"ip", "rule"}, {"tc", "qdisc"},
	} {
		// ip complains on stderr of namespaces of others that end while it lists them.
		var text, said bytes.Buffer
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
		cmd.Stdout, cmd.Stderr = &text, &said
		err := ns.Start(cmd)
		if err == nil {
			err = cmd.Wait()
		}
		if err != nil {
			t.Fatalf("%v: %v: %s", args, err, &said)
		}
		out[strings.Join(args, " ")] = text.String()
	}
	must.Do(t, ns.Do(func() error {
		return filepath.WalkDir("/proc/sys/net", func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || slices.Contains([]string{"nf_conntrack_count", "flush", "stable_secret"}, e.Name()) {
				return err
			}
			if text, err := os.ReadFile(path); err == nil {
				out[path] = string(text)
			}
			return nil
		})
	}))
	return out
}

// The machines' own rules, settings, devices, addresses and routes are the same while modes
// are built and after they are removed.
func TestMachineIsUntouched(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var before, during, after [2]map[string]string
	for i, ns := range b.ns {
		// The kernel tells of a new device's carrier a moment later.
		for before[i] = state(t, ns); strings.Contains(before[i]["ip -d link"], "NO-CARRIER"); before[i] = state(t, ns) {
			time.Sleep(10 * time.Millisecond)
		}
	}
	for _, mode := range []string{"netns/bridge", "ovs/vxlan-netdev"} {
		p := must.Get(b.driver.Provision(t.Context(), b.order(mode, 1, nil)))(t)
		for i, ns := range b.ns {
			during[i] = state(t, ns)
		}
		must.Do(t, p.Close(t.Context()))
		for i, ns := range b.ns {
			// A card without a filter for more addresses, as a veth, receives all frames as long as
			// a macvlan device is on it, and any card as long as Open vSwitch has one.
			during[i]["ip -d link"] = regexp.MustCompile(`promiscuity \d`).ReplaceAllString(during[i]["ip -d link"], "promiscuity 0")
			after[i] = state(t, ns)
			for when, now := range map[string]map[string]string{"during": during[i], "after": after[i]} {
				must.EqualFor(t, fmt.Sprintf("%s, machine %d, %s", mode, i, when), before[i], now)
			}
		}
	}
	if n := len(before[0]); n < 200 {
		t.Errorf("only %d settings were compared", n)
	}
	gone(t, b.run)
}
