package drivertest

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/result"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
)

// smallMTU is the MTU of the link between the hosts of a lab whose sandboxes keep theirs.
const smallMTU = 1400

// ChecksPathMTU makes the MTU of the link between the hosts of a path in a lab smaller than that of its client, and requires that the
// path's probe names it with the setting mtuKey: a black hole while the hosts send no ICMP, and a reported MTU once they do.
func (s *Setup) ChecksPathMTU(t testing.TB, mtuKey string) {
	t.Helper()
	s.CheckProbe(t)
	hosts := []*linuxnet.NS{s.Lab.A.NS, s.Lab.B.NS}
	for _, ns := range hosts {
		must.Do(t, ns.Links().SetMTU(lab.Underlay, smallMTU))
		nft(t, ns, "table inet swallowed {\nchain c { type filter hook output priority 0; icmp type destination-unreachable drop; icmpv6 type packet-too-big drop; }\n}\n")
	}
	s.probes(t, "large_packets_lost", "packets above 1400 bytes from a/client to b/server over IPv4 are lost without a report although the route (eth0) has an MTU of 1500",
		"TCP stops. Set the MTU of the network to 1400 ("+mtuKey+")")
	for _, ns := range hosts {
		nft(t, ns, "delete table inet swallowed\n")
	}
	s.probes(t, "path_mtu_smaller", "the path from a/client to b/server over IPv4 passes packets of at most 1400 bytes", "Set the MTU of the network to 1400 ("+mtuKey+")")
}

// probes requires that the path's probe gives warnings of one code only, in the scope of the mode, and that the first has all words.
func (s *Setup) probes(t testing.TB, code string, words ...string) {
	t.Helper()
	facts, warnings := s.Path.Probe(t.Context(), s.Ends[0].Client, s.Ends[0].Server)
	t.Logf("%v, %v", facts, warnings)
	if len(warnings) == 0 || slices.ContainsFunc(warnings, func(w result.Warning) bool { return w.Code != code || w.Scope != s.Path.Mode }) {
		t.Fatalf("warnings %+v; want %s of %s", warnings, code, s.Path.Mode)
	}
	must.Contain(t, warnings[0].Text, words...)
}

// nft runs a script of nft in a namespace.
func nft(t testing.TB, ns *linuxnet.NS, script string) {
	t.Helper()
	path, err := exec.LookPath("nft")
	if err != nil {
		testneed.Missing(t, testneed.NFT, err)
	}
	c, said := exec.CommandContext(t.Context(), path, "-f", "-"), &strings.Builder{}
	c.Stdin, c.Stderr = strings.NewReader(script), said
	if err = ns.Start(c); err == nil {
		err = c.Wait()
	}
	if err != nil {
		t.Fatalf("nft: %v: %s", err, said)
	}
}
