package existing_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"tare/internal/driver"
	"tare/internal/driver/existing"
	"tare/internal/engine"
	"tare/internal/result"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
	"tare/internal/testkit/studytest"
)

// desktopSocket is the environment variable by which a child process of the tests is a
// desktop: it measures with the engine at that socket, whose kernel it takes for another.
const desktopSocket = "TARE_TEST_DESKTOP"

// TestDesktopChild is the child process's part; on its own it does nothing.
func TestDesktopChild(t *testing.T) {
	socket := os.Getenv(desktopSocket)
	if socket == "" {
		return
	}
	g := connect(t, false, existing.Host{Target: "unix://" + socket})
	existing.SetBoot(g, "of another kernel")
	run := stay(t, g)
	for mode, kinds := range map[string][]string{
		"docker/published": {"tcp_stream", "tcp_rr", "udp_stream"}, "host-local": {"tcp_stream", "udp_stream"}, "docker/host": nil,
	} {
		t.Run(mode, func(t *testing.T) {
			o := drivertest.SpecOn(run, driver.Order{Mode: mode, Pairs: 1}).Order
			o.Label = mode
			s := drivertest.BuildOn(t, g, o)
			s.CheckTopology(t)
			describe(s.Path)
			for _, kind := range kinds {
				p := drivertest.Params(kind)
				p.Direction = studytest.Direction(kind == "tcp_stream")
				if r, err := s.TrialPairs(t, p, false, 1); err != nil || r[0].Client.Received+r[0].Server.Received == 0 {
					t.Errorf("%s: %v; %+v", kind, err, r)
				}
			}
		})
	}
	o := drivertest.SpecOn(run, driver.Order{Mode: "host", Pairs: 1}).Order
	must.Fail(t, must.Err(g.Provision(t.Context(), o)), "virtual machine on this machine")
}

// describe prints where a path's endpoints are and what proves it.
func describe(p *driver.Path) {
	var hosts []string
	for _, h := range p.Hosts {
		hosts = append(hosts, fmt.Sprintf("%s local=%t guest=%t", h.Name, h.Local, h.Guest))
	}
	pair := p.Pairs[0]
	fmt.Printf("path %s: %s; %s -> %s at %s\n", p.Mode, strings.Join(hosts, ", "), pair.Client.Name, pair.Server.Name, pair.Server.Dial[0])
	for _, r := range p.Rules {
		of, what := result.Of(r.Counter)
		fmt.Printf("rule %s: %s %s %d\n", p.Mode, strings.TrimPrefix(of, "b/server/"), what, r.Expect)
	}
	for _, f := range p.Facts {
		fmt.Printf("fact %s: %s = %s\n", p.Mode, f.Name, f.Value)
	}
}

// A desktop reaches an engine's published port on its own loopback device; the engine itself
// has another kernel. Everything else of the engine is in its virtual machine.
func TestDesktop(t *testing.T) {
	t.Parallel()
	s := stand(t)
	t.Cleanup(func() { untouched(t, s.a) })
	cmd := exec.Command("/proc/self/exe", "-test.run", "^TestDesktopChild$", "-test.v")
	cmd.Env = append(os.Environ(), desktopSocket+"="+s.a.Socket())
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	must.Do(t, s.lab.A.NS.Start(cmd))
	err := cmd.Wait()
	text := out.String()
	if err != nil || !strings.Contains(text, "--- PASS: TestDesktopChild") {
		t.Fatalf("%v:\n%s", err, text)
	}
	for _, want := range []string{
		"path docker/published: a local=true guest=false, b local=false guest=true; a -> b/server at 127.0.0.1:",
		"path host-local: a local=true guest=false; a -> a at 127.0.0.1:0",
		"path docker/host: b local=false guest=true, a local=true guest=false; b/client -> b/server",
		"fact docker/published: TCP to the published port = relayed",
		"fact docker/published: UDP to the published port = relayed",
		// What the server sends is counted by its kernel; what arrives, a relay has packetised.
		fmt.Sprintf("rule docker/published: eth0 tx_bytes %d\n", driver.Reverse),
		fmt.Sprintf("rule docker/published: eth0 rx_bytes %d\n", driver.ForwardAtLeast),
		fmt.Sprintf("rule docker/published: b/server.veth rx_bytes %d\n", driver.Reverse),
		fmt.Sprintf("rule docker/published: a/lo tx_bytes %d\n", driver.BothAtLeast),
		fmt.Sprintf("rule docker/published: b/connections unlike %d\n", driver.NoMatch),
	} {
		must.ContainFor(t, "the output", text, want)
	}
	if t.Failed() {
		t.Log(text)
	}
}

// Which engine runs on this machine is told by what it reports.
func TestRunsHere(t *testing.T) {
	here := existing.Identity{System: "linux", Kernel: "6.1.0", Memory: 8 << 30}
	for name, tt := range map[string]struct {
		here    existing.Identity
		engine  *engine.Engine
		desktop bool
	}{
		"here":                     {here, engineOf("unix:///run/docker.sock", "6.1.0", 8<<30, "Debian"), false},
		"says nothing":             {here, engineOf("unix:///run/docker.sock", "", 0, ""), false},
		"Docker Desktop":           {here, engineOf("unix:///run/docker.sock", "6.1.0", 8<<30, "Docker Desktop"), true},
		"Colima, another kernel":   {here, engineOf("unix:///run/docker.sock", "6.8.0", 2<<30, "Ubuntu"), true},
		"Lima, the same kernel":    {here, engineOf("unix:///run/docker.sock", "6.1.0", 2<<30, "Debian"), true},
		"forwarded port":           {here, engineOf("tcp://127.0.0.1:2375", "6.8.0", 2<<30, "Ubuntu"), true},
		"another machine":          {here, engineOf("tcp://192.0.2.1:2375", "6.8.0", 2<<30, "Ubuntu"), false},
		"another machine, ssh":     {here, engineOf("ssh://me@there", "6.8.0", 2<<30, "Ubuntu"), false},
		"Windows":                  {existing.Identity{System: "windows"}, engineOf("npipe:////./pipe/docker_engine", "6.6.0", 8<<30, "Docker Desktop"), true},
		"Windows, another machine": {existing.Identity{System: "windows"}, engineOf("tcp://192.0.2.1:2375", "6.6.0", 8<<30, "Debian"), false},
		"macOS":                    {existing.Identity{System: "darwin"}, engineOf("unix:///Users/me/.docker/run/docker.sock", "6.6.0", 8<<30, "Alpine"), true},
	} {
		g := existing.WithEngine(tt.here, tt.engine)
		names := []string{}
		for _, h := range g.Hosts() {
			names = append(names, h.Name)
		}
		want := []string{"a"}
		if tt.desktop {
			want = []string{"a", "b"}
		}
		must.EqualFor(t, name+": the hosts", want, names)
	}
}

func engineOf(address, kernel string, memory uint64, distribution string) *engine.Engine {
	return &engine.Engine{Address: address, Versions: engine.Versions{OS: "linux", Kernel: kernel}, Machine: engine.Machine{System: distribution, Memory: memory}}
}
