package drivertest

import (
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/driver"
	"tare/internal/lab"
	"tare/internal/study"
	"tare/internal/testkit/must"
)

// CheckLinkLost makes the event link_lost in a trial of http. While requests are in progress, the link between the hosts loses its carrier
// at both, and what they send moves to a second link: the counters of both links together prove the path, those of the first alone do
// not. Afterwards addresses, routes and neighbours of both hosts are as before.
func (s *Setup) CheckLinkLost(t *testing.T, ipv6 bool) {
	t.Helper()
	e := must.Get(s.Path.EventNamed(driver.LinkLost))(t)
	mac := must.Get(s.Lab.B.NS.Links().HardwareAddr(lab.Underlay))(t)
	for _, to := range s.Lab.B.Addr {
		must.Do(t, s.Lab.A.NS.Routes().Neighbour(lab.Underlay, to, mac))
	}
	before := s.network(t)
	must.True(t, strings.Contains(before, "PERMANENT") && strings.Contains(before, s.Lab.A.Addr[0].String()), "the hosts have %s", before)
	p := Params("http")
	p.KeepAlive = study.On
	r := s.TrialWithEvent(t, e, p, 6*time.Second, ipv6)
	must.Fail(t, e.Happened(r.Before, r.Before), "a/eth0.carrier_changes went from")
	for _, lacks := range []string{"a/eth0.no_carrier", "b/eth0.no_carrier", "a/eth1.routes", "b/eth1.routes", "a/eth1.rx_packets", "b/eth1.tx_packets"} {
		part := maps.Clone(r.After)
		part[lacks] = r.Before[lacks]
		must.Fail(t, e.Happened(r.Before, part), lacks+" went from 0 to 0")
	}
	s.checkMoved(t, e, r, ipv6)
	must.Equal(t, before, s.network(t))
}

// network is what ip(8) says of the addresses, routes and permanent neighbours of both hosts, but for what the kernel adds by itself, later: link-local
// and multicast addresses. It joins the anycast address of a router's subnet twice where that becomes a router while it gets its address, and then
// routes it until the device goes down for the first time.
func (s *Setup) network(t *testing.T) string {
	t.Helper()
	var all []string
	for _, h := range []*lab.Host{s.Lab.A, s.Lab.B} {
		for _, args := range []string{"-o address", "-4 route show table all", "-6 route show table all", "neighbour show nud permanent"} {
			var out strings.Builder
			cmd := exec.CommandContext(t.Context(), "ip", strings.Fields(args)...)
			cmd.Stdout = &out
			must.Do(t, h.NS.Start(cmd))
			must.Do(must.Named(t, "ip "+args), cmd.Wait())
			for line := range strings.Lines(out.String()) {
				if !strings.HasPrefix(line, "anycast ") && !strings.Contains(line, "fe80:") && !strings.Contains(line, "ff00::/8") {
					all = append(all, h.Name+": "+strings.NewReplacer(" linkdown", "", " tentative", "").Replace(line))
				}
			}
		}
	}
	slices.Sort(all)
	return strings.Join(all, "")
}
