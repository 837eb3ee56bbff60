package incus

import (
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"

	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/pathspec"
	"tare/internal/lab"
	"tare/internal/linuxnet"
)

// buildForwarded starts the servers' containers, whose ports a process of Incus forwards: it accepts connections on the host, and opens others
// within the container, to the container's own address. So nothing crosses the container's device.
func (p *path) buildForwarded(ctx context.Context) error {
	a, b := p.Sides()
	eth, lo := pathspec.Device{Name: lab.Underlay}, pathspec.Device{Name: "lo"}
	p.MustCarryAtLeast(pathspec.AllPairs, a.Place, eth, pathspec.Transmits)
	p.MustCarryAtLeast(pathspec.AllPairs, b.Place, eth, pathspec.Receives)
	p.MustBeIdle(a.Place, lo)
	p.MustBeIdle(b.Place, lo)
	return p.ForEachPair(func(pair int) error {
		ns, err := p.connect(ctx, b, pair)
		if err != nil {
			return err
		}
		name, published := lab.PairName(b.Role, pair), p.Published(b, pair)
		at := labdriver.NamespacePlace(ns, b.At, b.At+"/"+name)
		p.AddPairNamespaces(a.Host.NS, ns)
		p.AddPairPorts(labdriver.NamespaceEndpoint(a.Place, a.Host.NS), labdriver.NamespaceEndpoint(at, ns),
			[]netip.AddrPort{published.To}, []netip.AddrPort{netip.AddrPortFrom(b.Host.Addr[0], published.Port)})
		p.MustCarryBothAtLeast(pair, at, lo)
		p.MustBeIdle(at, eth)
		listen := fmt.Sprintf("tcp:%s:%d", b.Host.Addr[0], published.Port)
		pid, err := forwarder(p.servers[b.Host].PID(), listen)
		if err != nil {
			return fmt.Errorf("find the process that forwards %s: %w", listen, err)
		}
		of := fmt.Sprintf("forkproxy:%d", published.Port)
		counter := pathspec.CounterName(b.At, of, "run_ns")
		p.ReadRunTime(counter, "forkproxy of host b", pid)
		p.AddRules(driver.Rule{Counter: counter, Expect: driver.ProcessBusy, Pair: pair})
		if pair == 1 {
			p.SetSteps(pathspec.ProcessStep(a.Place), pathspec.DeviceStep(a.Place, eth), pathspec.DeviceStep(b.Place, eth),
				pathspec.PerPair(pathspec.ProvenBy(pathspec.RuleStep(b.Place, "process", "forkproxy"), b.At+"/"+of)),
				pathspec.PerPair(pathspec.DeviceStep(at, lo)), pathspec.ProcessStep(at))
		}
		return nil
	})
}

// forwarder returns the process of Incus below a process that forwards what arrives at an address.
func forwarder(below int, listen string) (int, error) {
	all, err := linuxnet.Children(below)
	if err != nil {
		return 0, err
	}
	for _, pid := range all {
		line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
		if args := bytes.Split(line, []byte{0}); err == nil && len(args) > 1 && string(args[1]) == "forkproxy" && bytes.Contains(line, append([]byte(listen), 0)) {
			return pid, nil
		}
		if found, err := forwarder(pid, listen); err == nil {
			return found, nil
		}
	}
	return 0, fmt.Errorf("process %d has no such child", below)
}
