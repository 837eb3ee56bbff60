package docker

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tare/internal/driver"
	"tare/internal/driver/pathspec"
	"tare/internal/linuxnet"
	"tare/internal/result"
)

// proxies are the processes that pass on, in user space, what comes to a published
// port of a host and is not translated on the way: one for TCP, one for UDP, and the
// same again where the engine listens on IPv6 too.
type proxies struct {
	side *side
	port uint16
	pids []int
}

// proxyProgram is what the process is called.
const proxyProgram = "docker-proxy"

// ran names the counter of how long the proxies of a port have run.
func ran(s *side, port uint16) string {
	return pathspec.CounterName(s.At, fmt.Sprintf("%s:%d", proxyProgram, port), "run_ns")
}

// proxied finds the proxies of a published port and has their run time read around
// each trial. What they pass on cannot be counted: bytes go from socket to socket
// inside the kernel, where no account of the process sees them.
func (p *path) proxied(s *side, port uint16) error {
	pids, err := s.ns.Processes()
	if err != nil {
		return err
	}
	x := proxies{side: s, port: port}
	for _, pid := range pids {
		line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
		if err != nil {
			continue // it has just ended
		}
		if isProxy(strings.Split(string(line), "\x00"), port) {
			x.pids = append(x.pids, pid)
		}
	}
	if len(x.pids) < 2 {
		return fmt.Errorf("find docker-proxy for TCP and for UDP at port %d of host %s: there are %d: the engine runs without its userland proxy", port, s.At, len(x.pids))
	}
	p.AddReader(x.watch)
	what := s.At + " userland proxy"
	if slices.ContainsFunc(p.facts, func(f result.Fact) bool { return f.Name == what }) {
		return nil // the proxies of all ports are the same program
	}
	program, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(x.pids[0]), "exe"))
	if err != nil {
		return fmt.Errorf("find the program that is docker-proxy at port %d of host %s: %w", port, s.At, err)
	}
	p.facts = append(p.facts, result.Fact{Name: what, Value: program})
	return nil
}

func isProxy(args []string, port uint16) bool {
	if filepath.Base(args[0]) != proxyProgram {
		return false
	}
	i := slices.IndexFunc(args, func(a string) bool { return strings.TrimLeft(a, "-") == "host-port" })
	return i >= 0 && i+1 < len(args) && args[i+1] == strconv.Itoa(int(port))
}

func (x proxies) watch(_ context.Context, into driver.Counters) error {
	var sum uint64
	for _, pid := range x.pids {
		n, err := linuxnet.RunTime(pid)
		if err != nil {
			return fmt.Errorf("read how long docker-proxy of port %d on host %s has run: %w", x.port, x.side.At, err)
		}
		sum += n
	}
	into[ran(x.side, x.port)] = sum
	return nil
}
