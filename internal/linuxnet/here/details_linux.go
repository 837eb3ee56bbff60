package here

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"slices"
	"unsafe"

	"github.com/safchain/ethtool"
	"golang.org/x/sys/unix"
)

// Details reads a link of the namespace that this thread is in. A part that the driver does not
// tell is unknown.
func Details(name string) (LinkDetails, error) {
	all, err := links()
	if err != nil {
		return LinkDetails{}, fmt.Errorf("list devices: %w", err)
	}
	i := slices.IndexFunc(all, func(l link) bool { return l.Name == name })
	if i < 0 {
		return LinkDetails{}, fmt.Errorf("read device %s: no such device", name)
	}
	d := all[i].LinkDetails
	d.Unknown = map[string]string{}
	d.lower(all[i], all)
	d.readQdisc()
	e, err := ethtool.NewEthtool()
	if err != nil {
		return d, fmt.Errorf("open ethtool: %w", err)
	}
	defer e.Close()
	d.readDriver(e)
	return d, nil
}

// link is a link with what relates it to others. parent is the index of the link below it or of its
// peer, master that of the bridge or bond it is attached to; 0 is none. away means that the parent is
// in another network namespace.
type link struct {
	LinkDetails
	parent, master int
	away           bool
}

// links lists the links in the order of their creation.
func links() ([]link, error) {
	found, err := list(unix.NETLINK_ROUTE, unix.RTM_GETLINK, make([]byte, unix.SizeofIfInfomsg))
	if err != nil {
		return nil, err
	}
	var out []link
	for _, m := range found {
		if m.kind == unix.RTM_NEWLINK && len(m.body) >= unix.SizeofIfInfomsg {
			out = append(out, linkOf(m.body))
		}
	}
	return out, nil
}

// linkOf reads a link's message: struct ifinfomsg and attributes (rtnetlink(7)).
func linkOf(body []byte) link {
	flags := number(body[8:])
	l := link{LinkDetails: LinkDetails{Index: int(number(body[4:])), Kind: "device", Up: flags&unix.IFF_UP != 0, Loopback: flags&unix.IFF_LOOPBACK != 0}}
	for kind, v := range attributes(body[unix.SizeofIfInfomsg:]) {
		switch kind {
		case unix.IFLA_IFNAME:
			l.Name = text(v)
		case unix.IFLA_ADDRESS:
			if len(bytes.Trim(v, "\x00")) > 0 { // that of loopback is all zeros
				l.MAC = net.HardwareAddr(v).String()
			}
		case unix.IFLA_MTU:
			l.MTU = int(number(v))
		case unix.IFLA_TXQLEN:
			l.TxQLen = int(number(v))
		case unix.IFLA_PROMISCUITY:
			l.Promisc = int(number(v))
		case unix.IFLA_LINK:
			l.parent = int(number(v))
		case unix.IFLA_MASTER:
			l.master = int(number(v))
		case unix.IFLA_LINK_NETNSID:
			l.away = true
		case unix.IFLA_PARENT_DEV_NAME:
			l.BusDevice = text(v)
		case unix.IFLA_PARENT_DEV_BUS_NAME:
			l.Bus = text(v)
		case unix.IFLA_LINKINFO:
			for kind, v := range attributes(v) {
				if kind == unix.IFLA_INFO_KIND {
					l.Kind = text(v)
				}
			}
		}
	}
	return l
}

// Route returns the name of the link by which packets to an address leave.
func Route(addr netip.Addr) (device string, err error) {
	addr = addr.Unmap() // package net writes IPv4 addresses with 16 bytes, too
	// struct rtmsg with the family and the length of the destination, and RTA_DST.
	request := make([]byte, unix.SizeofRtMsg)
	request[0], request[1] = unix.AF_INET, byte(addr.BitLen())
	if addr.Is6() {
		request[0] = unix.AF_INET6
	}
	found, err := ask(unix.NETLINK_ROUTE, unix.RTM_GETROUTE, appendAttribute(request, unix.RTA_DST, addr.AsSlice()))
	if err != nil {
		return "", fmt.Errorf("find the route to %s: %w", addr, err)
	}
	index := 0
	if len(found.body) >= unix.SizeofRtMsg {
		for kind, v := range attributes(found.body[unix.SizeofRtMsg:]) {
			if kind == unix.RTA_OIF {
				index = int(number(v))
			}
		}
	}
	if index == 0 {
		return "", fmt.Errorf("find the route to %s: the kernel returned none", addr)
	}
	l, err := net.InterfaceByIndex(index)
	if err != nil {
		return "", fmt.Errorf("find the device of the route to %s: %w", addr, err)
	}
	return l.Name, nil
}

// lower finds the links that carry the packets of l. The peer of a veth pair does not: the
// pair itself is the link.
func (d *LinkDetails) lower(l link, all []link) {
	for _, o := range all {
		if o.master == l.Index {
			d.Lower = append(d.Lower, o.Name)
		}
	}
	if l.Kind == "veth" || l.parent <= 0 || l.parent == l.Index {
		return
	}
	i := slices.IndexFunc(all, func(o link) bool { return o.Index == l.parent })
	if d.Elsewhere = l.away || i < 0; !d.Elsewhere {
		d.Lower = append(d.Lower, all[i].Name)
	}
}

// From the kernel's uapi/linux/rtnetlink.h and pkt_sched.h. struct tcmsg has the index of the link
// at 4 and the parent of the discipline at 12.
const (
	tcMessageSize = 20
	tcIndexAt     = 4
	tcParentAt    = 12
	tcKind        = 1 // TCA_KIND
	tcRoot        = 0xffffffff
)

func (d *LinkDetails) readQdisc() {
	found, err := list(unix.NETLINK_ROUTE, unix.RTM_GETQDISC, make([]byte, tcMessageSize))
	if err != nil {
		d.Unknown["qdisc"] = err.Error()
		return
	}
	d.Qdisc = "noqueue"
	for _, m := range found {
		if len(m.body) < tcMessageSize || int(number(m.body[tcIndexAt:])) != d.Index || number(m.body[tcParentAt:]) != tcRoot {
			continue
		}
		for kind, v := range attributes(m.body[tcMessageSize:]) {
			if kind == tcKind {
				d.Qdisc = text(v)
			}
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

// DriverStats reads the counters that the driver of a link keeps, as ethtool -S shows them.
func DriverStats(name string) (map[string]uint64, error) {
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

// Offloads reads which segmentation offloads and checksum offload of a link are enabled: "tso",
// "gso", "gro", "tx-checksum". Hardware may offer the checksum of each address family separately.
func Offloads(name string) (map[string]bool, error) {
	e, err := ethtool.NewEthtool()
	if err != nil {
		return nil, fmt.Errorf("open ethtool: %w", err)
	}
	defer e.Close()
	have, err := e.Features(name)
	if err != nil {
		return nil, fmt.Errorf("read offloads of %s: %w", name, err)
	}
	return map[string]bool{
		"tso": have["tx-tcp-segmentation"], "gso": have["tx-generic-segmentation"], "gro": have["rx-gro"],
		"tx-checksum": have["tx-checksum-ip-generic"] || have["tx-checksum-ipv4"],
	}, nil
}
