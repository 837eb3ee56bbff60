package incus

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"tare/internal/agent"
	"tare/internal/driver"
	"tare/internal/driver/daemon"
	"tare/internal/engine/private"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/machine"
	"tare/internal/process"
	"tare/internal/program"
	"tare/internal/program/agentfile"
	"tare/internal/timelimit"
	"tare/internal/version"
)

// daemonProgram is the daemon, which packages keep out of PATH.
const daemonProgram = "incusd"

// oldest is the first long-term version.
const oldest = "6.0"

// tested is what the tests ran.
func tested() version.Tested { return version.Tested{Newest: "6.0.4"} }

// startTimeout limits how long the daemon may take to answer, and requestTimeout what it is then asked for. They take 1 s.
func startTimeout() time.Duration   { return timelimit.Scaled(30 * time.Second) }
func requestTimeout() time.Duration { return timelimit.Scaled(time.Minute) }

// installed is an installed Incus.
type installed struct{ daemon, version string }

// find finds Incus, and the program dnsmasq that it starts.
func find(ctx context.Context, mode string) (installed, error) {
	lacks := func(format string, args ...any) (installed, error) {
		return installed{}, &driver.Unsupported{Mode: mode, Reason: fmt.Sprintf(format, args...)}
	}
	if !linuxnet.RealRoot() {
		return lacks("Incus needs root of the machine itself, for the control groups and users of its containers")
	}
	install := "install Incus " + oldest + " or newer (Debian 13: apt-get install incus; for tests: scripts/setup-incus), tested with " + tested().String()
	var in installed
	var err error
	if in.daemon, err = daemon.Find(daemonProgram, "/usr/libexec/incus", "/opt/incus/bin"); err != nil {
		return lacks("Incus is not installed: %v; %s", err, install)
	}
	in.version, err = daemon.VersionLine(ctx, in.daemon, "--version", "")
	if ctx.Err() != nil {
		return installed{}, ctx.Err() // interrupted, which does not tell whether it can be used
	}
	if err != nil {
		return lacks("%v; %s", err, install)
	}
	if version.Older(in.version, oldest) {
		return lacks("%s is Incus %s; %s", in.daemon, in.version, install)
	}
	if _, err := daemon.Find("dnsmasq"); err != nil {
		return lacks("Incus needs dnsmasq: %v; install it (Debian: apt-get install dnsmasq-base)", err)
	}
	return in, nil
}

// stateDir is the directory of Incus below the private /run.
const stateDir = "incus"

// bridge is the bridge of Incus's default network, and table the table of its rules.
const (
	bridge = "incusbr0"
	table  = "inet incus"
)

// server is the private Incus of a host.
type server struct {
	*daemon.Process
	in    installed
	run   string
	image string // the fingerprint of that of the containers
}

// start starts a private Incus on a host of a lab, in control groups of its own: labs of a run, which differ by their labels, can
// be up at the same time. end ends and removes it; it is never nil.
func (in installed) start(ctx context.Context, l *lab.Lab, h *lab.Host) (s *server, end func() error, err error) {
	run := l.Spec.Claim.ID
	group := strings.Join([]string{run, "incus", strings.ReplaceAll(l.Spec.Label, "/", "."), h.Name}, "-")
	if err := private.MakeGroups(group); err != nil {
		return nil, func() error { return nil }, err
	}
	end = func() error { return private.RemoveClaimed(group) }
	d, err := daemon.Program{
		Name: "Incus of host " + h.Name, Run: run, Path: in.daemon, Args: []string{"--group", "root"}, Groups: group,
		// Profiles of AppArmor would be the machine's.
		Env:   []string{"INCUS_DIR=/run/" + stateDir, "INCUS_SECURITY_APPARMOR=false", "PATH=" + strings.Join(process.SearchPath(), ":")},
		Start: h.NS.Start,
	}.Launch()
	if err != nil {
		return nil, end, err
	}
	end = func() error { return errors.Join(d.Close(), private.RemoveClaimed(group)) }
	s = &server{Process: d, in: in, run: run}
	var of struct {
		Environment struct {
			Firewall string `json:"firewall"`
		} `json:"environment"`
	}
	err = d.WaitFor(ctx, startTimeout(), "answer", func() error { return s.call(ctx, http.MethodGet, "/1.0", nil, &of) })
	if err == nil && of.Environment.Firewall != "nftables" {
		err = fmt.Errorf("%s writes its rules with %.20q; its nft must be 0.9.1 or newer (Debian: apt-get install nftables)", s.Name, of.Environment.Firewall)
	}
	return s, end, err
}

// settings are values of a part of Incus, which are all strings.
type settings map[string]string

// network is one of Incus's networks, as its API has it.
type network struct {
	Name   string   `json:"name"`
	Type   string   `json:"type"`
	Config settings `json:"config"`
}

// setUp gives Incus its settings, networks and storage, with the image of the containers.
func (s *server) setUp(ctx context.Context, config settings, networks ...network) error {
	type part struct {
		method, path string
		body         any
	}
	parts := []part{
		{http.MethodPatch, "/1.0", map[string]any{"config": config}},
		{http.MethodPost, "/1.0/storage-pools", map[string]any{"name": "default", "driver": "dir"}},
		{http.MethodPut, "/1.0/profiles/default", map[string]any{"devices": map[string]settings{"root": {"type": "disk", "path": "/", "pool": "default"}}}},
	}
	for _, n := range networks {
		parts = append(parts, part{http.MethodPost, "/1.0/networks", n})
	}
	for _, to := range parts {
		if err := s.call(ctx, to.method, to.path, to.body, nil); err != nil {
			return err
		}
	}
	path := filepath.Join(s.RunDir(), "image.tar")
	if err := writeImage(path); err != nil {
		return fmt.Errorf("write the image for Incus: %w", err)
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	var made struct {
		Fingerprint string `json:"fingerprint"`
	}
	err = s.call(ctx, http.MethodPost, "/1.0/images", file, &made)
	s.image = made.Fingerprint
	return err
}

// writeImage writes an image with nothing but the agent's program, or this one.
func writeImage(path string) error {
	from, err := agentfile.Path()
	if err != nil {
		from = machine.Find(machine.System{OS: "linux", Arch: runtime.GOARCH}, "")
	}
	if _, err := program.Alone(from); err != nil {
		return err
	}
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	info, err := source.Stat()
	if err != nil {
		return err
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	t := tar.NewWriter(file)
	metadata := fmt.Sprintf("architecture: %s\ncreation_date: 1\nproperties: {description: tare}\n", map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH])
	errs := []error{t.WriteHeader(&tar.Header{Name: "metadata.yaml", Mode: 0o644, Size: int64(len(metadata))})}
	_, err = io.WriteString(t, metadata)
	errs = append(errs, err)
	for _, dir := range []string{"rootfs", "rootfs/dev", "rootfs/proc", "rootfs/sys", "rootfs/etc", "rootfs/run", "rootfs/tmp"} {
		errs = append(errs, t.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir, Mode: 0o755}))
	}
	errs = append(errs, t.WriteHeader(&tar.Header{Name: "rootfs/tare", Mode: 0o755, Size: info.Size()}))
	_, err = io.Copy(t, source)
	return errors.Join(append(errs, err, t.Close())...)
}

// launch starts a container with these devices, and opens its network namespace.
func (s *server) launch(ctx context.Context, name string, devices map[string]settings) (*linuxnet.NS, error) {
	command := "lxc.init.cmd = " + strings.Join(append([]string{"/tare"}, agent.PauseArguments(s.run, name)...), " ")
	at := "/1.0/instances"
	if err := s.call(ctx, http.MethodPost, at, map[string]any{
		"name": name, "type": "container", "source": settings{"type": "image", "fingerprint": s.image}, "config": settings{"raw.lxc": command}, "devices": devices,
	}, nil); err != nil {
		return nil, err
	}
	if err := s.call(ctx, http.MethodPut, at+"/"+name+"/state", map[string]any{"action": "start"}, nil); err != nil {
		return nil, err
	}
	var state struct {
		PID int `json:"pid"`
	}
	if err := s.call(ctx, http.MethodGet, at+"/"+name+"/state", nil, &state); err != nil {
		return nil, err
	}
	if state.PID <= 0 {
		if err := s.CheckRunning(); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("%s: the container %s has no process", s.Name, name)
	}
	// The id is of Incus's own PID namespace.
	return linuxnet.OpenNS(name, filepath.Join(filepath.Dir(s.RunDir()), "proc", strconv.Itoa(state.PID), "ns/net"))
}
