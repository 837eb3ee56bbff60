package here

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Filters lists the packet filters of the namespace that this thread is in: base chains of
// nftables, which include those of iptables-nft, and the tables of legacy iptables.
func Filters() ([]Filter, error) {
	modern, err := nftFilters()
	if err != nil {
		return nil, fmt.Errorf("list packet filters: %w", err)
	}
	old, err := legacyFilters()
	if err != nil {
		return nil, fmt.Errorf("list packet filters: %w", err)
	}
	return append(modern, old...), nil
}

// From the kernel's uapi/linux/netfilter.h and nfnetlink.h: NF_DROP, and the size of struct
// nfgenmsg, which begins with the family.
const (
	policyDrop    = 0
	nfMessageSize = 4
)

// table is a table of nftables.
type table struct {
	family byte
	name   string
}

// chain is a chain of nftables. Only base chains have a hook.
type chain struct {
	of      table
	name    string
	hook    uint32
	hasHook bool
	drops   bool
}

// nftFilters lists the base chains of nftables, none if the kernel lacks it.
func nftFilters() ([]Filter, error) {
	chains, err := nftChains()
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EPROTONOSUPPORT) {
		return nil, nil
	}
	if err != nil || len(chains) == 0 {
		return nil, err
	}
	found, err := nftList(unix.NFT_MSG_GETRULE)
	if err != nil {
		return nil, fmt.Errorf("read rules: %w", err)
	}
	type in struct {
		of   table
		name string
	}
	rules, all, docker := map[in]int{}, map[table]int{}, map[table]bool{}
	for _, m := range found {
		at := in{of: table{family: m.body[0]}}
		for kind, v := range attributes(m.body[nfMessageSize:]) {
			switch kind {
			case unix.NFTA_RULE_TABLE:
				at.of.name = text(v)
			case unix.NFTA_RULE_CHAIN:
				at.name = text(v)
			}
		}
		rules[at]++
		all[at.of]++
	}
	for _, c := range chains {
		docker[c.of] = docker[c.of] || strings.HasPrefix(c.name, "DOCKER")
	}
	var out []Filter
	for _, c := range chains {
		if c.hasHook {
			out = append(out, Filter{
				Family: familyName(c.of.family), Table: c.of.name, Chain: c.name, Hook: hookName(c.of.family, c.hook),
				Drops: c.drops, Rules: rules[in{c.of, c.name}], All: all[c.of], Docker: docker[c.of],
			})
		}
	}
	return out, nil
}

// nftList lists objects of nftables of all families.
func nftList(kind uint16) ([]message, error) {
	found, err := list(unix.NETLINK_NETFILTER, unix.NFNL_SUBSYS_NFTABLES<<8|kind, make([]byte, nfMessageSize))
	if err != nil {
		return nil, err
	}
	for _, m := range found {
		if len(m.body) < nfMessageSize {
			return nil, errors.New("the kernel's reply is truncated")
		}
	}
	return found, nil
}

func nftChains() ([]chain, error) {
	found, err := nftList(unix.NFT_MSG_GETCHAIN)
	if err != nil {
		return nil, err
	}
	var out []chain
	for _, m := range found {
		c := chain{of: table{family: m.body[0]}}
		for kind, v := range attributes(m.body[nfMessageSize:]) {
			switch kind {
			case unix.NFTA_CHAIN_TABLE:
				c.of.name = text(v)
			case unix.NFTA_CHAIN_NAME:
				c.name = text(v)
			case unix.NFTA_CHAIN_POLICY:
				c.drops = bigNumber(v) == policyDrop
			case unix.NFTA_CHAIN_HOOK:
				for kind, v := range attributes(v) {
					if kind == unix.NFTA_HOOK_HOOKNUM {
						c.hook, c.hasHook = bigNumber(v), true
					}
				}
			}
		}
		out = append(out, c)
	}
	return out, nil
}

// bigNumber returns the number of an attribute of nftables, which is in network byte order. It is
// the largest number if there is none.
func bigNumber(b []byte) uint32 {
	if len(b) < 4 {
		return 1<<32 - 1
	}
	return binary.BigEndian.Uint32(b)
}

func familyName(family byte) string {
	switch family {
	case unix.NFPROTO_IPV4:
		return "ip"
	case unix.NFPROTO_IPV6:
		return "ip6"
	case unix.NFPROTO_INET:
		return "inet"
	case unix.NFPROTO_BRIDGE:
		return "bridge"
	case unix.NFPROTO_ARP:
		return "arp"
	case unix.NFPROTO_NETDEV:
		return "netdev"
	}
	return fmt.Sprint(family)
}

// hookName returns the name of a hook (linux/netfilter.h). Hooks of devices and of ARP have
// their own numbering from 0.
func hookName(family byte, hook uint32) string {
	names := []string{"prerouting", "input", "forward", "output", "postrouting", "ingress"}
	switch family {
	case unix.NFPROTO_NETDEV:
		names = []string{"ingress", "egress"}
	case unix.NFPROTO_ARP:
		names = []string{"input", "output", "forward"}
	}
	if uint64(hook) < uint64(len(names)) {
		return names[hook]
	}
	return fmt.Sprintf("hook %d", hook)
}

// legacyInfo is struct ipt_getinfo of linux/netfilter_ipv4/ip_tables.h; the IPv6 struct is
// the same.
type legacyInfo struct {
	name       [32]byte
	validHooks uint32
	hookEntry  [5]uint32
	underflow  [5]uint32
	entries    uint32
	size       uint32
}

// legacyGetInfo is IPT_SO_GET_INFO and IP6T_SO_GET_INFO.
const legacyGetInfo = 64

// legacyFilters queries legacy iptables for its existing tables. A query for any other
// table would make the kernel create it.
func legacyFilters() ([]Filter, error) {
	var out []Filter
	for _, f := range []struct {
		family, file  string
		domain, level int
	}{
		{"ip", "ip_tables_names", unix.AF_INET, unix.SOL_IP},
		{"ip6", "ip6_tables_names", unix.AF_INET6, unix.SOL_IPV6},
	} {
		names, err := os.ReadFile("/proc/thread-self/net/" + f.file)
		if errors.Is(err, fs.ErrNotExist) || err == nil && len(bytes.TrimSpace(names)) == 0 {
			continue
		}
		if err != nil {
			return nil, err
		}
		fd, err := unix.Socket(f.domain, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return nil, fmt.Errorf("open a socket to query iptables: %w", err)
		}
		for name := range strings.FieldsSeq(string(names)) {
			entries, err := legacyEntries(fd, f.level, name)
			if err != nil {
				unix.Close(fd)
				return nil, fmt.Errorf("query iptables table %s: %w", name, err)
			}
			out = append(out, Filter{Family: f.family, Table: name, Rules: entries, All: entries})
		}
		unix.Close(fd)
	}
	return out, nil
}

// legacyEntries returns the number of rules in a table. The kernel adds an entry for the
// policy of each built-in chain and one for the end of the table, which are not counted;
// each user-defined chain has two such entries that cannot be distinguished from rules.
func legacyEntries(fd, level int, table string) (int, error) {
	var info legacyInfo
	if copy(info.name[:len(info.name)-1], table) < len(table) {
		return 0, errors.New("its name is too long")
	}
	size := uint32(unsafe.Sizeof(info))
	_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), uintptr(level), legacyGetInfo, uintptr(unsafe.Pointer(&info)), uintptr(unsafe.Pointer(&size)), 0)
	if errno != 0 {
		return 0, errno
	}
	own := 1
	for hooks := info.validHooks; hooks != 0; hooks &= hooks - 1 {
		own++
	}
	return max(0, int(info.entries)-own), nil
}
