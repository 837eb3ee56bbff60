package linuxnet

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"unsafe"

	"github.com/safchain/ethtool"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// HereDetails reads a link of the namespace that this thread is in. It changes nothing. A
// part that the driver does not tell is unknown.
func HereDetails(name string) (LinkDetails, error) {
	h, err := openNetlink(unix.NETLINK_ROUTE)
	if err != nil {
		return LinkDetails{}, fmt.Errorf("open netlink: %w", err)
	}
	defer h.Close()
	var links []netlink.Link
	err = complete(func() (err error) {
		links, err = h.LinkList()
		return err
	})
	if err != nil {
		return LinkDetails{}, fmt.Errorf("list devices: %w", err)
	}
	i := slices.IndexFunc(links, func(l netlink.Link) bool { return l.Attrs().Name == name })
	if i < 0 {
		return LinkDetails{}, fmt.Errorf("read device %s: no such device", name)
	}
	a := links[i].Attrs()
	d := LinkDetails{
		Name: a.Name, Index: a.Index, Kind: links[i].Type(), MAC: a.HardwareAddr.String(), MTU: a.MTU, TxQLen: a.TxQLen, Promisc: a.Promisc,
		Up: a.RawFlags&unix.IFF_UP != 0, Loopback: a.RawFlags&unix.IFF_LOOPBACK != 0, Bus: a.ParentDevBus, BusDevice: a.ParentDev,
		Unknown: map[string]string{},
	}
	d.lower(links[i], links)
	d.readQdisc(h, links[i])
	e, err := ethtool.NewEthtool()
	if err != nil {
		return d, fmt.Errorf("open ethtool: %w", err)
	}
	defer e.Close()
	d.readDriver(e)
	return d, nil
}

// HereRoute returns the name of the link of the thread's namespace by which packets to an
// address leave.
func HereRoute(addr netip.Addr) (device string, err error) {
	h, err := openNetlink(unix.NETLINK_ROUTE)
	if err != nil {
		return "", fmt.Errorf("open netlink: %w", err)
	}
	defer h.Close()
	routes, err := h.RouteGet(addr.AsSlice())
	if err == nil && len(routes) == 0 {
		err = errors.New("the kernel returned none")
	}
	if err != nil {
		return "", fmt.Errorf("find the route to %s: %w", addr, err)
	}
	l, err := h.LinkByIndex(routes[0].LinkIndex)
	if err != nil {
		return "", fmt.Errorf("find the device of the route to %s: %w", addr, err)
	}
	return l.Attrs().Name, nil
}

// lower finds the links that carry the packets of l. The peer of a veth pair does not: the
// pair itself is the link.
func (d *LinkDetails) lower(l netlink.Link, all []netlink.Link) {
	a := l.Attrs()
	for _, o := range all {
		if o.Attrs().MasterIndex == a.Index {
			d.Lower = append(d.Lower, o.Attrs().Name)
		}
	}
	if l.Type() == "veth" || a.ParentIndex <= 0 || a.ParentIndex == a.Index {
		return
	}
	i := slices.IndexFunc(all, func(o netlink.Link) bool { return o.Attrs().Index == a.ParentIndex })
	if d.Elsewhere = a.NetNsID >= 0 || i < 0; !d.Elsewhere {
		d.Lower = append(d.Lower, all[i].Attrs().Name)
	}
}

func (d *LinkDetails) readQdisc(h *netlink.Handle, l netlink.Link) {
	var list []netlink.Qdisc
	err := complete(func() (err error) {
		list, err = h.QdiscList(l)
		return err
	})
	if err != nil {
		d.Unknown["qdisc"] = err.Error()
		return
	}
	d.Qdisc = "noqueue"
	for _, q := range list {
		if q.Attrs().Parent == netlink.HANDLE_ROOT {
			d.Qdisc = q.Type()
		}
	}
}

// readDriver reads what the driver tells. Speed and duplex are read by the older of the
// library's two ways, because the newer one prints to stdout.
func (d *LinkDetails) readDriver(e *ethtool.Ethtool) {
	part := func(name string, read func() error) {
		err := read()
		switch {
		case errors.Is(err, unix.EOPNOTSUPP):
			d.Unknown[name] = "the driver does not tell"
		case errors.Is(err, unix.EPERM):
			d.Unknown[name] = "it needs CAP_NET_ADMIN"
		case err != nil:
			d.Unknown[name] = err.Error()
		}
	}
	part("driver", func() error {
		i, err := e.DriverInfo(d.Name)
		d.Driver, d.DriverVersion, d.Firmware = i.Driver, i.Version, i.FwVersion
		if d.BusDevice == "" {
			d.BusDevice = i.BusInfo
		}
		return err
	})
	part("speed", func() error {
		var c ethtool.EthtoolCmd
		speed, err := e.CmdGet(&c, d.Name)
		if err != nil {
			return err
		}
		if speed == 0 || speed == math.MaxUint32 {
			d.Unknown["speed"] = "the driver does not know it"
		} else {
			d.Speed = &speed
		}
		const duplexHalf, duplexFull = 0, 1
		if c.Duplex == duplexHalf || c.Duplex == duplexFull {
			full := c.Duplex == duplexFull
			d.FullDuplex = &full
		}
		return nil
	})
	part("offloads", func() (err error) {
		d.Features, err = e.Features(d.Name)
		return err
	})
	part("rings", func() error {
		r, err := e.GetRing(d.Name)
		if err == nil {
			d.Rings = &Rings{r.RxPending, r.TxPending, r.RxMaxPending, r.TxMaxPending}
		}
		return err
	})
	part("channels", func() error {
		c, err := e.GetChannels(d.Name)
		if err == nil {
			d.Channels = &Channels{c.RxCount, c.TxCount, c.CombinedCount, c.MaxRx, c.MaxTx, c.MaxCombined}
		}
		return err
	})
	part("coalescing", func() error {
		c, err := e.GetCoalesce(d.Name)
		if err == nil {
			d.Coalesce = &Coalesce{c.RxCoalesceUsecs, c.RxMaxCoalescedFrames, c.TxCoalesceUsecs, c.TxMaxCoalescedFrames,
				c.UseAdaptiveRxCoalesce != 0, c.UseAdaptiveTxCoalesce != 0, c.StatsBlockCoalesceUsecs}
		}
		return err
	})
	part("pause", func() error {
		p, err := e.GetPause(d.Name)
		if err == nil {
			d.Pause = &Pause{p.Autoneg != 0, p.RxPause != 0, p.TxPause != 0}
		}
		return err
	})
	part("rss", func() error {
		table, err := e.GetIndir(d.Name)
		if err != nil {
			return err
		}
		queues := map[uint32]bool{}
		size := min(int(table.Size), len(table.RingIndex))
		for _, q := range table.RingIndex[:size] {
			queues[q] = true
		}
		d.RSS = &RSS{Table: size, Queues: len(queues), UDPPorts: udpPortsHashed(d.Name)}
		return nil
	})
}

// From the kernel's uapi/linux/ethtool.h.
const (
	ethtoolGetRxHash = 0x29 // ETHTOOL_GRXFH
	udpOverIPv4      = 0x02 // UDP_V4_FLOW
	hashSourcePort   = 1 << 6
	hashDestPort     = 1 << 7
)

// rxHash is the beginning of struct ethtool_rxnfc, which the kernel reads and writes whole.
type rxHash struct {
	cmd, flow uint32
	data      uint64
	_         [176]byte // a flow rule, the number of rules
}

// udpPortsHashed reports whether a link's hash of received UDP over IPv4 includes the ports,
// nil if the driver does not tell. The library has no call for it.
func udpPortsHashed(name string) *bool {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	hash := rxHash{cmd: ethtoolGetRxHash, flow: udpOverIPv4}
	var request struct {
		name [unix.IFNAMSIZ]byte
		data unsafe.Pointer
		_    [16]byte // the rest of struct ifreq
	}
	request.data = unsafe.Pointer(&hash)
	copy(request.name[:unix.IFNAMSIZ-1], name)
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&request))); errno != 0 {
		return nil
	}
	ports := hash.data&(hashSourcePort|hashDestPort) == hashSourcePort|hashDestPort
	return &ports
}

// HereDriverStats reads the counters that the driver of a link of the thread's namespace
// keeps, as ethtool -S shows them.
func HereDriverStats(name string) (map[string]uint64, error) {
	e, err := ethtool.NewEthtool()
	if err != nil {
		return nil, fmt.Errorf("open ethtool: %w", err)
	}
	defer e.Close()
	stats, err := e.Stats(name)
	if errors.Is(err, unix.EOPNOTSUPP) {
		return nil, nil // the driver has none
	}
	if err != nil {
		return nil, fmt.Errorf("read the driver's counters of %s: %w", name, err)
	}
	return stats, nil
}
