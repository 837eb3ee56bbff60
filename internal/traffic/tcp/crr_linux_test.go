package tcp

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"tare/internal/linuxnet"
	"tare/internal/testkit/loopback"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
	"tare/internal/traffic"
	"tare/internal/traffic/connection"
)

// helperEnv makes the test binary run one trial with both endpoints and print the result, in its
// own network namespace or with its own file limit.
const helperEnv = "TARE_TRAFFIC_HELPER"

// helperTask is the task of a helper, and helperResult its result.
type helperTask struct {
	Params   traffic.Params
	Portable bool
	Files    uint64 // limit of open files, 0 for none
}

type helperResult struct {
	Client, Server traffic.Report
	Error          string
	Active         int64  // connections that the kernel counts as opened
	Passive        int64  // and as accepted
	TimeWait       int64  // sockets
	TimeWaitServer int64  // of those, at the server's port
	Segments       uint64 // sent in the namespace
}

// TestHelper is not a test: see helperEnv.
func TestHelper(t *testing.T) {
	t.Parallel()
	text := os.Getenv(helperEnv)
	if text == "" {
		return
	}
	loopback.Room(t)
	var task helperTask
	must.Do(t, json.Unmarshal([]byte(text), &task))
	if task.Files > 0 {
		must.Do(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: task.Files, Max: task.Files}))
	}
	n := implementations()[0]
	if task.Portable {
		n = implementations()[1]
	}
	w := loopback.KindOf(over(n), task.Params.Kind)
	var (
		r   helperResult
		err error
	)
	r.Client, r.Server, err = loopback.Between(t.Context(), w, w, task.Params)
	if err != nil {
		r.Error = err.Error()
	}
	snmp, _ := os.ReadFile("/proc/net/snmp")
	r.Active, r.Passive = connection.ProtocolCounter(string(snmp), "Tcp", "ActiveOpens"), connection.ProtocolCounter(string(snmp), "Tcp", "PassiveOpens")
	r.Segments = uint64(connection.ProtocolCounter(string(snmp), "Tcp", "OutSegs"))
	r.TimeWait, r.TimeWaitServer = timeWaits()
	out := must.Get(json.Marshal(r))(t)
	_, _ = os.Stdout.WriteString("\nresult " + hex.EncodeToString(out) + "\n")
}

// serverPort is where the helper's server listens.
const serverPort = "5000"

// timeWaits counts the sockets in TIME_WAIT, and those of them on the server's port.
func timeWaits() (all, server int64) {
	text, _ := os.ReadFile("/proc/net/tcp")
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) < 4 || f[3] != "06" {
			continue
		}
		all++
		if strings.HasSuffix(f[1], ":1388") { // 5000
			server++
		}
	}
	return all, server
}

// inNamespace runs a task in a new network namespace, with its own user namespace if an ordinary
// user runs the test.
func inNamespace(t *testing.T, task helperTask, sysctls map[string]string) helperResult {
	t.Helper()
	testneed.NotShort(t)
	if err := linuxnet.Try(); err != nil {
		testneed.Missing(t, testneed.Labs, err)
	}
	ns := must.Get(linuxnet.NewNS("tare-test-crr"))(t)
	defer ns.Close()
	for name, value := range sysctls {
		must.Do(t, ns.Sysctl(name, value))
	}
	task.Params.Address = "127.0.0.1:" + serverPort
	return helper(t, task, ns.Start)
}

func helper(t *testing.T, task helperTask, start func(*exec.Cmd) error) helperResult {
	t.Helper()
	text := must.Get(json.Marshal(task))(t)
	self := must.Get(os.Executable())(t)
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestHelper$", "-test.timeout=60s")
	cmd.Env = append(os.Environ(), helperEnv+"="+string(text))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	must.Do(t, start(cmd))
	if err := cmd.Wait(); err != nil {
		t.Fatalf("helper: %v: %s", err, out.String())
	}
	_, line, ok := strings.Cut(out.String(), "\nresult ")
	line, _, _ = strings.Cut(line, "\n")
	raw, err := hex.DecodeString(line)
	var r helperResult
	must.Require(t, ok && err == nil && json.Unmarshal(raw, &r) == nil, "helper said: %s", out.String())
	return r
}

// The kernel counts as many connections as both endpoints, and all TIME_WAIT sockets are the
// client's: one per connection with FIN, none with RST.
func TestCRRAgreesWithKernel(t *testing.T) {
	for _, portable := range []bool{false, true} {
		for _, flows := range []int{1, 8} {
			for _, reset := range []bool{false, true} {
				p := loopback.Params("tcp_crr")
				p.Streams, p.Close, p.RequestSize, p.ResponseSize = flows, closing(reset), 1, 1
				p.Warmup, p.Duration = 10*time.Millisecond, 150*time.Millisecond
				r := inNamespace(t, helperTask{Params: p, Portable: portable}, map[string]string{
					"net/ipv4/ip_local_port_range": "1024 65535",
					"net/ipv4/tcp_tw_reuse":        "0", // else loopback reuses a port after 1 s, and its TIME_WAIT is gone
				})
				must.Require(t, r.Error == "", "portable %t, %d flows, reset %t: %s", portable, flows, reset, r.Error)
				n := int64(r.Client.Connections)
				must.True(t, n != 0 && n == int64(r.Server.Connections) && r.Active == n+1 && r.Passive == n+1,
					"portable %t, %d flows, reset %t: client %d, server %d, kernel opened %d and accepted %d; want one more than the endpoints, for the control connection", portable, flows, reset, n, r.Server.Connections, r.Active, r.Passive)
				if bound := r.Client.TCP.Segments + r.Server.TCP.Segments; r.Segments > bound || r.Segments < uint64(n)*4 {
					t.Errorf("portable %t, %d flows, reset %t: the kernel sent %d segments in %d connections, the bound is %d", portable, flows, reset, r.Segments, n, bound)
				}
				if want := n; !reset && (r.TimeWait < want || r.TimeWait > want+1) || reset && r.TimeWait > 1 {
					t.Errorf("portable %t, %d flows, reset %t: %d sockets in TIME_WAIT after %d connections", portable, flows, reset, r.TimeWait, n)
				}
				must.True(t, r.TimeWaitServer <= 0, "portable %t, %d flows, reset %t: %d of %d TIME_WAITs are the server's", portable, flows, reset, r.TimeWaitServer, r.TimeWait)
			}
		}
	}
}

// Running out of source ports does not fail the trial: it waits and reports it, and the rate is
// that of the time with ports.
func TestCRRPortsExhausted(t *testing.T) {
	tests := map[string]func(*testing.T){}
	for _, portable := range []bool{false, true} {
		for _, flows := range []int{1, 4} {
			tests[fmt.Sprintf("portable %t, %d flows", portable, flows)] = func(t *testing.T) {
				p := loopback.Params("tcp_crr")
				p.Streams, p.Warmup, p.Duration = flows, 0, 3*time.Second // far more than 9 connections take
				r := inNamespace(t, helperTask{Params: p, Portable: portable}, map[string]string{"net/ipv4/ip_local_port_range": "40000 40009", "net/ipv4/tcp_tw_reuse": "0"})
				must.Require(t, r.Error == "", "%s", r.Error)
				// The control connection has one of the ten.
				must.Equal(t, []any{9, 9, int64(9)}, []any{r.Client.Connections, r.Server.Connections, r.Client.Messages})
				must.True(t, len(r.Client.Notes) == 1 && r.Client.Notes[0].Code == "ports_exhausted", "notes %v", r.Client.Notes)
				if s := r.Client.Window.Seconds; s < 0 || s > 2.9 {
					t.Errorf("ran for %g s of 3 with 9 ports", s)
				}
			}
		}
	}
	loopback.AtOnce(t, tests)
}

// A full TIME_WAIT table is reported.
func TestCRRTimeWaitFull(t *testing.T) {
	t.Parallel()
	p := loopback.Params("tcp_crr")
	var r helperResult
	for r.Client.Connections < 10 { // a busy machine may have few in a while
		p.Duration *= 2
		r = inNamespace(t, helperTask{Params: p}, map[string]string{"net/ipv4/tcp_max_tw_buckets": "3"})
		must.Require(t, r.Error == "", "%v", r.Error)
	}
	must.True(t, len(r.Client.Notes) == 1 && r.Client.Notes[0].Code == "time_wait_full", "notes %v after %d connections", r.Client.Notes, r.Client.Connections)
}

// More flows than the open file limit fail at once, with what to do.
func TestTooManyFlows(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*testing.T){}
	for _, kind := range []string{"tcp_rr", "tcp_crr"} {
		for _, portable := range []bool{false, true} {
			tests[fmt.Sprintf("%s, portable %t", kind, portable)] = func(t *testing.T) {
				p := loopback.Params(kind)
				p.Streams, p.Limit = 100_000, 5*time.Second
				p.Warmup, p.Duration = 0, time.Second
				r := helper(t, helperTask{Params: p, Portable: portable, Files: 200}, (*exec.Cmd).Start)
				must.Contain(t, r.Error, "raise ulimit -n")
			}
		}
	}
	loopback.AtOnce(t, tests)
}
