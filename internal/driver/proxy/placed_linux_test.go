package proxy_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
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
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/study"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
)

// variant is a mode with its settings.
type variant struct{ mode, program, placement string }

func (v variant) String() string { return v.mode + " " + v.program + " " + v.placement }

// provision builds a variant with some pairs.
func (v variant) provision(t *testing.T, pairs int) *drivertest.Setup {
	t.Helper()
	if v.program != "tare" {
		drivertest.NeedProgram(t, testneed.HAProxy, "haproxy")
	}
	return drivertest.Build(t, proxy.Driver{}, drivertest.SpecOn(drivertest.Spec(t, nil),
		driver.Order{Mode: v.mode, Pairs: pairs, With: map[string]string{"program": v.program, "placement": v.placement}}))
}

// Each program is proven at each placement, with streams both ways, exchanges and one connection
// after the other, over both address families.
func TestEnginesPlacements(t *testing.T) {
	for i, v := range []variant{
		{"proxy/l4", "haproxy", "both"}, {"proxy/l4", "haproxy", "client"}, {"proxy/l4", "haproxy", "server"}, {"proxy/l4", "haproxy", "hop"},
		{"proxy/tls", "haproxy", "both"}, {"proxy/tls", "haproxy", "hop"},
		{"proxy/l4", "tare", "both"}, {"proxy/l4", "tare", "server"}, {"proxy/tls", "tare", "both"}, {"proxy/tls", "tare", "hop"},
	} {
		t.Run(v.String(), func(t *testing.T) {
			s := v.provision(t, 1+i%2)
			s.CheckTopology(t)
			_, _, noIPv6 := s.Path.Pairs[0].Server.Reach(true)
			stream, reverse := drivertest.Params("tcp_stream"), drivertest.Params("tcp_stream")
			stream.Streams, reverse.Direction = 8, study.Reverse
			exchanges, connections := drivertest.Params("tcp_rr"), drivertest.Params("tcp_crr")
			// Large requests carry enough on a busy machine, too.
			exchanges.RequestSize, connections.RequestSize = 4096, 16384
			for name, err := range map[string]error{
				"8 streams": second(s.Trial(t, stream, false)), "from the server": second(s.Trial(t, reverse, noIPv6 == nil)),
				"exchanges": second(s.Trial(t, exchanges, false)), "connections": second(s.Trial(t, connections, noIPv6 == nil)),
			} {
				must.EqualFor(t, name, nil, err)
			}
		})
	}
}

// A client that dials past a proxy makes the path void, though its traffic arrives: past its own
// sidecar, past that of the server, or past the host between.
func TestEnginesPastPlacedProxies(t *testing.T) {
	direct := netip.MustParseAddr("0.0.0.0")
	for _, tt := range []struct {
		of     variant
		listen bool // the server is dialled itself, not the next proxy
		want   string
	}{
		{variant{"proxy/l4", "haproxy", "both"}, false, "a/lo.opened_packets"},
		{variant{"proxy/tls", "haproxy", "both"}, true, "b/eth0.other_tcp_bytes"},
		{variant{"proxy/l4", "haproxy", "server"}, true, "b/proxy.run_ns"},
		{variant{"proxy/l4", "haproxy", "hop"}, true, "b/eth0.rx_bytes"},
	} {
		t.Run(tt.of.String(), func(t *testing.T) {
			s := tt.of.provision(t, 1)
			if _, _, err := s.Trial(t, drivertest.Params("tcp_stream"), false); err != nil {
				t.Fatalf("before the shortcut: %v", err)
			}
			at := &s.Path.Pairs[0].Server
			at.Dial[0] = netip.AddrPortFrom(s.Lab.B.Addr[0], at.Dial[0].Port())
			if tt.listen {
				const elsewhere = 5900
				at.Listen[0], at.Dial[0] = netip.AddrPortFrom(direct, elsewhere), netip.AddrPortFrom(s.Lab.B.Addr[0], elsewhere)
			}
			s.Void(t, drivertest.Params("tcp_stream"), tt.want)
		})
	}
}

// The proxy of the server accepts no connection in the clear and none without a certificate of
// the run, and the server sees nothing of one.
func TestEnginesOnlyMutualTLS(t *testing.T) {
	s := variant{"proxy/tls", "haproxy", "both"}.provision(t, 1)
	listen := s.Path.Pairs[0].Server.Listen[0]
	var server net.Listener
	in := func(ns *linuxnet.NS, fn func() error) {
		t.Helper()
		must.Do(t, ns.Do(fn))
	}
	in(s.Lab.B.NS, func() (err error) {
		server, err = net.ListenTCP("tcp", net.TCPAddrFromAddrPort(listen))
		return err
	})
	t.Cleanup(func() { server.Close() })
	arrived := make(chan string, 4)
	go func() {
		for {
			c, err := server.Accept()
			if err != nil {
				return
			}
			text, _ := io.ReadAll(c) // what came before the end is what matters
			c.Close()
			if len(text) > 0 {
				arrived <- string(text)
			}
		}
	}()
	for name, talk := range map[string]func(net.Conn) error{
		"in the clear": func(c net.Conn) error {
			if _, err := c.Write([]byte("in the clear, no handshake\n")); err != nil {
				return err
			}
			_, err := io.ReadFull(c, make([]byte, 64))
			return err
		},
		"without a certificate": func(c net.Conn) error {
			secured := tls.Client(c, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // it is the server that must refuse
			if _, err := secured.Write([]byte("no certificate\n")); err != nil {
				return err
			}
			_, err := io.ReadFull(secured, make([]byte, 64)) // TLS 1.3 tells it with the first answer
			return err
		},
	} {
		var c net.Conn
		in(s.Lab.A.NS, func() (err error) {
			c, err = net.DialTimeout("tcp", netip.AddrPortFrom(s.Lab.B.Addr[0], listen.Port()).String(), 20*time.Second)
			return err
		})
		must.Do(t, c.SetDeadline(time.Now().Add(20*time.Second)))
		if err := talk(c); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: the connection ended with %v, want it refused", name, err)
		}
		c.Close()
	}
	select {
	case text := <-arrived:
		t.Errorf("the server received %q", text)
	default:
	}
}

// The facts name the program with its version, where the proxies are and what TLS they negotiated.
// Configuration, certificate and key are in no argument, and only root can read them.
func TestEnginesPlacedFactsAndSecrets(t *testing.T) {
	s := variant{"proxy/tls", "haproxy", "both"}.provision(t, 1)
	facts := map[string]string{}
	for _, f := range s.Path.Facts {
		facts[f.Name] = f.Value
	}
	for name, want := range map[string]string{
		"the proxy in a": "HAProxy version ", "the proxy in b": "congestion control ", "threads of the proxy in a": "", "proxy placement": "beside client and server",
		"TLS": "TLS 1.3, TLS_AES_128_GCM_SHA256, key exchange X25519, mutual, a full handshake for each connection", "connections of the proxies": "none is reused",
	} {
		if got, known := facts[name]; !known || !strings.Contains(got, want) {
			t.Errorf("fact %q is %q, want %q", name, got, want)
		}
	}
	for _, pid := range s.Path.Processes() {
		for _, file := range []string{"cmdline", "environ"} {
			text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), file))
			if err != nil || strings.Contains(string(text), "PRIVATE") || len(text) > 300 {
				t.Errorf("%s of process %d has %q, %v", file, pid, text, err)
			}
		}
		files, err := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "root/run/*"))
		must.EqualFor(t, fmt.Sprintf("files of process %d: %v", pid, files), []any{nil, 3}, []any{err, len(files)})
		for _, f := range files {
			if info, err := os.Stat(f); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s has mode %v, %v", f, info.Mode(), err)
			}
			text, err := os.ReadFile(f)
			if err != nil || strings.Contains(string(text), "stats") || strings.Contains(string(text), "log ") {
				t.Errorf("%s has a log or statistics, or %v", f, err)
			}
		}
	}
}

// A placed proxy that is killed is named by the path's error.
func TestEnginesPlacedProxyKilled(t *testing.T) {
	s := variant{"proxy/l4", "haproxy", "both"}.provision(t, 1)
	must.Do(t, syscall.Kill(s.Path.Processes()[1], syscall.SIGKILL))
	var err error
	for end := time.Now().Add(20 * time.Second); err == nil && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		_, err = s.Path.Snapshot(t.Context())
	}
	must.FailLine(t, "of a proxy that was killed", err, "the proxy in b has ended: signal: killed")
}

// A program that is missing, another one or does not start is one line with what to do or with its
// last words.
func TestBadHAProxy(t *testing.T) {
	for name, tt := range map[string]struct{ script, want string }{
		"another program": {"#!/bin/sh\necho something else\n", "unexpected output \"something else\"; install a current haproxy"},
		"too old":         {"#!/bin/sh\nexit 1\n", "exit status 1; install a current haproxy"},
		"does not start":  {"#!/bin/sh\n[ \"$1\" = -v ] && { echo HAProxy version 9; exit; }\necho cannot bind >&2; exit 7\n", "the proxy in a has ended: haproxy ended (exit status 7): cannot bind"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := drivertest.Spec(t, nil)
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "haproxy"), []byte(tt.script), 0o755); err != nil { //nolint:gosec // it is to be run
				t.Fatal(err)
			}
			t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
			_, err := proxy.Driver{}.Provision(t.Context(), drivertest.SpecOn(spec, driver.Order{Mode: "proxy/l4", Pairs: 1}))
			must.FailLine(t, "the error", err, tt.want)
			left, globErr := filepath.Glob("/run/netns/" + lab.Prefix + spec.Claim.ID + "*")
			if globErr != nil || len(left) > 0 {
				t.Errorf("left: %v, %v", left, globErr)
			}
		})
	}
}

// Only what a mode has can be set: TLS is between two proxies.
func TestPlacedSettings(t *testing.T) {
	got := map[string]string{}
	for _, m := range (proxy.Driver{}).Modes() {
		for _, s := range m.Own {
			got[m.ID+" "+s.Name] = s.Values
			if s.Valid("nowhere") {
				t.Errorf("%s accepts %s: nowhere", m.ID, s.Name)
			}
		}
	}
	want := map[string]string{
		"proxy/l4 program": "haproxy, tare", "proxy/l4 placement": "both, client, server, hop", "proxy/tls program": "haproxy, tare", "proxy/tls placement": "both, hop",
		"proxy/http program": "haproxy, nginx, caddy, envoy", "proxy/http placement": "both, client, server, hop", "proxy/http tls": "off, on, mutual", "proxy/http reuse": "on, off",
	}
	must.Equal(t, want, got)
}
