package vswitch

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"tare/internal/driver/daemon"
	"tare/internal/linuxnet"
	"tare/internal/timelimit"
)

// OVN are the programs of an installed OVN.
type OVN struct {
	northd, controller, nbctl string // ovn-northd, ovn-controller and ovn-nbctl
	north, south              string // schema files of its databases
	version                   string
}

// String is the version, and the program of each host.
func (o OVN) String() string { return o.version + " (" + o.controller + ")" }

// Find locates OVN. Its error says what is missing and how to install it.
func (o *OVN) Find(ctx context.Context) error {
	return suite{
		install:  "install OVN (Debian: apt-get install ovn-central ovn-host); its services do not have to run",
		share:    "ovn",
		programs: map[string]*string{"ovn-northd": &o.northd, "ovn-controller": &o.controller, "ovn-nbctl": &o.nbctl},
		schemas:  map[string]*string{"ovn-nb.ovsschema": &o.north, "ovn-sb.ovsschema": &o.south},
		version:  &o.version, says: "ovn-controller", words: "ovn-controller ",
	}.find(ctx)
}

// Central is what OVN has once for all hosts: both databases, and ovn-northd, which compiles logical switches and
// routers into flows. All reach it through a socket in the file system, so that nothing of it is on the underlay.
type Central struct {
	OVN
	Sockets  string // as those of a Switch
	db       *database
	compiler *daemon.Process // ovn-northd
}

// Start starts it on the host of a switch, in its namespace, without a logical network. It passes each started process to note.
func (c *Central) Start(ctx context.Context, p Programs, host, runID string, ns *linuxnet.NS, note func(*daemon.Process)) error {
	databases := map[string]string{}
	for file, schema := range map[string]string{"ovnnb.db": c.north, "ovnsb.db": c.south} {
		text, err := p.database(ctx, runID, schema)
		if err != nil {
			return err
		}
		databases[file] = text
	}
	var err error
	if c.db, err = p.serve(ctx, host, runID, ns, socketIn(c.Sockets, "ovn.sock"), databases, note); err != nil {
		return err
	}
	at := "unix:" + c.Socket()
	northd := daemon.Program{
		Name: "ovn-northd", Run: runID, Path: c.northd, Env: ovnEnvironment("/run"), Start: ns.Start,
		Args: append([]string{"--ovnnb-db=" + at, "--ovnsb-db=" + at, "--unixctl=/run/ovn-northd.ctl"}, quiet()...),
	}
	if c.compiler, err = northd.Launch(); err != nil {
		return err
	}
	note(c.compiler)
	return nil
}

// Socket returns the path of the socket of both databases as seen from this machine.
func (c *Central) Socket() string { return c.db.Socket() }

// ovnEnvironment is the environment of a program of OVN. It looks for the sockets of Open vSwitch in a directory.
func ovnEnvironment(switches string) []string {
	return append([]string{"OVS_RUNDIR=" + switches, "OVN_RUNDIR=/run", "OVN_DBDIR=/run", "OVN_LOGDIR=/run", "OVN_SYSCONFDIR=/run"}, environment()[1:]...)
}

// Set configures the logical network with ovn-nbctl.
func (c *Central) Set(ctx context.Context, args ...string) error {
	_, err := run(ctx, c.nbctl, append([]string{"--db=unix:" + c.Socket(), "--timeout=" + strconv.Itoa(int(timelimit.Scaled(setTimeout).Seconds()))}, args...)...)
	return err
}

// hvTimeout limits how long all hosts may take to apply a change of the logical network, on a real CPU.
const hvTimeout = 20 * time.Second

// Applied waits until the switches of all hosts have the flows of the logical network, or ovn-northd has ended.
func (c *Central) Applied(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-c.compiler.Done():
			cancel()
		case <-ctx.Done():
		}
	}()
	_, err := runFor(ctx, hvTimeout, c.nbctl, "--db=unix:"+c.Socket(), "--wait=hv", "sync")
	if err != nil {
		return fmt.Errorf("wait until all hosts have applied the logical network: %w", err)
	}
	return nil
}

// Join makes a host with a switch a chassis of OVN, whose Inside forwards in userspace. Its tunnels, by Geneve, end at
// an address of the host. It passes the started process to note.
func (c *Central) Join(ctx context.Context, v *Switch, host, runID string, ns *linuxnet.NS, own string, note func(*daemon.Process)) error {
	if err := v.Set(ctx, "set", "Open_vSwitch", ".", "external_ids:system-id="+host, "external_ids:hostname="+host,
		"external_ids:ovn-remote=unix:"+c.Socket(), "external_ids:ovn-bridge="+Inside, "external_ids:ovn-bridge-datapath-type="+Userspace,
		"external_ids:ovn-encap-type=geneve", "external_ids:ovn-encap-ip="+own); err != nil {
		return err
	}
	program := daemon.Program{
		Name: "ovn-controller of host " + host, Run: runID, Path: c.controller, Start: ns.Start,
		Env:  ovnEnvironment(v.Daemon.RunDir()), // for the bridge's management socket
		Args: append([]string{"unix:" + v.Socket()}, quiet()...),
	}
	process, err := program.Launch()
	if err != nil {
		return err
	}
	note(process)
	return process.WaitFor(ctx, timelimit.Scaled(readyTimeout), "make "+Inside, func() error { return v.has(Inside) })
}

// Joined are several commands of Set as one transaction.
func Joined(commands ...[]string) (all []string) {
	for _, c := range commands {
		all = append(append(all, "--"), c...)
	}
	return all[1:]
}
