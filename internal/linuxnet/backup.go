//go:build linux

package linuxnet

import (
	"fmt"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// backupMetric is added to the metric of a backup route. No route of a lab has a metric of that size.
const backupMetric = 4096

// Backup routes what is routed over the device of over the device by, too, with a higher metric: it carries packets as soon as the routes
// over the other are gone. Routes of host addresses, of link-local and of multicast addresses stay as they are.
func (ns *Routes) Backup(of, by string) error {
	from, err := ns.whole().Links().link(of)
	if err != nil {
		return err
	}
	to, err := ns.whole().Links().link(by)
	if err != nil {
		return err
	}
	routes, err := ns.over(from)
	if err != nil {
		return err
	}
	routes = slices.DeleteFunc(routes, func(r netlink.Route) bool {
		return r.Table == unix.RT_TABLE_LOCAL || r.Type != unix.RTN_UNICAST || r.Dst != nil && (r.Dst.IP.IsLinkLocalUnicast() || r.Dst.IP.IsMulticast())
	})
	// The kernel accepts a gateway only on a device that has a route to it.
	slices.SortStableFunc(routes, func(a, b netlink.Route) int { return len(a.Gw) - len(b.Gw) })
	for _, r := range routes {
		r.LinkIndex, r.Flags, r.Protocol = to.Attrs().Index, 0, unix.RTPROT_STATIC
		r.Priority += backupMetric
		if err := ns.handle.RouteAdd(&r); err != nil {
			return fmt.Errorf("add the route %s as a backup in namespace %s: %w", r, ns.name, err)
		}
	}
	return nil
}

// over lists the routes over a link, of all tables and both families.
func (ns *Routes) over(l netlink.Link) (routes []netlink.Route, err error) {
	filter := &netlink.Route{LinkIndex: l.Attrs().Index, Table: unix.RT_TABLE_UNSPEC}
	err = complete(func() (err error) {
		routes, err = ns.handle.RouteListFiltered(netlink.FAMILY_ALL, filter, netlink.RT_FILTER_OIF|netlink.RT_FILTER_TABLE)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list the routes over %s in namespace %s: %w", l.Attrs().Name, ns.name, err)
	}
	return routes, nil
}
