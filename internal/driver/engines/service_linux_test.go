package engines_test

import (
	"strings"
	"testing"

	"tare/internal/driver"
	"tare/internal/driver/engines"
	"tare/internal/linuxnet"
	"tare/internal/study"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
)

// A kernel without the load balancer of the routing mesh is asked, and named as the reason.
func TestEnginesIngressWithoutIPVS(t *testing.T) {
	drivertest.NeedEngine(t)
	if linuxnet.ProbeIPVS() == nil {
		testneed.Missing(t, testneed.Other, "this kernel has IPVS")
	}
	for _, with := range []map[string]string{nil, {"endpoint": "other"}} {
		o := drivertest.Order(t, "docker/ingress", 1, nil)
		o.With = with
		_, err := engines.Docker{}.Provision(t.Context(), o)
		if u, is := driver.AsUnsupported(err); !is || !strings.Contains(u.Reason, "CONFIG_IP_VS") || strings.Contains(u.Reason, "\n") {
			t.Errorf("with %v: %v", with, err)
		}
		nothingLeft(t, o.Lab.Claim.ID)
	}
}

// Connections that are translated past the load balancer reach the task and are void. Package inside has
// a kernel with that load balancer.
func TestEnginesIngressShortcut(t *testing.T) {
	drivertest.NeedEngine(t)
	o := drivertest.Order(t, "docker/ingress", 1, nil)
	s := drivertest.Build(t, engines.Docker{}, o)
	if _, _, err := s.Trial(t, drivertest.Params("tcp_stream"), false); err != nil {
		t.Fatalf("before the shortcut: %v", err)
	}
	mesh := must.Get(engines.MeshNamespace(s.Path))(t)
	defer mesh.Close()
	to := s.Path.Pairs[0].Server.Listen[0]
	for _, proto := range []string{"tcp", "udp"} {
		must.Do(t, run(mesh, "iptables", "-t", "nat", "-A", "PREROUTING", "-p", proto, "--dport", "5201", "-j", "DNAT", "--to-destination", to.String()))
	}
	// The task answers to the mesh.
	must.Do(t, run(mesh, "iptables", "-t", "nat", "-A", "POSTROUTING", "-d", to.Addr().String(), "-j", "MASQUERADE"))
	s.WaitReachable(t)
	for _, kind := range []string{"tcp_stream", "udp_stream"} {
		s.Void(t, drivertest.Params(kind), "b/mesh/ipvs.in_bytes")
	}
}

// A task of a service can be run without the seccomp profile of an engine that allows it, and with
// limits.
func TestEnginesServiceOfCurrentEngine(t *testing.T) {
	t.Parallel()
	needCurrent(t)
	for name, with := range map[string]map[string]string{"seccomp": without("seccomp"), "limits": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := drivertest.Order(t, "docker/service-host-port", 1, nil)
			o.Engine, o.With = study.Engine{Lab: study.CurrentEngine}, with
			if with == nil {
				o.Limits.Server = study.Limit{CPUs: 0.5, Memory: 96 << 20}
			}
			s := drivertest.Build(t, engines.Docker{}, o)
			if got := fact(s.Path.Facts, "server limit"); with == nil && got != "0.5 CPUs, memory 96MiB" {
				t.Errorf("the facts say of the limit %q", got)
			}
			if _, _, err := s.Trial(t, drivertest.Params("tcp_rr"), false); err != nil {
				t.Error(err)
			}
		})
	}
}

// The seccomp profile of a service cannot be left out with an older engine.
func TestEnginesServiceOfPackagedEngine(t *testing.T) {
	t.Parallel()
	drivertest.NeedEngine(t)
	o := drivertest.Order(t, "docker/service-host-port", 1, nil)
	o.With = without("seccomp")
	p, err := engines.Docker{}.Provision(t.Context(), o)
	if err == nil {
		t.Cleanup(func() { _ = p.Close(t.Context()) })
		testneed.Missing(t, testneed.Other, "the packaged engine has API 1.44 or later")
	}
	if u, is := driver.AsUnsupported(err); !is || !strings.Contains(u.Reason, "1.44 is required") {
		t.Errorf("without its seccomp profile: %v", err)
	}
}
