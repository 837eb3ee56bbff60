package engines

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

// proxyProgram is the name of the process.
const proxyProgram = "docker-proxy"

// runTimeCounter returns the name of the counter of the CPU time of a port's proxies.
func runTimeCounter(s *side, port uint16) string {
	return pathspec.CounterName(s.At, fmt.Sprintf("%s:%d", proxyProgram, port), "run_ns")
}

// watchProxies finds the proxies of a published port, which are the userspace processes that forward
// what no rule translates: one for TCP, one for UDP, and the same for IPv6 if the engine listens on it. It reads their CPU time before and after
// each trial. The forwarded data cannot be counted: it is spliced from socket to socket
// inside the kernel, where no counter of the process sees it.
func (p *path) watchProxies(s *side, port uint16) error {
	pids, err := proxiesOf(s, port)
	if err != nil {
		return err
	}
	if len(pids) < 2 {
		return fmt.Errorf("find docker-proxy for TCP and for UDP at port %d of host %s: found %d processes; the engine runs with userland-proxy off", port, s.At, len(pids))
	}
	p.readRunTime(runTimeCounter(s, port), fmt.Sprintf("%s of port %d on host %s", proxyProgram, port, s.At), pids...)
	what := s.At + " userland proxy"
	if slices.ContainsFunc(p.facts, func(f result.Fact) bool { return f.Name == what }) {
		return nil // the proxies of all ports are the same program
	}
	program, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pids[0]), "exe"))
	if err != nil {
		return fmt.Errorf("find the docker-proxy process of port %d on host %s: %w", port, s.At, err)
	}
	if s == p.inner { // RootlessKit has moved it to a directory with an arbitrary name
		program = filepath.Base(program)
	}
	p.facts = append(p.facts, result.Fact{Name: what, Value: program})
	return nil
}

// withoutProxies requires that no proxy of a published port runs.
func (p *path) withoutProxies(s *side, port uint16) error {
	if port == pathspec.FirstPort {
		p.leftOut(partProxy, "no process %s of port %d on host %s", proxyProgram, port, s.At)
	}
	return p.check(func() error {
		pids, err := proxiesOf(s, port)
		if err == nil && len(pids) > 0 {
			err = fmt.Errorf("%d processes %s of port %d run on host %s, although the engine runs without them", len(pids), proxyProgram, port, s.At)
		}
		return err
	})
}

// proxiesOf finds the proxies of a published port.
func proxiesOf(s *side, port uint16) (proxies []int, err error) {
	pids, err := s.ns.Sockets().Processes()
	if err != nil {
		return nil, err
	}
	for _, pid := range pids {
		line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
		if err != nil {
			continue // it has just exited
		}
		if isProxy(strings.Split(string(line), "\x00"), port) {
			proxies = append(proxies, pid)
		}
	}
	return proxies, nil
}

func isProxy(args []string, port uint16) bool {
	if filepath.Base(args[0]) != proxyProgram {
		return false
	}
	i := slices.IndexFunc(args, func(a string) bool { return strings.TrimLeft(a, "-") == "host-port" })
	return i >= 0 && i+1 < len(args) && args[i+1] == strconv.Itoa(int(port))
}

// readRunTime reads the CPU time of processes, together, before and after each trial. what names them in errors.
func (p *path) readRunTime(counter, what string, pids ...int) {
	p.AddReader(func(_ context.Context, into driver.Counters) error {
		var sum uint64
		for _, pid := range pids {
			n, err := linuxnet.CPUTime(pid)
			if err != nil {
				return fmt.Errorf("read the CPU time of %s: %w", what, err)
			}
			sum += n
		}
		into[counter] = sum
		return nil
	})
}
