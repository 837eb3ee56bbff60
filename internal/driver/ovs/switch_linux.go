package ovs

import (
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/driver/daemon"
	"tare/internal/linuxnet"
	"tare/internal/timelimit"
)

// vswitch is a private Open vSwitch of one host: database and switch, each with its own
// init process and a private /run.
type vswitch struct {
	programs
	db, sw *daemon.Process
}

// The files in their /run.
const (
	dbSocket = "db.sock"
	dbFile   = "conf.db"
	control  = "switch.ctl"
)

// start starts the switch of a host in its namespace. It passes each started process to
// note, to be ended later.
func (v *vswitch) start(ctx context.Context, host, runID string, ns *linuxnet.NS, note func(*daemon.Process)) error {
	text, err := v.database(ctx, runID, v.schema)
	if err != nil {
		return err
	}
	if v.db, err = v.serve(ctx, host, runID, ns, map[string]string{dbFile: text}, note); err != nil {
		return err
	}
	if err := v.set(ctx, "--no-wait", "init"); err != nil {
		return err
	}
	if err := waitUptime(ctx); err != nil {
		return err
	}
	program := daemon.Program{
		Name: "ovs-vswitchd of host " + host, Run: runID, Path: v.switchd, Env: environment(), Start: ns.Start,
		Args: append([]string{"unix:" + v.socket(), "--unixctl=/run/" + control}, quiet()...),
	}
	if v.sw, err = program.Launch(); err != nil {
		return err
	}
	note(v.sw)
	return waitForFile(ctx, v.sw, control)
}

// environment makes /run the directory of all files of a program of Open vSwitch or OVN.
func environment() []string {
	return []string{"OVS_RUNDIR=/run", "OVS_DBDIR=/run", "OVS_LOGDIR=/run", "OVS_SYSCONFDIR=/run"}
}

// quiet are the arguments with which these programs write only warnings, to stderr.
func quiet() []string { return []string{"-vsyslog:off", "-vfile:off", "-vconsole:warn"} }

// serve starts an ovsdb-server in a host's namespace with these databases, by the names of their files, and waits
// until it listens.
func (g programs) serve(ctx context.Context, host, runID string, ns *linuxnet.NS, databases map[string]string, note func(*daemon.Process)) (*daemon.Process, error) {
	program := daemon.Program{
		Name: "ovsdb-server of host " + host, Run: runID, Path: g.server, Env: environment(), Files: databases, Start: ns.Start,
		Args: append([]string{"--remote=punix:/run/" + dbSocket, "--unixctl=/run/ovsdb.ctl"}, quiet()...),
	}
	for _, file := range slices.Sorted(maps.Keys(databases)) {
		program.Args = append(program.Args, "/run/"+file)
	}
	db, err := program.Launch()
	if err != nil {
		return nil, err
	}
	note(db)
	return db, waitForDatabase(ctx, db)
}

// minUptime is the minimum uptime of a machine for starting ovs-vswitchd. The daemon reads
// the number of CPUs every 10 s, by a clock that begins at boot, and assumes for the first
// 10 s that it has already done so: it then finds 0 CPUs (3.1, count_cpu_cores), starts no
// threads for packets from the kernel, and all of them are lost, including later ones.
const minUptime = 11 * time.Second

// waitUptime waits until the machine has the minimum uptime.
func waitUptime(ctx context.Context) error {
	var up unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &up); err != nil {
		return fmt.Errorf("read the uptime of this machine: %w", err)
	}
	select {
	case <-time.After(minUptime - time.Duration(up.Nano())):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// socket returns the path of the database's socket as seen from this machine.
func (v *vswitch) socket() string { return socketOf(v.db) }

// socketOf returns the path of the socket of an ovsdb-server as seen from this machine.
func socketOf(db *daemon.Process) string { return filepath.Join(db.RunDir(), dbSocket) }

// setTimeout limits how long the switch may take to apply a change, on a real CPU: a little
// less than the call.
const setTimeout = 8 * time.Second

// set configures the switch with ovs-vsctl and waits until the change is applied.
func (v *vswitch) set(ctx context.Context, args ...string) error {
	before := ""
	if v.sw != nil {
		before = v.sw.StderrTail()
	}
	_, err := run(ctx, v.vsctl, append([]string{"--db=unix:" + v.socket(), "--timeout=" + strconv.Itoa(int(timelimit.Scaled(setTimeout).Seconds()))}, args...)...)
	if err != nil && v.sw != nil {
		if said := lastLine(strings.TrimPrefix(v.sw.StderrTail(), before)); said != "" {
			err = fmt.Errorf("%w; ovs-vswitchd reports: %s", err, said)
		}
	}
	return err
}

// ports reads how many bytes the ports of a bridge have received and sent, by name, with
// the kernel datapath. It is unusable for tunnels: the daemon updates their counters from
// flow statistics up to half a second late (netdev_vport_inc_tx of 3.1, by the
// revalidators), and counts packets twice in userspace.
func (v *vswitch) ports(ctx context.Context, bridge string) (map[string]transfer, error) {
	text, err := run(ctx, v.ofctl, "--names", "dump-ports", "unix:"+filepath.Join(v.sw.RunDir(), bridge+".mgmt"))
	if err != nil {
		return nil, fmt.Errorf("read the ports of %s: %w", bridge, err)
	}
	return parsePorts(text)
}

// transfer is the traffic of a port, in bytes.
type transfer struct{ rx, tx uint64 }

// parsePorts parses the output of ovs-ofctl dump-ports: for each port a line with its name
// and what it received, and a line with what it sent (ovs-ofctl(8)).
//
//	port  tun0: rx pkts=7, bytes=586, drop=0, errs=0, frame=0, over=0, crc=0
//	         tx pkts=9, bytes=742, drop=0, errs=0, coll=0
func parsePorts(text string) (map[string]transfer, error) {
	all := map[string]transfer{}
	port := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, "port "); ok {
			name, counts, ok := strings.Cut(strings.TrimSpace(rest), ": rx ")
			if !ok {
				return nil, fmt.Errorf("cannot parse port line %q", line)
			}
			port = strings.Trim(name, `"`)
			n, err := bytesOf(counts)
			if err != nil {
				return nil, err
			}
			all[port] = transfer{rx: n}
		} else if counts, ok := strings.CutPrefix(line, "tx "); ok && port != "" {
			n, err := bytesOf(counts)
			if err != nil {
				return nil, err
			}
			all[port] = transfer{all[port].rx, n}
		}
	}
	return all, nil
}

// bytesOf returns the bytes in the counts of one direction.
func bytesOf(counts string) (uint64, error) {
	for field := range strings.SplitSeq(counts, ", ") {
		if n, ok := strings.CutPrefix(field, "bytes="); ok {
			return strconv.ParseUint(n, 10, 64)
		}
	}
	return 0, fmt.Errorf("no byte count in %q", counts)
}

// readyTimeout limits how long a daemon may take to be ready, on a real CPU. Each takes
// about 20 ms.
const readyTimeout = 10 * time.Second

// waitForDatabase waits until a database listens on its socket, which exists a moment before.
func waitForDatabase(ctx context.Context, db *daemon.Process) error {
	return db.WaitFor(ctx, timelimit.Scaled(readyTimeout), "listen at "+dbSocket, func() error {
		conn, err := (&net.Dialer{Timeout: readyTimeout}).DialContext(ctx, "unix", socketOf(db))
		if err != nil {
			return err
		}
		return conn.Close()
	})
}

// waitForFile waits until a daemon has created a file in its /run.
func waitForFile(ctx context.Context, p *daemon.Process, file string) error {
	return p.WaitFor(ctx, timelimit.Scaled(readyTimeout), "make "+file, func() error {
		_, err := os.Stat(filepath.Join(p.RunDir(), file))
		return err
	})
}
