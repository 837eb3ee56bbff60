package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"tare/internal/agent"
	"tare/internal/agent/transport"
	"tare/internal/program/agentfile"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
	"tare/internal/traffic"
)

// program builds the agent as make does, with the identity of this test.
func program(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tare-agent")
	build := exec.Command("go", "build", "-tags="+agentfile.Tags(), "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", path, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return path
}

// start starts an agent of that program.
func start(t *testing.T, path string) *agent.Client {
	t.Helper()
	l := transport.Local{Start: func(c *exec.Cmd) error {
		c.Path = path
		return c.Start()
	}}
	c := must.Get(agent.Start(t.Context(), l, "00000000", "here"))(t)
	t.Cleanup(func() { must.Do(t, c.Close()) })
	return c
}

// maxResident bounds what an agent has resident in the trials of this test, in kB. It is 12 MB; whatever
// grows with the number of slices is far more.
const maxResident = 14_000

// The agent alone is small on disk and in memory, and carries trials of each kind.
func TestReleaseAgent(t *testing.T) {
	testneed.NotShort(t)
	path := program(t)
	t.Run("by hand", func(t *testing.T) { byHand(t, path) })
	if info, err := os.Stat(path); err != nil || info.Size() > agentfile.MaxSize {
		t.Errorf("the program has %d bytes, more than %d (%v)", info.Size(), agentfile.MaxSize, err)
	}
	client, server := start(t, path), start(t, path)
	for _, kind := range []string{"tcp_rr", "tcp_stream", "tcp_crr", "udp_rr", "udp_stream"} {
		p := traffic.Params{
			Workload: study.Workload{Kind: kind, Streams: 2, WriteSize: 128 << 10, PayloadSize: 1400, RequestSize: 16, ResponseSize: 16, Rate: 100e6, Burst: 64, SendBuffer: quantity.Buffer(1 << 20), ReceiveBuffer: quantity.Buffer(1 << 20)},
			Address:  "127.0.0.1:0", Token: "0123456789abcdef", CPU: -1, Warmup: 20 * time.Millisecond, Duration: 200 * time.Millisecond,
		}
		if kind != "udp_stream" {
			p.Rate = 0
		}
		trial, err := agent.Begin(t.Context(), client, server, p, p)
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		if sent, got, err := trial.Run(t.Context()); err != nil || sent.Sent+got.Sent+sent.Messages+got.Messages == 0 {
			t.Fatalf("%s: %+v, %+v: %v", kind, sent, got, err)
		}
	}
	slices(t, client, server)
	for who, c := range map[string]*agent.Client{"client": client, "server": server} {
		dir := fmt.Sprintf("/proc/%d", c.Hello.PID)
		if to, err := os.Readlink(dir + "/exe"); err != nil || to != path {
			t.Fatalf("the %s is %s: %v", who, to, err)
		}
		if comm, err := os.ReadFile(dir + "/comm"); err != nil || string(comm) != "tare\n" {
			t.Errorf("the %s is named %q (%v)", who, comm, err)
		}
		kB := peak(t, dir)
		t.Logf("the %s had %d kB resident", who, kB)
		if kB > maxResident {
			t.Errorf("the %s had %d kB resident, more than %d", who, kB, maxResident)
		}
	}
}

// slices runs a trial of many slices, for which each agent needs its buffers once: they would be 25 MB.
func slices(t *testing.T, client, server *agent.Client) {
	t.Helper()
	p := traffic.Params{
		Workload: study.Workload{Kind: "tcp_stream", Streams: 1, WriteSize: 128 << 10, SendBuffer: quantity.Buffer(1 << 20), ReceiveBuffer: quantity.Buffer(1 << 20)},
		Address:  "127.0.0.1:0", Token: "0123456789abcdef", CPU: -1, Warmup: 10 * time.Millisecond, Slice: 3 * time.Millisecond, Rounds: 100,
	}
	p.Duration = time.Duration(p.Rounds) * p.Slice
	trial := must.Get(agent.Begin(t.Context(), client, server, p, p))(t)
	_, err := trial.Open(t.Context())
	for range p.Rounds {
		if err == nil {
			_, err = trial.Slice(t.Context(), p.Slice)
		}
	}
	must.Do(t, err)
	if _, got, err := trial.Close(t.Context()); err != nil || got.Received == 0 {
		t.Fatalf("%+v: %v", got, err)
	}
}

// peak returns the most that a process had resident, in kB.
func peak(t *testing.T, dir string) int {
	t.Helper()
	status := must.Get(os.ReadFile(dir + "/status"))(t)
	_, line, _ := strings.Cut(string(status), "VmHWM:")
	kB := must.Get(strconv.Atoi(strings.Fields(line)[0]))(t)
	return kB
}

// byHand checks that an agent that is started by hand says what it is, and what of tare it has.
func byHand(t *testing.T, path string) {
	for name, c := range map[string]struct {
		args []string
		want string
		ok   bool
	}{
		"nothing": {nil, "start tare instead", false},
		"unknown": {[]string{"run"}, "start tare instead", false},
		"version": {[]string{"version"}, "tare agent, build " + agentfile.ID(), true},
		"hold":    {[]string{agent.PauseCommand, "end", "no-such-token"}, "", true},
		"garbage": {[]string{agent.Command}, "tare agent: read request", false},
	} {
		cmd := exec.Command(path, c.args...)
		cmd.Stdin = strings.NewReader("garbage\n")
		out, err := cmd.CombinedOutput()
		if (err == nil) != c.ok || !strings.Contains(string(out), c.want) || bytes.Count(out, []byte("\n")) > 2 {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
}
