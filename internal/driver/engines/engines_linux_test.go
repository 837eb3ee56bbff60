package engines_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/driver"
	"tare/internal/driver/engines"
	"tare/internal/driver/labdriver"
	"tare/internal/engine/private"
	"tare/internal/lab"
	"tare/internal/study"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
)

// needCurrent is for tests with a current engine; see testneed.
func needCurrent(t *testing.T) {
	t.Helper()
	drivertest.NeedEngine(t)
	for _, firewall := range []string{study.FirewallIptables, study.FirewallNftables} {
		c, err := private.ConfigOf(study.Engine{Lab: study.CurrentEngine, Firewall: firewall})
		if err == nil {
			err = c.MissingRequirements(t.Context())
		}
		if err != nil {
			testneed.Missing(t, testneed.Current, err)
		}
	}
}

// on builds a driver's modes with an engine that a study chooses.
type on struct {
	labdriver.Driver
	engine study.Engine
	modes  []string
}

func (d on) Modes() (some []driver.Mode) {
	for _, m := range d.Driver.Modes() {
		for _, id := range d.modes {
			if m.ID == id {
				some = append(some, m)
			}
		}
	}
	return some
}

func (d on) Probe(ctx context.Context, o labdriver.Order) error {
	o.Engine = d.engine
	return d.Driver.Probe(ctx, o)
}

func (d on) Provision(ctx context.Context, o labdriver.Order) (*driver.Path, error) {
	o.Engine = d.engine
	return d.Driver.Provision(ctx, o)
}

// The modes of a current engine are built and proven as those of the packaged one, which
// TestConformance tests, and as they are drawn.
func TestEnginesCurrent(t *testing.T) {
	t.Parallel()
	needCurrent(t)
	current := study.Engine{Lab: study.CurrentEngine}
	drivertest.Conformance(t, on{engines.Docker{}, current, []string{"docker/published", "docker/userland-proxy", "docker/nat", "docker/direct-routing", "docker/service-host-port"}}, 1)
	drivertest.Conformance(t, on{engines.Docker{}, current, []string{"docker/overlay", "docker/routed"}}, 2)
}

// The same with the nftables backend: the rules are found, counted and proven there.
func TestEnginesNftables(t *testing.T) {
	t.Parallel()
	needCurrent(t)
	nftables := study.Engine{Lab: study.CurrentEngine, Firewall: study.FirewallNftables}
	drivertest.Conformance(t, on{engines.Docker{}, nftables, []string{"docker/bridge", "docker/nat"}}, 1)
	drivertest.Conformance(t, on{engines.Docker{}, nftables, []string{"docker/routed", "docker/nat-unprotected", "docker/isolated"}}, 2)
}

// buildError builds a mode with an engine that must not work, and returns the error, which is one line.
func buildError(t *testing.T, mode string, asked study.Engine) error {
	t.Helper()
	o := drivertest.Order(t, mode, 1, nil)
	o.Engine = asked
	p, err := engines.Docker{}.Provision(t.Context(), o)
	if err == nil {
		_ = p.Close(context.Background())
		t.Fatalf("%s was built with %+v", mode, asked)
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("the error has several lines: %q", err)
	}
	return err
}

// programs returns a directory of programs of an engine: those of the current one, except for the
// given files.
func programs(t *testing.T, except map[string]string) string {
	t.Helper()
	current := must.Get(private.Find(study.CurrentEngine))(t)
	dir := t.TempDir()
	for _, name := range []string{"dockerd", "docker-proxy", "containerd", "containerd-shim-runc-v2", "runc"} {
		from, replaced := except[name]
		if !replaced {
			from = filepath.Join(current.Dir, name)
		}
		must.Do(t, os.Symlink(from, filepath.Join(dir, name)))
	}
	return dir
}

// An engine that cannot be used is reported with what is wrong and what to do.
func TestEnginesThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	needCurrent(t)
	want := func(err error, words ...string) {
		t.Helper()
		must.Contain(t, err.Error(), words...)
	}
	script := filepath.Join(t.TempDir(), "dockerd")
	must.Do(t, os.WriteFile(script, []byte("#!/bin/sh\necho failed to load the configuration: no such key >&2\nexit 3\n"), 0o755))
	want(buildError(t, "docker/published", study.Engine{Lab: programs(t, map[string]string{"dockerd": script})}), "host b", "exit status 3", "failed to load the configuration: no such key")
	want(buildError(t, "docker/published", study.Engine{Lab: filepath.Join(t.TempDir(), "dockerd")}), "no such file", "give the path of a dockerd")
	want(buildError(t, "docker/published", study.Engine{Lab: t.TempDir()}), "no program dockerd")
	want(buildError(t, "docker/published", study.Engine{Lab: "v0.0.1"}), "find the Docker Engine v0.0.1", "the cache has")
	want(buildError(t, "docker/overlay", study.Engine{Lab: study.CurrentEngine, Firewall: study.FirewallNftables}), "cannot form a Swarm")
	want(buildError(t, "docker/ingress", study.Engine{Lab: study.CurrentEngine, Firewall: study.FirewallNftables}), "cannot form a Swarm")
	for version, api := range map[string][2]string{"too old": {"1.24", "1.12"}, "too new": {"1.99", "1.98"}} {
		self := must.Get(os.Executable())(t)
		t.Logf("an engine that is %s", version)
		dir := programs(t, map[string]string{"dockerd": self})
		must.Do(t, os.WriteFile(filepath.Join(dir, answersFile), []byte(api[0]+" "+api[1]), 0o600))
		want(buildError(t, "docker/published", study.Engine{Lab: dir}), "API version")
	}
	packaged := private.Packaged().Describe(t.Context())
	if packaged.Runc >= "1.2" {
		t.Logf("the packaged runc %s is not too old for the current engine: that is not tested", packaged.Runc)
		return
	}
	runc := must.Get(exec.LookPath("runc"))(t)
	want(buildError(t, "docker/published", study.Engine{Lab: programs(t, map[string]string{"runc": runc})}), "runc "+packaged.Runc+" is too old for Docker Engine 29", "put runc 1.2 or newer beside")
}

// A gateway mode and a firewall backend that the packaged engine lacks are unsupported there.
func TestEnginesPackagedLacks(t *testing.T) {
	t.Parallel()
	drivertest.NeedEngine(t)
	packaged := private.Packaged().Describe(t.Context())
	if packaged.Released.Year() > 2023 {
		testneed.Missing(t, testneed.Other, "the packaged engine "+packaged.Version+" has the gateway modes")
	}
	err := buildError(t, "docker/routed", study.Engine{})
	if u, is := driver.AsUnsupported(err); !is || !strings.Contains(u.Reason, "has no gateway mode routed") {
		t.Error(err)
	}
	err = buildError(t, "docker/published", study.Engine{Firewall: study.FirewallNftables})
	if !strings.Contains(err.Error(), "it has no firewall backend nftables") {
		t.Error(err)
	}
}

// Current engines drop packets to a container's own address behind published ports, and the rule that
// dropped them is named. An option of the network or of the engine lets them pass.
func TestEnginesDirectRouting(t *testing.T) {
	t.Parallel()
	needCurrent(t)
	for _, firewall := range []string{study.FirewallIptables, study.FirewallNftables} {
		t.Run(firewall, func(t *testing.T) {
			t.Parallel()
			o := drivertest.Order(t, "docker/direct-routing", 1, nil)
			o.Engine = study.Engine{Lab: study.CurrentEngine, Firewall: firewall}
			o.With = map[string]string{"trusted_interface": study.Off}
			_, err := engines.Docker{}.Provision(t.Context(), o)
			if u, is := driver.AsUnsupported(err); !is || !strings.Contains(u.Reason, "raw") || !strings.Contains(u.Reason, "for packets to 198.1") || strings.Contains(u.Reason, "\n") {
				t.Errorf("without an option that allows it: %v", err)
			}
			nothingLeft(t, o.Lab.Claim.ID)
			o = drivertest.Order(t, "docker/direct-routing", 1, nil)
			o.Engine = study.Engine{Lab: study.CurrentEngine, Firewall: firewall, DirectRouting: study.On}
			s := drivertest.Build(t, engines.Docker{}, o)
			if got := fact(s.Path.Facts, "b direct routing"); !strings.Contains(got, "--allow-direct-routing") {
				t.Errorf("the fact says %q", got)
			}
			for _, ipv6 := range []bool{false, lab.SupportsIPv6()} {
				if _, _, err := s.Trial(t, drivertest.Params("tcp_rr"), ipv6); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// Options of a network reach the engine: with an IPv4 address to bind ports to, no port is published over
// IPv6. Those that the mode sets itself, and those that the engine would ignore,
// are rejected.
func TestEnginesGatewayOptions(t *testing.T) {
	t.Parallel()
	needCurrent(t)
	const binding, icc = "com.docker.network.bridge.host_binding_ipv4", "com.docker.network.bridge.enable_icc"
	order := func(options map[string]string) labdriver.Order {
		o := drivertest.Order(t, "docker/nat", 1, nil)
		o.Engine, o.Options = study.Engine{Lab: study.CurrentEngine}, options
		return o
	}
	s := drivertest.Build(t, engines.Docker{}, order(map[string]string{icc: "false"}))
	if got := fact(s.Path.Facts, "b option "+icc); got != "false" {
		t.Errorf("the fact of the option %s says %q; want false", icc, got)
	}
	if _, _, err := s.Trial(t, drivertest.Params("tcp_rr"), false); err != nil {
		t.Error(err)
	}
	type refused struct {
		options map[string]string
		want    string
	}
	all := []refused{
		{map[string]string{"com.docker.network.bridge.gateway_mode_ipv4": "routed"}, "the mode sets the option com.docker.network.bridge.gateway_mode_ipv4 itself"},
		{map[string]string{"enable_icc": "false"}, "ignores the option enable_icc"},
	}
	if lab.SupportsIPv6() {
		all = append(all, refused{map[string]string{binding: "127.0.0.1"}, "find the rule that accepts connections to 2001:2:"})
	}
	for _, tt := range all {
		o := order(tt.options)
		p, err := engines.Docker{}.Provision(t.Context(), o)
		if err == nil {
			_ = p.Close(context.Background())
		}
		must.Fail(t, err, tt.want)
		nothingLeft(t, o.Lab.Claim.ID)
	}
}
