package linuxnet

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"unsafe"

	"github.com/google/nftables"
	"golang.org/x/sys/unix"
)

// Filters lists the packet filters of the namespace that packets can meet: base
// chains of nftables, which are those of today's iptables, too, and the tables of the
// old iptables. It changes nothing.
func (ns *NS) Filters() ([]Filter, error) {
	var out []Filter
	err := ns.Do(func() (err error) {
		out, err = filters()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list packet filters in namespace %s: %w", ns.name, err)
	}
	return out, nil
}

// HereFilters lists those of the namespace that this process is in.
func HereFilters() ([]Filter, error) {
	out, err := filters()
	if err != nil {
		return nil, fmt.Errorf("list packet filters: %w", err)
	}
	return out, nil
}

func filters() ([]Filter, error) {
	modern, err := nftFilters()
	if err != nil {
		return nil, err
	}
	old, err := legacyFilters()
	return append(modern, old...), err
}

// nftFilters asks nftables. A kernel without it has none.
func nftFilters() ([]Filter, error) {
	conn, err := openNFTables()
	if err != nil {
		return nil, err
	}
	chains, err := conn.ListChains()
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EPROTONOSUPPORT) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	type table struct {
		family nftables.TableFamily
		name   string
	}
	all, docker := map[table]int{}, map[table]bool{}
	rules := make([]int, len(chains))
	for i, c := range chains {
		found, err := conn.GetRules(c.Table, c)
		if err != nil {
			return nil, fmt.Errorf("read rules of chain %s of table %s: %w", c.Name, c.Table.Name, err)
		}
		t := table{c.Table.Family, c.Table.Name}
		rules[i] = len(found)
		all[t] += len(found)
		docker[t] = docker[t] || strings.HasPrefix(c.Name, "DOCKER")
	}
	var out []Filter
	for i, c := range chains {
		if c.Hooknum == nil {
			continue
		}
		t := table{c.Table.Family, c.Table.Name}
		out = append(out, Filter{
			Family: familyName(c.Table.Family), Table: c.Table.Name, Chain: c.Name, Hook: hookName(c.Table.Family, *c.Hooknum),
			Drops: c.Policy != nil && *c.Policy == nftables.ChainPolicyDrop, Rules: rules[i], All: all[t], Docker: docker[t],
		})
	}
	return out, nil
}

// hookName names a hook (linux/netfilter.h). Those of devices and of ARP are counted
// from 0 anew.
func hookName(f nftables.TableFamily, hook nftables.ChainHook) string {
	names := []string{"prerouting", "input", "forward", "output", "postrouting", "ingress"}
	switch f {
	case nftables.TableFamilyNetdev:
		names = []string{"ingress", "egress"}
	case nftables.TableFamilyARP:
		names = []string{"input", "output", "forward"}
	}
	if int(hook) < len(names) {
		return names[hook]
	}
	return fmt.Sprintf("hook %d", hook)
}

// legacyInfo is struct ipt_getinfo of linux/netfilter_ipv4/ip_tables.h; that of IPv6 is
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

// legacyFilters asks the old iptables for those tables that are there. To ask for any
// other would make the kernel build it.
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
			return nil, fmt.Errorf("open a socket to ask iptables: %w", err)
		}
		for name := range strings.FieldsSeq(string(names)) {
			entries, err := legacyEntries(fd, f.level, name)
			if err != nil {
				unix.Close(fd)
				return nil, fmt.Errorf("ask iptables for its table %s: %w", name, err)
			}
			out = append(out, Filter{Family: f.family, Table: name, Rules: entries, All: entries})
		}
		unix.Close(fd)
	}
	return out, nil
}

// legacyEntries is how many rules a table has. Each built-in chain has an entry for its
// policy, and the table one for its end, that nobody wrote; chains of the user's have
// two such entries each, which cannot be told from rules.
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
