package proxy_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/proxy"
	"tare/internal/linuxnet"
	"tare/internal/study"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
	"tare/internal/traffic"
)

func TestMain(m *testing.M) {
	drivertest.UsePrograms("proxies")
	drivertest.MainOf(m, proxy.Driver{})
}

func TestConformance(t *testing.T) {
	drivertest.Conformance(t, drivertest.Only(proxy.Driver{}, "proxy/plain"), 2)
}

func TestEnginesConformance(t *testing.T) {
	drivertest.NeedProgram(t, testneed.HAProxy, "haproxy")
	drivertest.Conformance(t, drivertest.Only(proxy.Driver{}, "proxy/l4", "proxy/tls", "proxy/http"), 2)
}

// modes lists the modes with tests of their own.
func modes() []string { return []string{"proxy/plain", "proxy/tls"} }

// inEach runs a test over each mode with one pair.
func inEach(t *testing.T, test func(*testing.T, *drivertest.Setup)) {
	for _, mode := range modes() {
		t.Run(mode, func(t *testing.T) { test(t, drivertest.Provision(t, proxy.Driver{}, mode, nil)) })
	}
}

// Fifty streams at once, exchanges, and one connection after the other pass the proxies, over
// both address families, and each is proven.
func TestEnginesManyConnections(t *testing.T) {
	inEach(t, func(t *testing.T, s *drivertest.Setup) {
		streams := drivertest.Params("tcp_stream")
		streams.Streams = 50
		_, _, noIPv6 := s.Path.Pairs[0].Server.Reach(true)
		for i, p := range []struct {
			name string
			err  error
		}{
			{"50 streams", second(s.Trial(t, streams, false))},
			{"exchanges", second(s.Trial(t, drivertest.Params("tcp_rr"), noIPv6 == nil))},
			{"connections", second(s.Trial(t, drivertest.Params("tcp_crr"), false))},
		} {
			must.EqualFor(t, fmt.Sprintf("%d, %s", i, p.name), nil, p.err)
		}
	})
}

// second is the proof of a trial.
func second[A, B any](_ A, _ B, proof error) error { return proof }

// A detour on which the traffic still flows makes the path void: address translation that sends the same packets past both proxies over the underlay.
func TestEnginesShortcuts(t *testing.T) {
	for _, tt := range []struct {
		name, mode string
		open       func(*drivertest.Setup) error
		want       string
	}{
		{"past the proxies", "proxy/plain", past, "a/proxy.forward_bytes"},
		{"past the proxies", "proxy/tls", past, "b/eth0.inside_bytes"},
	} {
		t.Run(tt.name+" of "+tt.mode, func(t *testing.T) {
			s := drivertest.Provision(t, proxy.Driver{}, tt.mode, nil)
			if _, _, err := s.Trial(t, drivertest.Params("tcp_stream"), false); err != nil {
				t.Fatalf("before the shortcut: %v", err)
			}
			must.Do(t, tt.open(s))
			s.WaitReachable(t)
			s.Void(t, drivertest.Params("tcp_stream"), tt.want)
		})
	}
}

// past makes both hosts routers, and host a translate the dialled address to the server's.
func past(s *drivertest.Setup) error {
	at := s.Path.Pairs[0].Server
	a, b := s.Lab.A, s.Lab.B
	client, server := s.Path.Internal.(*proxy.Path).PairNamespaces(1)
	from, to := subnet(at.Dial[0].Addr()), subnet(at.Listen[0].Addr())
	return errors.Join(
		s.Lab.EnableForwarding(a.NS), s.Lab.EnableForwarding(b.NS),
		a.NS.Routes().Route(to, b.Addr[0], ""), b.NS.Routes().Route(from, a.Addr[0], ""),
		client.Routes().DefaultRoute(from.Addr().Next()), server.Routes().DefaultRoute(to.Addr().Next()),
		a.NS.Rules().Gateway(linuxnet.Gateway{Table: "past", Bridge: "eth0", Rules: linuxnet.RuleDNAT, Publish: []linuxnet.Published{{Port: at.Dial[0].Port(), To: at.Listen[0]}}}),
	)
}

// subnet is the lab's subnet of an IPv4 address.
func subnet(a netip.Addr) netip.Prefix { return netip.PrefixFrom(a, 24).Masked() }

// If a proxy is killed, the path's error says which, and nothing leaves the host.
func TestEnginesProxyKilled(t *testing.T) {
	inEach(t, func(t *testing.T, s *drivertest.Setup) {
		if _, _, err := s.Trial(t, drivertest.Params("tcp_stream"), false); err != nil {
			t.Fatal(err)
		}
		must.Do(t, syscall.Kill(s.Path.Processes()[1], syscall.SIGKILL))
		var err error
		for end := time.Now().Add(20 * time.Second); err == nil && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			_, err = s.Path.Snapshot(t.Context())
		}
		must.FailLine(t, "of a proxy that was killed", err, "the proxy of host b has ended: signal: killed")
	})
}

// The facts say what was negotiated; no secret is readable by others; a datagram workload is
// not offered.
func TestEnginesFactsAndSecrets(t *testing.T) {
	inEach(t, func(t *testing.T, s *drivertest.Setup) {
		facts := map[string]string{}
		for _, f := range s.Path.Facts {
			facts[f.Name] = f.Value
		}
		want := ""
		if s.Path.Mode == "proxy/tls" {
			want = "TLS 1.3, TLS_AES_128_GCM_SHA256, key exchange X25519, mutual, a full handshake for each connection"
		}
		if facts["TLS"] != want || strings.HasPrefix(facts["TLS library"], "crypto/tls of go") != (want != "") || !strings.Contains(facts["proxy of host b"], "congestion control cubic") {
			t.Errorf("facts %v", facts)
		}
		for _, pid := range s.Path.Processes() {
			for _, file := range []string{"cmdline", "environ"} {
				text := must.Get(os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), file)))(t)
				if len(text) > 200 {
					t.Errorf("%s of process %d has %q", file, pid, text)
				}
			}
			if name, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "comm")); err != nil || string(name) != "tare-proxy\n" {
				t.Errorf("process %d is named %q, %v", pid, name, err)
			}
		}
	})
	for _, m := range (proxy.Driver{}).Modes() {
		if m.WhyNot(study.Workload{Kind: "udp_stream"}, traffic.Spec{Datagrams: true}, nil) == "" {
			t.Errorf("%s carries datagrams", m.ID)
		}
	}
}

// Each route that TLS could fail to protect is found in the frames: the message in the clear, a
// direction without a record, and a capture that sees nothing.
func TestFrames(t *testing.T) {
	message := bytes.Repeat([]byte("marker"), 10)
	frame := func(parts ...[]byte) []byte { return bytes.Join(parts, []byte("....")) }
	record := frame([]byte{0x17, 3, 3, 0, byte(len(message) + 17)}, bytes.Repeat([]byte{9}, len(message)+17))
	for name, tt := range map[string]struct {
		frames    [][]byte
		encrypted bool
		want      string
	}{
		"plain":                {[][]byte{frame(message), {}, frame([]byte("x"), message)}, false, ""},
		"plain, nothing seen":  {nil, false, "0 of 0 frames on the underlay contain the message"},
		"plain, but encrypted": {[][]byte{record, record}, false, "0 of 2 frames"},
		"TLS":                  {[][]byte{record, {1, 2}, record}, true, ""},
		"TLS, nothing seen":    {nil, true, "0 of 0 frames on the underlay contain a TLS record"},
		"TLS one way":          {[][]byte{record, {1, 2}}, true, "1 of 2 frames"},
		"TLS beside clear":     {[][]byte{record, record, frame(message)}, true, "contain the message in the clear"},
	} {
		err := proxy.CheckFrames(tt.frames, message, tt.encrypted)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An impossible mode is reported in one line.
func TestImpossible(t *testing.T) {
	drivertest.NeedLab(t)
	for want, o := range map[string]driver.Order{
		"has no mode":        {Mode: "proxy/none", Pairs: 1},
		"use 1 to 100":       {Mode: "proxy/tls", Pairs: 101},
		"limits are applied": {Mode: "proxy/tls", Pairs: 1, Limits: study.Limits{Server: study.Limit{CPUs: 1}}},
	} {
		_, err := proxy.Driver{}.Provision(t.Context(), drivertest.SpecOn(drivertest.Spec(t, nil), o))
		must.FailLine(t, "the error", err, want)
	}
}

// A killed run takes its proxies with it.
func TestEnginesKilledRun(t *testing.T) {
	drivertest.NeedProgram(t, testneed.HAProxy, "haproxy")
	for _, mode := range []string{"proxy/tls", "proxy/l4", "proxy/http"} {
		t.Run(mode, func(t *testing.T) { drivertest.KilledRun(t, mode, nil) })
	}
}
