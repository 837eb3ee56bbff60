package engines

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tare/internal/driver/pathspec"
	"tare/internal/result"
)

// proxyProgram is the name of the process.
const proxyProgram = "docker-proxy"

// proxies are the docker-proxy processes of a published port, which forward in user space
// what no rule translates: one for TCP, one for UDP, and the same for IPv6 if the engine listens on it.
type proxies struct {
	side *side
	port uint16
}

// counter returns the name of the counter of their CPU time.
func (x proxies) counter() string {
	return pathspec.CounterName(x.side.At, fmt.Sprintf("%s:%d", proxyProgram, x.port), "run_ns")
}

// watch finds them, and reads their CPU time before and after each trial. The forwarded data cannot be
// counted: it is spliced from socket to socket inside the kernel, where no counter of the process sees it.
// If the engine runs without them, there must be none.
func (x proxies) watch(p *path) error {
	if p.config.NoProxy {
		return p.without.proxies(x)
	}
	pids, err := x.running()
	if err != nil {
		return err
	}
	if p.restart != nil {
		p.restart.watchRenewed(x, pids)
	} else {
		p.ReadRunTime(x.counter(), fmt.Sprintf("%s of port %d on host %s", proxyProgram, x.port, x.side.At), pids...)
	}
	if x.port != pathspec.FirstPort {
		return nil // the proxies of all ports are the same program
	}
	program, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pids[0]), "exe"))
	if err != nil {
		return fmt.Errorf("find the docker-proxy process of port %d on host %s: %w", x.port, x.side.At, err)
	}
	if x.side == p.inner { // RootlessKit has moved it to a directory with an arbitrary name
		program = filepath.Base(program)
	}
	p.AddFacts(result.Deciding(x.side.At+" userland proxy", program))
	return nil
}

// running is find, and requires that there are some.
func (x proxies) running() ([]int, error) {
	pids, err := x.find()
	if err == nil && len(pids) < 2 {
		err = fmt.Errorf("find docker-proxy for TCP and for UDP at port %d of host %s: found %d processes; the engine runs with userland-proxy off", x.port, x.side.At, len(pids))
	}
	return pids, err
}

// proxies requires that no proxy of a published port runs.
func (p *omissions) proxies(x proxies) error {
	if x.port == pathspec.FirstPort {
		p.note(partProxy, "no process %s of port %d on host %s", proxyProgram, x.port, x.side.At)
	}
	return p.Check(func() error {
		pids, err := x.find()
		if err == nil && len(pids) > 0 {
			err = fmt.Errorf("%d processes %s of port %d run on host %s, although the engine runs without them", len(pids), proxyProgram, x.port, x.side.At)
		}
		return err
	})
}

// find returns their ids.
func (x proxies) find() (found []int, err error) {
	pids, err := x.side.ns.Sockets().Processes()
	if err != nil {
		return nil, err
	}
	for _, pid := range pids {
		if args := argsOf(pid); len(args) > 0 && isProxy(args, x.port) {
			found = append(found, pid)
		}
	}
	return found, nil
}

func isProxy(args []string, port uint16) bool {
	if filepath.Base(args[0]) != proxyProgram {
		return false
	}
	i := slices.IndexFunc(args, func(a string) bool { return strings.TrimLeft(a, "-") == "host-port" })
	return i >= 0 && i+1 < len(args) && args[i+1] == strconv.Itoa(int(port))
}
