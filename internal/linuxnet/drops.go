//go:build linux

package linuxnet

import (
	"fmt"

	"github.com/vishvananda/netlink"
)

// Kinds lists the namespace's devices with what they are: veth, bridge, vxlan.
// Hardware and loopback are "device".
func (ns *NS) Kinds() (map[string]string, error) {
	var links []netlink.Link
	err := complete(func() (err error) {
		links, err = ns.handle.LinkList()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list the devices of namespace %s: %w", ns.name, err)
	}
	kinds := map[string]string{}
	for _, l := range links {
		kinds[l.Attrs().Name] = l.Type()
	}
	return kinds, nil
}

// QdiscDrops is what a queueing discipline has thrown away since it was set up, in
// packets as it got them: one that stands for many counts as one. The kernel keeps
// both in 32 bits.
type QdiscDrops struct {
	Device, Kind string
	Drops        uint64
	Overlimits   uint64 // times that it had to wait
}

// QdiscDrops reads the namespace's queueing disciplines, of each device the
// outermost, which also counts what those within it drop, and that for what comes in.
func (ns *NS) QdiscDrops() ([]QdiscDrops, error) {
	var out []QdiscDrops
	err := complete(func() error {
		out = nil
		links, err := ns.handle.LinkList()
		if err != nil {
			return err
		}
		names := map[int]string{}
		for _, l := range links {
			names[l.Attrs().Index] = l.Attrs().Name
		}
		all, err := ns.handle.QdiscList(nil)
		if err != nil {
			return err
		}
		for _, q := range all {
			a := q.Attrs()
			outermost := a.Parent == netlink.HANDLE_ROOT || a.Parent == netlink.HANDLE_INGRESS
			if outermost && a.Statistics != nil && a.Statistics.Queue != nil {
				out = append(out, QdiscDrops{names[a.LinkIndex], q.Type(), uint64(a.Statistics.Queue.Drops), uint64(a.Statistics.Queue.Overlimits)})
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the queueing disciplines of namespace %s: %w", ns.name, err)
	}
	return out, nil
}
