// Package inlab_test runs the external tools in the sandboxes of a lab. It is a separate package
// because agents import the tools.
package inlab_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"tare/internal/driver/netns"
	"tare/internal/lab"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
	"tare/internal/tool"
	"tare/internal/traffic"
)

func TestMain(m *testing.M) { drivertest.Main(m) }

// A mode's path is proven for a tool's traffic as for that of the built-in generator: the counts of
// the tools and the kernel bound what the devices counted. Each tool has each mode in every direction, and the modes together have every tool
// with every workload and address family.
func TestProof(t *testing.T) {
	kinds := []string{"tcp_stream", "udp_stream"}
	for i, c := range []struct {
		mode string
		rate uint64 // of the underlay, bit/s
	}{{"host-local", 0}, {"netns/published", 0}, {"netns/vxlan", 0}, {"netns/bridge", 50e6}} {
		t.Run(c.mode, func(t *testing.T) {
			t.Parallel()
			s := drivertest.Provision(t, netns.Driver{}, c.mode, func(spec *lab.Spec) { spec.Rate = c.rate })
			for j, c := range []struct{ tool, kind string }{{"wrk", "http"}, {"h2load", "http"}, {"h2load", "http2"}} {
				if _, err := exec.LookPath(c.tool); err != nil {
					testneed.Missing(t, testneed.Web, err)
				}
				ipv6 := (i+j)%2 == 0 && s.Lab.IPv6
				p := drivertest.Params(c.kind)
				p.Tool, p.Warmup, p.Duration, p.RequestSize = c.tool, 100*time.Millisecond, 400*time.Millisecond, 0
				client, server, err := s.Trial(t, p, ipv6)
				for err != nil && strings.Contains(err.Error(), "its clients counted for") && p.Duration < 10*time.Second { // h2load's clocks are apart by as long as it got no CPU
					p.Warmup, p.Duration = 2*p.Warmup, 2*p.Duration
					client, server, err = s.Trial(t, p, ipv6)
				}
				must.Do(must.Named(t, fmt.Sprintf("%s %s, ipv6 %t", c.tool, c.kind, ipv6)), err)
				must.Get(tool.Check(p, client, server))(t)
				if client.Messages == 0 || server.Refused != 0 || client.Window.Failed != 0 {
					t.Errorf("%s: %d responses, %d refused, %d failed", c.tool, client.Messages, server.Refused, client.Window.Failed)
				}
			}
			for j, program := range []struct{ tool, executable string }{{"iperf3", "iperf3"}, {"iperf2", "iperf"}} {
				if _, err := exec.LookPath(program.executable); err != nil {
					testneed.Missing(t, testneed.Tools, err)
				}
				for k, direction := range []string{"forward", "reverse", "both"} {
					p := drivertest.Params(kinds[(i+j+k)%2])
					p.Tool, p.Warmup, p.Duration = program.tool, 100*time.Millisecond, 900*time.Millisecond // a whole second, which iperf3 runs in any case
					p.PayloadSize, p.Direction = 1200, direction
					if p.Kind == "udp_stream" {
						p.Rate = 20e6
					}
					client, server := must.Get2(s.Trial(t, p, s.Lab.IPv6 && p.Reverse()))(must.Named(t, fmt.Sprintf("%s %s %s", p.Tool, p.Kind, direction)))
					checkMetrics(t, p, client, server)
				}
			}
		})
	}
}

func checkMetrics(t *testing.T, p traffic.Params, client, server traffic.Report) {
	t.Helper()
	must.Get(tool.Check(p, client, server))(t)
	w := must.Get(tool.For(p))(t)
	if p.Both() {
		if client.Received == 0 || server.Received == 0 {
			t.Errorf("%d and %d bytes arrived", client.Received, server.Received)
		}
		return
	}
	m, series := w.Metrics(p, client, server)
	// How many intervals a tool reports in so short a window depends on when it gets a CPU.
	if m["goodput"] <= 0 || len(series.Values) == 0 {
		t.Errorf("%s: goodput %g over %d intervals", p.Tool, m["goodput"], len(series.Values))
	}
}
