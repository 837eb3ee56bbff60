package nic_test

import (
	"net"
	"strings"
	"testing"

	"tare/internal/linuxnet"
	"tare/internal/linuxnet/here"
	"tare/internal/observe/netstack"
	"tare/internal/observe/nic"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
	"tare/internal/testkit/nstest"
)

func TestMain(m *testing.M) {
	nstest.Enter()
	m.Run()
}

// The kernel's own statistics of a veth device are read, a device without any adds nothing,
// and one that does not exist is a gap.
func TestRead(t *testing.T) {
	drivertest.NeedLab(t)
	ns := must.Get(linuxnet.NewNS("tare-test-nic"))(t)
	defer ns.Close()
	must.Do(t, ns.Links().Veth(linuxnet.Device{Name: "left"}, ns, linuxnet.Device{Name: "right"}))
	var r netstack.Reading
	var all map[string]uint64
	must.Do(t, ns.Do(func() (err error) {
		nic.Read(&r, []string{"left", "lo", "none"})
		all, err = here.DriverStats("left")
		return err
	}))
	found := 0
	for name := range r.Counters {
		must.True(t, strings.HasPrefix(name, "nic/left.no_buffer.rx_queue_#_"), "counter %s", name)
		found++
	}
	must.True(t, found != 0, "nothing is classified of %v", all)
	must.True(t, len(r.Gaps) == 1 && strings.Contains(r.Gaps[0].Source, "none"), "gaps %v", r.Gaps)
}

// The statistics of this machine's own cards are read without an error.
func TestReadHere(t *testing.T) {
	devices := must.Get(net.Interfaces())(t)
	for _, d := range devices {
		details, err := here.Details(d.Name)
		if err != nil || details.Kind != "device" || details.Loopback {
			continue
		}
		var r netstack.Reading
		nic.Read(&r, []string{d.Name})
		must.True(t, len(r.Gaps) == 0, "%s: %v", d.Name, r.Gaps)
		t.Logf("%s, driver %s: %d classified counters", d.Name, details.Driver, len(r.Counters))
	}
}
