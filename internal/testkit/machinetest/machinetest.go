//go:build linux

// Package machinetest gives tests machines with real OpenSSH servers: each in a network, mount, PID
// and UTS namespace of its own, with empty /run, /tmp and home directories. Everything ends with
// the test, and also if the test's process is killed.
package machinetest

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tare/internal/linuxnet"
	"tare/internal/machine"
	"tare/internal/process"
	"tare/internal/runid"
	"tare/internal/testkit/testneed"
	"tare/internal/timelimit"
)

// Spec describes a machine.
type Spec struct {
	Name string
	// User is the account, root if empty. Any other one is created on that machine.
	User string
	// Shell is the account's shell, /bin/sh if empty.
	Shell string
	// Server are further lines of the ssh server's configuration, before all others.
	Server string
	// Client are further lines for this machine in the configuration of ssh.
	Client string
	// Setup is a script that runs as root on the machine before the ssh server starts.
	Setup string
	// Share are directories and files of this machine that are visible there at the same path.
	Share []string
}

// Machine is a machine of a bench.
type Machine struct {
	Spec
	NS *linuxnet.NS
	// Control is its address for the controller.
	Control netip.Addr
	// Link4 and Link6 are its addresses on the link to the other machine, on the device LinkDevice.
	Link4, Link6 netip.Addr

	bench  *Bench
	server *process.Process
}

// LinkDevice is the network card by which the first two machines are connected, and ControlDevice
// the one by which the controller reaches each.
const (
	LinkDevice    = "eth0"
	ControlDevice = "ctl0"
)

// Bench is a controller and machines that it reaches through ssh.
type Bench struct {
	// Controller is the network namespace from which the machines are reached.
	Controller *linuxnet.NS
	// Config is the configuration of ssh, with each machine as a Host by its name.
	Config   string
	Machines []*Machine

	dir     string
	aliases string // further hosts in Config, which come first
	t       *testing.T
}

// The names of files of the bench: the key that every machine accepts, and the known host keys.
const (
	userKey    = "key"
	knownHosts = "known_hosts"
)

// New starts machines. The first two are connected by a link. It requires root.
func New(t *testing.T, specs ...Spec) *Bench {
	t.Helper()
	testneed.NotShort(t)
	if !linuxnet.RealRoot() {
		testneed.Missing(t, testneed.Root, "machines with ssh servers require it")
	}
	for _, program := range []string{"ssh", serverProgram, "ssh-keygen", "nsenter"} {
		if _, err := exec.LookPath(program); err != nil {
			testneed.Missing(t, testneed.SSH, err)
		}
	}
	b := &Bench{t: t, dir: t.TempDir()}
	b.Config = filepath.Join(b.dir, "ssh_config")
	b.Controller = b.namespace("controller")
	b.keygen(userKey)
	for i, s := range specs {
		b.start(i, s)
	}
	if len(b.Machines) > 1 {
		b.link(b.Machines[0], b.Machines[1])
	}
	b.writeConfig()
	return b
}

// Pair starts two machines, a and b, whose user is root.
func Pair(t *testing.T) *Bench {
	t.Helper()
	return New(t, Spec{Name: "a"}, Spec{Name: "b"})
}

// Options are those with which the machines are reached from this process.
func (b *Bench) Options() machine.Options {
	return machine.Options{Config: b.Config, Start: b.Controller.Start}
}

// Environment returns this process's environment, with what makes a program that is started by
// Controller.Start reach the machines by their names, such as ssh://a.
func (b *Bench) Environment() []string {
	return append(os.Environ(), machine.EnvConfig+"="+b.Config)
}

// Machine returns the machine with this name.
func (b *Bench) Machine(name string) *Machine {
	b.t.Helper()
	for _, m := range b.Machines {
		if m.Name == name {
			return m
		}
	}
	b.t.Fatalf("there is no machine %s", name)
	return nil
}

// Connect connects to a machine, and closes the connection at the end of the test.
func (b *Bench) Connect(name string) *machine.Machine {
	b.t.Helper()
	run, err := runid.New()
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(run.Release)
	m, err := machine.Connect(b.t.Context(), run.ID, name, machine.Address{Host: name}, b.Options())
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		if err := m.Close(context.Background()); err != nil {
			b.t.Error(err)
		}
	})
	return m
}

func (b *Bench) namespace(name string) *linuxnet.NS {
	b.t.Helper()
	ns, err := linuxnet.NewNS("bench-" + name)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		if err := ns.Close(); err != nil {
			b.t.Error(err)
		}
	})
	return ns
}

// keygen makes a key pair.
func (b *Bench) keygen(name string) {
	b.t.Helper()
	path := filepath.Join(b.dir, name)
	if out, err := exec.CommandContext(b.t.Context(), "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", path).CombinedOutput(); err != nil {
		b.t.Fatalf("make the key %s: %v: %s", name, err, out)
	}
}

func (b *Bench) write(name, text string) {
	b.t.Helper()
	path := filepath.Join(b.dir, name)
	// The ssh server reads the accepted keys with the rights of the account.
	if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chmod(path, 0o644), os.Chmod(b.dir, 0o755)); err != nil { //nolint:gosec // they contain no secret
		b.t.Fatal(err)
	}
}

const serverProgram = "/usr/sbin/sshd"

// inside is where a machine sees the bench's directory.
const inside = "/run/bench"

// setUp makes the file system of a machine and becomes its ssh server. Its arguments are the
// bench's directory, the machine's name, the account, its shell, and the shared paths. What gc
// looks at is the machine's own: its processes, /run, temporary directories and /var/lib. It has no
// control groups, because those of this machine's engines would look like leftovers there.
const setUp = `set -e
dir=$1 name=$2 user=$3 shell=$4
shift 4
mount --make-rprivate /
n=0
for p in "$@"; do
	n=$((n + 1))
	if [ -d "$p" ]; then mkdir -p "$dir/$name-share-$n"; else : >"$dir/$name-share-$n"; fi
	mount --rbind "$p" "$dir/$name-share-$n"
done
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t tmpfs -o mode=755 tmpfs /var/lib
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/sshd /run/bench /run/netns
mount --rbind "$dir" /run/bench
echo "$name" >/proc/sys/kernel/hostname
cp /etc/passwd /etc/group /etc/shadow /run/
sed -i "s|^root:.*|root:x:0:0:root:/root:$shell|" /run/passwd
sed -i "s|^root:.*|root:*:19000:0:99999:7:::|" /run/shadow
for d in /tmp /var/tmp /dev/shm; do mount -t tmpfs -o mode=1777 tmpfs "$d"; done
for d in /root /home; do mount -t tmpfs -o mode=755 tmpfs "$d"; done
if [ "$user" != root ]; then
	echo "$user:x:2000:2000::/home/$user:$shell" >>/run/passwd
	echo "$user:x:2000:" >>/run/group
	echo "$user:*:19000:0:99999:7:::" >>/run/shadow
	mkdir -m 700 "/home/$user"
	chown 2000:2000 "/home/$user"
fi
for f in passwd group shadow; do mount --bind "/run/$f" "/etc/$f"; done
n=0
for p in "$@"; do
	n=$((n + 1))
	if [ -d "$p" ]; then :; elif [ -d "/run/bench/$name-share-$n" ]; then mkdir -p "$p"; else mkdir -p "${p%/*}"; [ -e "$p" ] || : >"$p"; fi
	mount --rbind "/run/bench/$name-share-$n" "$p"
done
. "/run/bench/$name.setup"
exec /usr/sbin/sshd -D -e -f "/run/bench/$name.sshd_config"
`

// serverTimeout bounds the start of an ssh server.
func serverTimeout() time.Duration { return timelimit.Scaled(20 * time.Second) }

// start starts machine number i.
func (b *Bench) start(i int, s Spec) {
	b.t.Helper()
	if s.User == "" {
		s.User = "root"
	}
	if s.Shell == "" {
		s.Shell = "/bin/sh"
	}
	m := &Machine{Spec: s, NS: b.namespace(s.Name), bench: b}
	near, far := netip.AddrFrom4([4]byte{198, 19, 255, byte(4*i + 1)}), netip.AddrFrom4([4]byte{198, 19, 255, byte(4*i + 2)})
	m.Control = far
	to := "to" + strconv.Itoa(i)
	if err := errors.Join(
		b.Controller.Links().Veth(linuxnet.Device{Name: to}, m.NS, linuxnet.Device{Name: ControlDevice}),
		b.Controller.Routes().Address(to, netip.PrefixFrom(near, 30)), m.NS.Routes().Address(ControlDevice, netip.PrefixFrom(far, 30)),
		b.Controller.Links().Up(to), m.NS.Links().Up(ControlDevice),
	); err != nil {
		b.t.Fatal(err)
	}
	b.keygen("host-" + s.Name)
	b.write(s.Name+".setup", s.Setup)
	b.write(s.Name+".authorized_keys", b.publicKey(userKey)+"\n")
	b.write(s.Name+".sshd_config", strings.Join([]string{
		s.Server, "ListenAddress 0.0.0.0", "HostKey " + inside + "/host-" + s.Name, "AuthorizedKeysFile " + inside + "/" + s.Name + ".authorized_keys",
		"StrictModes no", "UsePAM no", "PasswordAuthentication no", "KbdInteractiveAuthentication no", "PermitRootLogin yes",
		"PrintMotd no", "UseDNS no", "PidFile none", "MaxStartups 100", "",
	}, "\n"))
	b.t.Cleanup(func() {
		m.Stop(b.t)
		if b.t.Failed() {
			b.t.Logf("the ssh server of %s wrote: %s", s.Name, m.server.StderrTail())
		}
	})
	m.Start(b.t)
	b.Machines = append(b.Machines, m)
}

// Stop ends the machine with all its processes, and its files with them.
func (m *Machine) Stop(t *testing.T) {
	t.Helper()
	if m.server == nil {
		return
	}
	// Its PID namespace ends with it, and with that every process there.
	if err := m.server.Kill(); err != nil {
		t.Error(err)
	}
}

// Start starts the machine, which New has done once, after Stop.
func (m *Machine) Start(t *testing.T) {
	t.Helper()
	b, s := m.bench, m.Spec
	m.server = process.New("the ssh server of machine "+s.Name, "/bin/sh", append([]string{"-c", setUp, "sh", b.dir, s.Name, s.User, s.Shell}, s.Share...)...)
	m.server.Cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWUTS
	m.server.Cmd.WaitDelay = timelimit.Scaled(time.Second)
	if err := m.server.StartTied(m.NS.Do); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), serverTimeout())
	defer cancel()
	if err := m.server.WaitFor(ctx, func() (bool, error) {
		return strings.Contains(m.server.StderrTail(), "Server listening on"), nil
	}); err != nil {
		t.Fatalf("start the ssh server of machine %s: %v: %s", s.Name, err, m.server.StderrTail())
	}
}

func (b *Bench) publicKey(name string) string {
	b.t.Helper()
	text, err := os.ReadFile(filepath.Join(b.dir, name+".pub"))
	if err != nil {
		b.t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// link connects two machines.
func (b *Bench) link(x, y *Machine) {
	b.t.Helper()
	if err := x.NS.Links().Veth(linuxnet.Device{Name: LinkDevice}, y.NS, linuxnet.Device{Name: LinkDevice}); err != nil {
		b.t.Fatal(err)
	}
	for i, m := range []*Machine{x, y} {
		m.Link4 = netip.AddrFrom4([4]byte{198, 19, 254, byte(i + 1)})
		m.Link6 = netip.AddrFrom16([16]byte{0: 0x20, 1: 0x01, 3: 0x02, 6: 0xff, 15: byte(i + 1)})
		if err := errors.Join(m.NS.Routes().Address(LinkDevice, netip.PrefixFrom(m.Link4, 24)), m.NS.Routes().Address(LinkDevice, netip.PrefixFrom(m.Link6, 64)), m.NS.Links().Up(LinkDevice)); err != nil {
			b.t.Fatal(err)
		}
	}
}

// writeConfig writes the configuration of ssh and the known host keys.
func (b *Bench) writeConfig() {
	b.t.Helper()
	var config, known strings.Builder
	config.WriteString(b.aliases)
	for _, m := range b.Machines {
		fmt.Fprintf(&config, "Host %s\n%s\n  HostName %s\n  User %s\n  IdentityFile %s\n", m.Name, m.Client, m.Control, m.User, filepath.Join(b.dir, userKey))
		key := b.publicKey("host-" + m.Name)
		fmt.Fprintf(&known, "%s %s\n", m.Control, key)
		if m.Link4.IsValid() {
			fmt.Fprintf(&known, "%s %s\n", m.Link4, key)
		}
	}
	fmt.Fprintf(&config, "Host *\n  IdentitiesOnly yes\n  IdentityAgent none\n  UserKnownHostsFile %s\n  GlobalKnownHostsFile none\n  UpdateHostKeys no\n",
		filepath.Join(b.dir, knownHosts))
	b.write("ssh_config", config.String())
	b.write(knownHosts, known.String())
}

// Alias adds a name by which ssh reaches a machine, with lines of ssh's configuration that come
// before those of the machine.
func (b *Bench) Alias(name string, of *Machine, lines ...string) {
	b.t.Helper()
	own := slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, "IdentityFile ") })
	if !own {
		lines = append(lines, "IdentityFile "+filepath.Join(b.dir, userKey))
	}
	b.aliases += fmt.Sprintf("Host %s\n  %s\n  HostName %s\n  User %s\n", name, strings.Join(lines, "\n  "), of.Control, of.User)
	b.writeConfig()
}

// Key makes a key pair that no machine knows, and returns its file.
func (b *Bench) Key(name string) string {
	b.t.Helper()
	b.keygen(name)
	return filepath.Join(b.dir, name)
}

// KnownAs writes a file of known hosts in which a machine has the key of another, and returns it.
func (b *Bench) KnownAs(m, other *Machine) string {
	b.t.Helper()
	name := m.Name + "-as-" + other.Name
	b.write(name, fmt.Sprintf("%s %s\n", m.Control, b.publicKey("host-"+other.Name)))
	return filepath.Join(b.dir, name)
}

// Await runs a shell script as root on the machine until it succeeds.
func (m *Machine) Await(t *testing.T, script string) {
	t.Helper()
	m.Run(t, "n=0; until "+script+" >/dev/null 2>&1; do n=$((n + 1)); [ $n -lt 1000 ]; sleep 0.02; done")
}

// Run runs a shell script as root on the machine, and returns what it wrote.
func (m *Machine) Run(t *testing.T, script string) string {
	t.Helper()
	pid := strconv.Itoa(m.server.PID())
	out, err := exec.CommandContext(t.Context(), "nsenter", "-t", pid, "-m", "-p", "-n", "-u", "--", "/bin/sh", "-e", "-c", script).CombinedOutput()
	if err != nil {
		t.Fatalf("run %q on machine %s: %v: %s", script, m.Name, err, out)
	}
	return strings.TrimSpace(string(out))
}
