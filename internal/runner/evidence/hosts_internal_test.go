package evidence

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/observe"
	"tare/internal/observe/netstack"
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/testkit/must"
)

// processTable writes a procfs with the processes of a mode: an engine below process 10, with a proxy,
// and another program. Ticks of 10 ms are those of each.
func processTable(t *testing.T, root string, ticks map[string]int) {
	t.Helper()
	for pid, p := range []struct {
		name   string
		parent int
	}{{}, {"init", 0}, {"dockerd", 1}, {"docker-proxy", 2}, {"cc1", 1}} {
		if p.name == "" {
			continue
		}
		dir := filepath.Join(root, fmt.Sprint(pid))
		line := fmt.Sprintf("%d (%s) S %d 0 0 0 0 0 0 0 0 0 %d 0 0 0 20 0 1 0 7 0 5\n", pid, p.name, p.parent, ticks[p.name])
		must.Do(t, errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "stat"), []byte(line), 0o600)))
	}
}

// A trial has the CPU time of its mode's processes between the tables before and after it.
func TestProcessesOfAMode(t *testing.T) {
	root := t.TempDir()
	var warnings told
	o := New(Config{Hosts: labdriver.Hosts(), Watch: observe.NewCollectorSet(nil), Proc: root, Warn: warnings.warn})
	engine := &driver.Path{Hosts: labdriver.Hosts(), Processes: func() []int { return []int{2} }}
	failed := false
	one := o.Trial(plan.Trial{}, mode{path: engine}, &result.Trial{}, func() bool { return failed })
	bare := o.Trial(plan.Trial{}, mode{path: &driver.Path{Hosts: labdriver.Hosts()}}, &result.Trial{}, func() bool { return false })
	processTable(t, root, map[string]int{"dockerd": 50, "docker-proxy": 10, "cc1": 5})
	o.Observe([]*Trial{one, bare}, func() {
		processTable(t, root, map[string]int{"dockerd": 75, "docker-proxy": 310, "cc1": 900})
	})
	must.Equal(t, []result.ProcessCPU{{Name: "docker-proxy", CPU: 3}, {Name: "dockerd", CPU: 0.25}}, one.Record.Processes)
	must.Equal(t, map[string]float64{result.Memory: float64(2 * 5 * os.Getpagesize())}, one.Record.Metrics)
	must.True(t, bare.Record.Metrics == nil && bare.Record.Processes == nil && bare.Record.Turns == 2 && one.Shared, "a mode without processes has %+v", bare.Record)
	failed = true
	one.Record.Processes = nil
	o.Observe([]*Trial{one}, func() {})
	failed = false
	must.True(t, one.Record.Processes == nil && len(warnings) == 0, "a failed trial has %v, warnings %v", one.Record.Processes, warnings)
	o.Observe([]*Trial{one}, func() {
		must.Do(t, os.RemoveAll(root))
	})
	o.Observe([]*Trial{one}, func() {})
	must.True(t, one.Record.Processes == nil && len(warnings) == 2 && strings.Contains(warnings[0].Text, "the modes' own processes"),
		"without a table: %v, warnings %v", one.Record.Processes, warnings)
}

// remote is an agent that reads one thing after another of its machine.
type remote struct {
	Agent
	next []netstack.Reading
}

func (r *remote) Read(context.Context) (netstack.Reading, error) {
	if len(r.next) == 0 {
		return netstack.Reading{}, errors.New("gone")
	}
	out := r.next[0]
	r.next = r.next[1:]
	return out, nil
}

// Memory and pressure of other machines are read by their agents before and after the traffic. One
// that cannot is told, and costs nothing else.
func TestPressureOfOtherMachines(t *testing.T) {
	read := func(stalled string) netstack.Reading {
		return netstack.Reading{Boot: "x", Pressure: map[string]string{"pressure/cpu": "some total=" + stalled + "\n"}}
	}
	var warnings told
	path := &driver.Path{Hosts: []driver.Host{{Name: "here", Local: true}, {Name: "a"}, {Name: "b"}}}
	m := mode{path, map[string]Agent{"here": nil, "a": &remote{next: []netstack.Reading{read("0"), read("3000000")}}, "b": &remote{}}}
	one := trialOf(Config{Hosts: path.Hosts, Warn: warnings.warn}, m, plan.Trial{Workload: study.Workload{Kind: "tcp_rr"}})
	one.observer.ObserveGroup(t.Context(), []*Trial{one}, func() { one.Record.Machine = map[string]float64{"pressure_cpu": 1} })
	if got := one.Record.Machine; got["pressure_cpu"] != 3 || got[machinePressureElapsed] < 0 {
		t.Errorf("machine %v", got)
	}
	must.True(t, len(warnings) == 2 && warnings[0].Text == "cannot read memory and pressure of host b: gone", "warnings %v", warnings)
}

// The CPU time of a virtual machine is part of this machine's, or unknown; that of a host without an
// agent is unknown.
func TestReaders(t *testing.T) {
	o := New(Config{CPU: &script{t: t, next: []string{"1000 50", "2000 60"}}})
	path := &driver.Path{Hosts: []driver.Host{{Name: "here", Local: true}, {Name: "vm", Guest: true}, {Name: "far"}}}
	var hosts []string
	for _, r := range o.readers(mode{path: path}) {
		hosts = append(hosts, r.host)
		if _, s, err := r.read(t.Context()); (err == nil) != (r.host == LocalKernel) || (s == nil) != (err != nil) {
			t.Errorf("%q: %v, %v", r.host, s, err)
		}
	}
	want := []string{LocalKernel, "far"}
	if !observe.CountsGuests() {
		want = []string{LocalKernel, "vm", "far"}
	}
	must.Equal(t, want, hosts)
	if kernel, _, err := readGuest(t.Context()); kernel != unknown || !errors.Is(err, errGuest) {
		t.Errorf("a guest: %q, %v", kernel, err)
	}
}

// How long a CPU limit has stopped an endpoint is recorded, with a note if it has.
func TestNoteThrottled(t *testing.T) {
	for periods, notes := range map[uint64]int{0: 0, 3: 1} {
		one := trialOf(Config{}, mode{}, plan.Trial{})
		one.Record.Machine = map[string]float64{}
		one.stacks = []stackReading{{}, {place: driver.NetworkStack{Name: "b"}, moved: netstack.Deltas{Counters: map[string]uint64{
			netstack.ThrottledPeriods: periods, netstack.ThrottledTime: 500_000_000 * periods}}}}
		one.NoteThrottled()
		if got := one.Record.Machine[result.MachineThrottled]; got != 0.5*float64(periods) || len(one.Record.Notes) != notes || notes > 0 && !strings.Contains(one.Record.Notes[0].Text, "stopped b in 3 periods, for 1.5 s") {
			t.Errorf("%d periods: %g s, notes %v", periods, got, one.Record.Notes)
		}
	}
}

// The pressure of two endpoints is one record: the worse of two machines, the value of
// one machine, and nothing if nothing could be read.
func TestPressureOfEnds(t *testing.T) {
	read := func(boot, available, stalled string) netstack.Reading {
		return netstack.Reading{Boot: boot, Pressure: map[string]string{"meminfo": "MemAvailable: " + available + " kB\n", "pressure/cpu": "some total=" + stalled + "\n"}}
	}
	at := time.Unix(1000, 0)
	tests := []struct {
		name          string
		before, after hostsRead
		want          map[string]float64
	}{
		{
			"two machines", hostsRead{map[string]netstack.Reading{"a": read("x", "8", "0"), "b": read("y", "4", "0")}, at}, hostsRead{map[string]netstack.Reading{"a": read("x", "8", "2000000"), "b": read("y", "9", "1000000")}, at.Add(4 * time.Second)},
			map[string]float64{"pressure_cpu": 2, "memory_available": 4096, machinePressureElapsed: 4},
		},
		{
			"one machine", hostsRead{map[string]netstack.Reading{"a": read("x", "8", "0"), "b": read("x", "4", "0")}, at}, hostsRead{map[string]netstack.Reading{"a": read("x", "8", "1000000"), "b": read("x", "4", "5000000")}, at.Add(time.Second)},
			map[string]float64{"pressure_cpu": 1, "memory_available": 8192, machinePressureElapsed: 1},
		},
		{
			"one end that could not", hostsRead{map[string]netstack.Reading{"b": read("y", "4", "0")}, at}, hostsRead{map[string]netstack.Reading{"a": read("x", "8", "0"), "b": read("y", "4", "1000000")}, at.Add(time.Second)},
			map[string]float64{"pressure_cpu": 1, "memory_available": 4096, machinePressureElapsed: 1},
		},
		{"neither could", hostsRead{at: at}, hostsRead{at: at.Add(time.Second)}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			one := trialOf(Config{}, mode{}, plan.Trial{})
			one.pressure(tt.before, tt.after)
			must.Equal(t, tt.want, one.Record.Machine)
		})
	}
}
