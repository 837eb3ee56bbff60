package ovs

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/driver"
	"tare/internal/driver/daemon"
	"tare/internal/linuxnet"
)

// vswitch is a private Open vSwitch of one host: its database and the switch, each below
// a first process of its own, with a /run that nobody else has.
type vswitch struct {
	programs
	db, sw *daemon.Process
}

// The files of their /run.
const (
	dbSocket = "db.sock"
	dbFile   = "conf.db"
	control  = "switch.ctl"
)

// start starts the switch of a host in its namespace. What has been started is noted as
// it is, for the end.
func (v *vswitch) start(ctx context.Context, host, runID string, ns *linuxnet.NS, note func(*daemon.Process)) error {
	text, err := v.database(ctx)
	if err != nil {
		return err
	}
	env := []string{"OVS_RUNDIR=/run", "OVS_DBDIR=/run", "OVS_LOGDIR=/run", "OVS_SYSCONFDIR=/run"}
	quiet := []string{"-vsyslog:off", "-vfile:off", "-vconsole:warn"}
	program := daemon.Program{
		Name: "ovsdb-server of host " + host, Run: runID, Path: v.server, Env: env, Files: map[string]string{dbFile: text}, Start: ns.Start,
		Args: append([]string{"/run/" + dbFile, "--remote=punix:/run/" + dbSocket, "--unixctl=/run/ovsdb.ctl"}, quiet...),
	}
	if v.db, err = program.Launch(); err != nil {
		return err
	}
	note(v.db)
	if err := waits(ctx, v.db, dbSocket); err != nil {
		return err
	}
	if err := v.set(ctx, "--no-wait", "init"); err != nil {
		return err
	}
	if err := upLong(ctx); err != nil {
		return err
	}
	program = daemon.Program{
		Name: "ovs-vswitchd of host " + host, Run: runID, Path: v.switchd, Env: env, Start: ns.Start,
		Args: append([]string{"unix:" + v.socket(), "--unixctl=/run/" + control}, quiet...),
	}
	if v.sw, err = program.Launch(); err != nil {
		return err
	}
	note(v.sw)
	return waits(ctx, v.sw, control)
}

// leastUp is how long a machine must have been up for ovs-vswitchd to start. The daemon
// asks again every 10 s for the number of CPUs, by a clock that begins with the machine,
// and takes the first 10 s for a time in which it has asked already: it finds 0 (3.1,
// count_cpu_cores), starts no thread for the packets that the kernel hands it, and all of
// them are lost, later ones too.
const leastUp = 11 * time.Second

// upLong waits until the machine has been up for long enough.
func upLong(ctx context.Context) error {
	var up unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &up); err != nil {
		return fmt.Errorf("read for how long this machine has been up: %w", err)
	}
	select {
	case <-time.After(leastUp - time.Duration(up.Nano())):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// socket is that of the database, as everybody on this machine finds it.
func (v *vswitch) socket() string { return filepath.Join(v.db.RunDir(), dbSocket) }

// setWithin bounds how long the switch may take to do what it is told, on a real CPU: a
// little less than the call.
const setWithin = 8 * time.Second

// set has the switch set by ovs-vsctl, and waits until it is.
func (v *vswitch) set(ctx context.Context, args ...string) error {
	before := ""
	if v.sw != nil {
		before = v.sw.StderrTail()
	}
	_, err := run(ctx, v.vsctl, append([]string{"--db=unix:" + v.socket(), "--timeout=" + strconv.Itoa(int(driver.ScaleTimeout(setWithin).Seconds()))}, args...)...)
	if err != nil && v.sw != nil {
		if said := last(strings.TrimPrefix(v.sw.StderrTail(), before)); said != "" {
			err = fmt.Errorf("%w; the switch says: %s", err, said)
		}
	}
	return err
}

// ports reads how many bytes the ports of a bridge have received and sent, by name, where
// the kernel switches. Of tunnels nothing can be learnt this way, whoever switches: the
// daemon books their packets by the flows that it looks through now and then, up to
// half a second late (netdev_vport_inc_tx of 3.1, by the revalidators), and those of a
// process twice.
func (v *vswitch) ports(ctx context.Context, bridge string) (map[string]transfer, error) {
	text, err := run(ctx, v.ofctl, "--names", "dump-ports", "unix:"+filepath.Join(v.sw.RunDir(), bridge+".mgmt"))
	if err != nil {
		return nil, fmt.Errorf("read the ports of %s: %w", bridge, err)
	}
	return parsePorts(text)
}

// transfer is what went through a port, in bytes.
type transfer struct{ rx, tx uint64 }

// parsePorts reads what ovs-ofctl dump-ports prints: of each port a line with its name
// and what it received, and one with what it sent (ovs-ofctl(8)).
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
				return nil, fmt.Errorf("%q is no line of a port", line)
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

// bytesOf finds the bytes in the counts of one direction.
func bytesOf(counts string) (uint64, error) {
	for field := range strings.SplitSeq(counts, ", ") {
		if n, ok := strings.CutPrefix(field, "bytes="); ok {
			return strconv.ParseUint(n, 10, 64)
		}
	}
	return 0, fmt.Errorf("no bytes in %q", counts)
}

// readyTimeout bounds how long a daemon may take to be there, on a real CPU. Each takes some 20 ms.
const readyWithin = 10 * time.Second

// waits until a daemon has made a file of its /run.
func waits(ctx context.Context, p *daemon.Process, file string) error {
	return p.WaitFor(ctx, driver.ScaleTimeout(readyWithin), "make "+file, func() error {
		_, err := os.Stat(filepath.Join(p.RunDir(), file))
		return err
	})
}
