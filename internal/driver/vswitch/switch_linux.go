package vswitch

import (
	"cmp"
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

// Switch is a private Open vSwitch of one host: database and switch, each with its own
// init process and a private /run.
type Switch struct {
	Programs
	// Sockets is a directory of this machine for the database's socket, which processes without this machine's /proc can reach; empty for the
	// database's own /run.
	Sockets string
	Daemon  *daemon.Process // ovs-vswitchd; nil before it is started
	db      *database
}

// Inside is the bridge of the sandboxes.
const Inside = "br-int"

// Userspace is the type of a datapath in ovs-vswitchd's own process, over packet sockets.
const Userspace = "netdev"

// UserspaceFact is what a path with such a datapath says of it.
const UserspaceFact = Userspace + ": in the ovs-vswitchd process, over packet sockets"

// Table is the table of nftables in which the hosts' rules for their switches are.
const Table = "tare"

// CopiesDropped are the kernel's drop reasons of what ovs-vswitchd has copied with its packet sockets: rules of Attach drop it.
func CopiesDropped() []string { return []string{"NETFILTER_DROP"} }

// Attach prepares a port of a switch in userspace, and the device at its other end: ovs-vswitchd does not forward packets with partial
// checksums, and the host's own stack would answer the copies that it gets.
func Attach(host *linuxnet.NS, port string, far *linuxnet.NS, device string) error {
	if err := far.Tuning().ChecksumOff(device); err != nil {
		return err
	}
	return host.Rules().DropIngress(Table, port)
}

// The files in their /run.
const (
	dbSocket = "db.sock"
	dbFile   = "conf.db"
	control  = "switch.ctl"
)

// Start starts the switch of a host in its namespace. It passes each started process to
// note, to be ended later.
func (v *Switch) Start(ctx context.Context, host, runID string, ns *linuxnet.NS, note func(*daemon.Process)) error {
	text, err := v.database(ctx, runID, v.schema)
	if err != nil {
		return err
	}
	if v.db, err = v.serve(ctx, host, runID, ns, socketIn(v.Sockets, "switch.sock"), map[string]string{dbFile: text}, note); err != nil {
		return err
	}
	if err := v.Set(ctx, "--no-wait", "init"); err != nil {
		return err
	}
	if err := waitUptime(ctx); err != nil {
		return err
	}
	program := daemon.Program{
		Name: "ovs-vswitchd of host " + host, Run: runID, Path: v.switchd, Env: environment(), Start: ns.Start,
		Args: append([]string{"unix:" + v.Socket(), "--unixctl=/run/" + control}, quiet()...),
	}
	if v.Daemon, err = program.Launch(); err != nil {
		return err
	}
	note(v.Daemon)
	return waitForFile(ctx, v.Daemon, control)
}

// Bridge returns the arguments of Set that create a bridge with a type of datapath, followed by more.
func Bridge(name, datapath string, more ...string) []string {
	return append([]string{"add-br", name, "--", "set", "bridge", name, "datapath_type=" + datapath}, more...)
}

// environment makes /run the directory of all files of a program of Open vSwitch or OVN.
func environment() []string {
	return []string{"OVS_RUNDIR=/run", "OVS_DBDIR=/run", "OVS_LOGDIR=/run", "OVS_SYSCONFDIR=/run"}
}

// quiet are the arguments with which these programs write only warnings, to stderr.
func quiet() []string { return []string{"-vsyslog:off", "-vfile:off", "-vconsole:warn"} }

// database is a running ovsdb-server.
type database struct {
	*daemon.Process
	socket string // on this machine; empty: in its own /run
}

// Socket returns the path of its socket as seen from this machine.
func (d *database) Socket() string { return cmp.Or(d.socket, filepath.Join(d.RunDir(), dbSocket)) }

// socketIn is a socket in a directory, empty without one.
func socketIn(dir, name string) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, name)
}

// serve starts an ovsdb-server in a host's namespace with these databases, by the names of their files, and waits
// until it listens.
func (p Programs) serve(ctx context.Context, host, runID string, ns *linuxnet.NS, socket string, databases map[string]string, note func(*daemon.Process)) (*database, error) {
	program := daemon.Program{
		Name: "ovsdb-server of host " + host, Run: runID, Path: p.server, Env: environment(), Files: databases, Start: ns.Start,
		Args: append([]string{"--remote=punix:" + cmp.Or(socket, "/run/"+dbSocket), "--unixctl=/run/ovsdb.ctl"}, quiet()...),
	}
	for _, file := range slices.Sorted(maps.Keys(databases)) {
		program.Args = append(program.Args, "/run/"+file)
	}
	process, err := program.Launch()
	if err != nil {
		return nil, err
	}
	note(process)
	db := &database{process, socket}
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

// Socket returns the path of the database's socket as seen from this machine.
func (v *Switch) Socket() string { return v.db.Socket() }

// setTimeout limits how long the switch may take to apply a change, on a real CPU: a little
// less than the call.
const setTimeout = 8 * time.Second

// Set configures the switch with ovs-vsctl and waits until the change is applied.
func (v *Switch) Set(ctx context.Context, args ...string) error {
	before := ""
	if v.Daemon != nil {
		before = v.Daemon.StderrTail()
	}
	_, err := run(ctx, v.vsctl, append([]string{"--db=unix:" + v.Socket(), "--timeout=" + strconv.Itoa(int(timelimit.Scaled(setTimeout).Seconds()))}, args...)...)
	if err != nil && v.Daemon != nil {
		if said := lastLine(strings.TrimPrefix(v.Daemon.StderrTail(), before)); said != "" {
			err = fmt.Errorf("%w; ovs-vswitchd reports: %s", err, said)
		}
	}
	return err
}

// Ports reads how many bytes the ports of a bridge have received and sent, by name, with
// the kernel datapath. It is unusable for tunnels: the daemon updates their counters from
// flow statistics up to half a second late (netdev_vport_inc_tx of 3.1, by the
// revalidators), and counts packets twice in userspace.
func (v *Switch) Ports(ctx context.Context, bridge string) (map[string]Transfer, error) {
	text, err := run(ctx, v.ofctl, "--names", "dump-ports", "unix:"+filepath.Join(v.Daemon.RunDir(), bridge+".mgmt"))
	if err != nil {
		return nil, fmt.Errorf("read the ports of %s: %w", bridge, err)
	}
	return parsePorts(text)
}

// Flows is how many OpenFlow rules a bridge of the switch has.
func (v *Switch) Flows(ctx context.Context, bridge string) (int, error) {
	text, err := run(ctx, v.ofctl, "dump-aggregate", "unix:"+filepath.Join(v.Daemon.RunDir(), bridge+".mgmt"))
	if err != nil {
		return 0, fmt.Errorf("count the flows of %s: %w", bridge, err)
	}
	_, count, found := strings.Cut(text, "flow_count=")
	n, err := strconv.Atoi(strings.TrimSpace(count))
	if !found || err != nil {
		return 0, fmt.Errorf("count the flows of %s: unexpected output %.80q", bridge, text)
	}
	return n, nil
}

// Transfer is the traffic of a port, in bytes.
type Transfer struct{ RX, TX uint64 }

// parsePorts parses the output of ovs-ofctl dump-ports: for each port a line with its name
// and what it received, and a line with what it sent (ovs-ofctl(8)).
//
//	port  tun0: rx pkts=7, bytes=586, drop=0, errs=0, frame=0, over=0, crc=0
//	         tx pkts=9, bytes=742, drop=0, errs=0, coll=0
func parsePorts(text string) (map[string]Transfer, error) {
	all := map[string]Transfer{}
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
			all[port] = Transfer{RX: n}
		} else if counts, ok := strings.CutPrefix(line, "tx "); ok && port != "" {
			n, err := bytesOf(counts)
			if err != nil {
				return nil, err
			}
			all[port] = Transfer{all[port].RX, n}
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
func waitForDatabase(ctx context.Context, db *database) error {
	return db.WaitFor(ctx, timelimit.Scaled(readyTimeout), "listen at "+dbSocket, func() error {
		conn, err := (&net.Dialer{Timeout: readyTimeout}).DialContext(ctx, "unix", db.Socket())
		if err != nil {
			return err
		}
		return conn.Close()
	})
}

// has returns an error while the switch has no such bridge.
func (v *Switch) has(bridge string) error {
	_, err := os.Stat(filepath.Join(v.Daemon.RunDir(), bridge+".mgmt"))
	return err
}

// waitForFile waits until a daemon has created a file in its /run.
func waitForFile(ctx context.Context, p *daemon.Process, file string) error {
	return p.WaitFor(ctx, timelimit.Scaled(readyTimeout), "make "+file, func() error {
		_, err := os.Stat(filepath.Join(p.RunDir(), file))
		return err
	})
}
