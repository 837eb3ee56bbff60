//go:build linux

package linuxnet

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	mdnetlink "github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// The messages of the kernel's load balancer IPVS that ProbeIPVS needs (include/uapi/linux/ip_vs.h).
const (
	ipvsFamily        = "IPVS"
	ipvsCmdNewService = 1
	ipvsAttrService   = 1

	ipvsServiceAF        = 1
	ipvsServiceFWMark    = 5
	ipvsServiceScheduler = 6
	ipvsServiceFlags     = 7
	ipvsServiceTimeout   = 8
	ipvsServiceNetmask   = 9
)

// ProbeIPVS creates the kind of load balancer that Docker's routing mesh uses, for packets with a
// firewall mark and with the scheduler rr, in a namespace of its own. It returns nil if the kernel
// supports it, else an error that names the missing option of the kernel.
func ProbeIPVS() error {
	ns, err := NewNS("tare-try")
	if err != nil {
		return err
	}
	defer ns.Close()
	return ns.Do(func() error {
		if err := CheckGenlFamily(ipvsFamily); err != nil {
			return fmt.Errorf("no IPVS (CONFIG_IP_VS): %w", err)
		}
		e := mdnetlink.NewAttributeEncoder()
		e.Nested(ipvsAttrService, func(s *mdnetlink.AttributeEncoder) error {
			s.Uint16(ipvsServiceAF, unix.AF_INET)
			s.Uint32(ipvsServiceFWMark, 1)
			s.String(ipvsServiceScheduler, "rr")
			s.Bytes(ipvsServiceFlags, make([]byte, 8)) // flags and their mask
			s.Uint32(ipvsServiceTimeout, 0)
			s.Uint32(ipvsServiceNetmask, 1<<32-1) // of single addresses
			return nil
		})
		attributes, err := e.Encode()
		if err == nil {
			_, err = askGenl(ipvsFamily, mdnetlink.Acknowledge, ipvsCmdNewService, attributes)
		}
		if err != nil {
			return fmt.Errorf("no scheduler rr of IPVS (CONFIG_IP_VS_RR): create a service: %w", err)
		}
		return nil
	})
}

// IPVSCounts is what the load balancer IPVS of a namespace has carried, in both directions: bytes of
// IP packets, with segmentation offload with one header for many.
type IPVSCounts struct{ InBytes, OutBytes uint64 }

// IPVS reads what the load balancer of the namespace has carried since it was created.
func (ns *Rules) IPVS() (c IPVSCounts, err error) {
	err = ns.whole().Do(func() error {
		// ip_vs_stats has the sums, but brings them up to date every 2 s only.
		text, err := os.ReadFile("/proc/thread-self/net/ip_vs_stats_percpu")
		if err == nil {
			c, err = parseIPVS(string(text))
		}
		return err
	})
	if err != nil {
		return c, fmt.Errorf("read the counters of IPVS in namespace %s (needs CONFIG_IP_VS): %w", ns.name, err)
	}
	return c, nil
}

// parseIPVS sums the counters of all CPUs, which have hexadecimal numbers like their counters. The line
// of the sums starts with ~, and those of rates follow it.
func parseIPVS(text string) (c IPVSCounts, err error) {
	const cpu, in, out, columns = 0, 4, 5, 6
	found := false
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) > 0 && f[cpu] == "~" {
			break
		}
		if len(f) != columns {
			continue // a heading
		}
		if _, err := strconv.ParseUint(f[cpu], 16, 32); err != nil {
			continue
		}
		received, err := strconv.ParseUint(f[in], 16, 64)
		if err != nil {
			return c, err
		}
		sent, err := strconv.ParseUint(f[out], 16, 64)
		if err != nil {
			return c, err
		}
		found = true
		c.InBytes += received
		c.OutBytes += sent
	}
	if !found {
		return c, errors.New("it lists no CPU")
	}
	return c, nil
}
