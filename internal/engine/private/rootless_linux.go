package private

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"tare/internal/lab"
	"tare/internal/linuxnet"
)

// The ordinary user of a rootless engine, with its subordinate ids. No account of a machine has them:
// systemd's documentation of user ids leaves this range to nobody. The user exists only in the mounts of
// the engine.
const (
	rootlessUser  = 1_900_000_000
	rootlessSubID = 1_900_065_536
	subIDs        = 65536
	rootlessName  = "tare"
)

// The user's directories, in the engine's own mounts.
const (
	rootlessHome  = "/run/user"
	rootlessState = rootlessHome + "/rootlesskit"
	// enginePrograms has those of the engine, whose own directory the user may not be able to read.
	enginePrograms = "/run/engine"
)

// rootlessEngine is the first major version of Docker Engine that asks RootlessKit itself to publish
// ports, as RootlessKit requires since 3.0.
const rootlessEngine = 28

// missing returns what this machine lacks for a rootless engine and how to fix it.
func (r *Rootless) missing(ctx context.Context, i Installation) error {
	if _, err := i.rootlesskit(); err != nil {
		return fmt.Errorf("a rootless engine needs rootlesskit, which cannot be found in %s; build it with scripts/setup-engines of tare's source and use engine: {lab: current}", i.searchPath())
	}
	for _, p := range r.programs() {
		if _, err := i.lookup(p); err != nil {
			return fmt.Errorf("a rootless engine needs %s, which cannot be found in %s; install it (Debian: apt-get install %s)", p, i.searchPath(), debianPackage(p))
		}
	}
	for _, file := range []string{"/etc/passwd", "/etc/group", "/etc/subuid", "/etc/subgid"} {
		if _, err := os.Stat(file); err != nil {
			return fmt.Errorf("a rootless engine needs subordinate user ids: %w; create the file (touch %s)", err, file)
		}
	}
	if err := linuxnet.CheckTUN(); err != nil {
		return err
	}
	text, err := i.ask(ctx, "dockerd", "--version")
	if err != nil {
		return fmt.Errorf("find the version of dockerd: %w", err)
	}
	version := versionIn(text)
	major := version[:strings.IndexFunc(version+".", notDigit)]
	if n, err := strconv.Atoi(major); err == nil && n < rootlessEngine { // a build may not tell
		return fmt.Errorf("a rootless engine needs Docker Engine %d or later, and dockerd is %s; name a newer one in engine: {lab: current}", rootlessEngine, version)
	}
	return nil
}

func notDigit(r rune) bool { return r < '0' || r > '9' }

// command returns the command that runs dockerd by RootlessKit, as dockerd-rootless.sh of Docker does.
func (r *Rootless) command(l *lab.Lab, rootlesskit string, dockerd []string) []string {
	inside := l.Addresses(lab.NetOverlay, 0)[0].Masked() // the namespace's own network
	return append([]string{
		filepath.Base(rootlesskit),
		"--state-dir=" + rootlessState,
		"--net=" + r.Net,
		"--mtu=" + strconv.Itoa(r.MTU),
		"--cidr=" + inside.String(),
		"--slirp4netns-sandbox=auto",
		"--slirp4netns-seccomp=auto",
		"--disable-host-loopback",
		"--port-driver=" + r.Port,
		"--copy-up=/etc",
		"--copy-up=/run",
		"--propagation=rslave",
		"--detach-netns",
	}, dockerd...)
}

// startAsUser makes the mounts of a rootless engine and starts RootlessKit as its user.
func startAsUser(dir string, command []string, files []*os.File) (*os.Process, error) {
	if err := makeUserMounts(dir); err != nil {
		return nil, err
	}
	path := enginePrograms + string(filepath.ListSeparator) + os.Getenv("PATH")
	return os.StartProcess(filepath.Join(enginePrograms, command[0]), command, &os.ProcAttr{
		Dir:   rootlessHome,
		Files: files,
		Env:   []string{"PATH=" + path, "HOME=" + rootlessHome, "XDG_RUNTIME_DIR=" + rootlessHome, "TMPDIR=" + rootlessHome, "LC_ALL=C"},
		Sys:   &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: rootlessUser, Gid: rootlessUser}},
	})
}

// makeUserMounts sets up the file system of a rootless engine in this process's mount namespace: the
// machine's own, with the engine's programs, an account for the user, and its directories. Nothing may be
// mounted in /proc, or the kernel lets a user namespace mount no other.
func makeUserMounts(dir string) error {
	if err := IsolateMounts(); err != nil {
		return err
	}
	if err := bindPrograms(); err != nil {
		return err
	}
	sub := fmt.Sprintf("%s:%d:%d\n", rootlessName, rootlessSubID, subIDs)
	for file, text := range map[string]string{
		"/etc/passwd": fmt.Sprintf("root:x:0:0:root:/:/bin/sh\n%s:x:%d:%d::%s:/bin/sh\n", rootlessName, rootlessUser, rootlessUser, rootlessHome),
		"/etc/group":  fmt.Sprintf("root:x:0:\n%s:x:%d:\n", rootlessName, rootlessUser),
		"/etc/subuid": sub,
		"/etc/subgid": sub,
	} {
		own := filepath.Join("/run", filepath.Base(file))
		if err := os.WriteFile(own, []byte(text), 0o644); err != nil { //nolint:gosec // everybody reads these files
			return err
		}
		if err := mount(own, file, "", unix.MS_BIND, ""); err != nil {
			return err
		}
	}
	// RootlessKit makes directories there.
	if err := mount("tmpfs", "/tmp", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777"); err != nil {
		return err
	}
	if err := os.Mkdir(rootlessHome, 0o700); err != nil {
		return err
	}
	settings, err := os.ReadFile(filepath.Join(dir, configFile))
	if err != nil {
		return err
	}
	// Not below /run, where RootlessKit puts symbolic links, which runc rejects in paths of containers.
	if err := mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, fmt.Sprintf("mode=700,uid=%d,gid=%d", rootlessUser, rootlessUser)); err != nil {
		return err
	}
	config := filepath.Join(rootlessHome, configFile)
	if err := os.WriteFile(config, settings, 0o600); err != nil {
		return err
	}
	return errors.Join(os.Chown(config, rootlessUser, rootlessUser), os.Chown(rootlessHome, rootlessUser, rootlessUser))
}

// bindPrograms makes the engine's programs available to every user in enginePrograms.
func bindPrograms() error {
	if err := os.Mkdir(enginePrograms, 0o755); err != nil { //nolint:gosec // the user executes what is in it
		return err
	}
	installed := Installation{} // PATH starts with the engine's directory
	for _, name := range append([]string{"dockerd", "docker-proxy", "containerd", "containerd-shim-runc-v2", "runc"}, rootlesskits()...) {
		from, err := installed.lookup(name)
		if err != nil {
			continue // the engine reports what it misses
		}
		to := filepath.Join(enginePrograms, name)
		if err := os.WriteFile(to, nil, 0o644); err != nil { //nolint:gosec // an empty file to mount on
			return err
		}
		if err := mount(from, to, "", unix.MS_BIND, ""); err != nil {
			return err
		}
	}
	return nil
}

// home returns the directory of a rootless engine's user, as seen from this process.
func (p *Engine) home() string { return filepath.Join(p.init.root(), rootlessHome) }

// daemon returns the process id of a rootless engine's dockerd on this machine.
func (p *Engine) daemon(dockerd string) (int, error) {
	want, err := os.Stat(dockerd)
	if err != nil {
		return 0, err
	}
	all, err := linuxnet.Descendants(p.Root())
	if err != nil {
		return 0, fmt.Errorf("find which dockerd runs: %w", err)
	}
	for _, pid := range all {
		if is, err := os.Stat(filepath.Join("/proc", strconv.Itoa(pid), "exe")); err == nil && os.SameFile(is, want) {
			return pid, nil
		}
	}
	return 0, fmt.Errorf("find which dockerd runs: no process of the engine is %s", dockerd)
}

// checkRootless finds the processes of a rootless engine, and returns an error unless it runs as an
// ordinary user.
func (p *Engine) checkRootless(dockerd string) (err error) {
	if p.daemonPID, err = p.daemon(dockerd); err != nil {
		return err
	}
	if p.Program, err = filepath.EvalSymlinks(dockerd); err != nil {
		return err
	}
	user, err := linuxnet.Owner(p.daemonPID)
	if err != nil {
		return err
	}
	if user != rootlessUser || !p.Versions.Rootless {
		return fmt.Errorf("the engine runs as user %d and reports rootless: %t; it should be rootless as user %d", user, p.Versions.Rootless, rootlessUser)
	}
	return nil
}

// RootlessNetwork opens the network namespace that RootlessKit has made for a rootless engine: its bridges are
// there, and the device of the network driver.
func (p *Engine) RootlessNetwork() (*linuxnet.NS, error) {
	return linuxnet.OpenNS("rootless-"+p.host, filepath.Join("/proc", strconv.Itoa(p.daemonPID), "root", rootlessState, "netns"))
}
