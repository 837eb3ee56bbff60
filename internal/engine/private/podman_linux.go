package private

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/study"
)

// podmanUserFlag is the flag of Init that makes it start Podman, with the id of the user.
const podmanUserFlag = "--podman-user"

// podmanSettings is the directory below that of an engine that is its /etc/containers, and
// podmanLink the link to the directory of its programs.
const (
	podmanSettings = "containers"
	podmanLink     = "programs"
)

// podmanStarter returns a starter of Podman as the user of that id.
func podmanStarter(user uint32) starter {
	return func(dir string, command []string, files []*os.File) (*os.Process, error) {
		if err := podmanMounts(dir, int(user)); err != nil {
			return nil, err
		}
		attr := &os.ProcAttr{Files: files}
		if user != 0 {
			attr.Sys = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
		}
		return os.StartProcess(command[0], command, attr)
	}
}

// FindPodman returns the Podman of this machine, with its version, or what to install. backend is as
// in Podman, and needs are further programs that it must find; iptables among them stands for the program that
// netavark writes its rules with.
func FindPodman(ctx context.Context, backend string, needs ...string) (Podman, error) {
	c, err := DescribePodman(ctx)
	if err != nil {
		return c, err
	}
	c.Backend = backend
	if err := c.check(); err != nil {
		return c, err
	}
	c.Firewall = c.firewall(ctx)
	var missing, packages []string
	for _, program := range append([]string{"conmon"}, needs...) {
		if program == "iptables" && c.Firewall == study.FirewallNftables {
			program = "nft"
		}
		if _, err := c.lookup(program); err != nil {
			missing, packages = append(missing, program), append(packages, debianPackage(program))
		}
	}
	if len(missing) > 0 {
		return c, fmt.Errorf("Podman needs %s, which cannot be found; install it (Debian: apt-get install %s)", strings.Join(missing, ", "), strings.Join(packages, " "))
	}
	if _, err := c.runtime(); err != nil {
		return c, err
	}
	if !linuxnet.RealRoot() {
		return c, errors.New("Podman on a host of the lab needs root, also for starting it as an ordinary user; run tare as root")
	}
	return c, nil
}

// DescribePodman returns the Podman of this machine, with its version; that is empty if it does not
// report one.
func DescribePodman(ctx context.Context) (Podman, error) {
	c, err := locatePodman()
	if err != nil {
		return c, err
	}
	text, err := Installation{Dir: filepath.Dir(c.Path)}.ask(ctx, "podman", "--version")
	if err == nil {
		c.Version = versionIn(text)
	}
	return c, ctx.Err()
}

// firewall returns what netavark, or the plugins of the backend cni, are to write their rules with.
func (c Podman) firewall(ctx context.Context) string {
	path, err := c.lookup(BackendNetavark)
	if err != nil || c.Backend == BackendCNI {
		return study.FirewallIptables
	}
	text, err := output(ctx, path, "version")
	if err != nil {
		return study.FirewallIptables
	}
	return firewallOf([]byte(text))
}

// lookup finds a program in the directory of scripts/setup-podman, where Podman and its packages install
// helpers, or in PATH.
func (c Podman) lookup(program string) (string, error) {
	var dirs []string
	if c.Cache != "" {
		dirs = append(cacheHelpers(c.Cache), filepath.Join(c.Cache, "bin"))
	}
	for _, dir := range append(dirs, HelperDirectories()...) {
		if path := filepath.Join(dir, program); executable(path) {
			return path, nil
		}
	}
	return Packaged().lookup(program)
}

// HelperDirectories returns the directories in which Podman looks for its helpers, such as netavark, as its
// documentation lists them.
func HelperDirectories() []string {
	return []string{"/usr/local/libexec/podman", "/usr/local/lib/podman", "/usr/libexec/podman", "/usr/lib/podman"}
}

// cacheHelpers returns those of a directory of scripts/setup-podman.
func cacheHelpers(dir string) []string {
	return []string{filepath.Join(dir, "root/usr/lib/podman"), filepath.Join(dir, "root/usr/libexec/podman")}
}

// runtime returns the OCI runtime: crun, which is Podman's choice, or runc where crun refuses to
// run.
func (c Podman) runtime() (string, error) {
	order := []string{"crun", "runc"}
	if hybridGroups() {
		order = []string{"runc"}
	}
	for _, name := range order {
		if _, err := c.lookup(name); err == nil {
			return name, nil
		}
	}
	return "", fmt.Errorf("Podman needs %s on this machine, which cannot be found; install it (Debian: apt-get install %s)", strings.Join(order, " or "), order[len(order)-1])
}

// hybridGroups reports whether control groups of version 1 and, with controllers, of version 2 are
// mounted, which crun does not support.
func hybridGroups() bool {
	text, err := os.ReadFile("/sys/fs/cgroup/unified/cgroup.controllers")
	return err == nil && strings.TrimSpace(string(text)) != ""
}

// Start starts Podman's API on one host of a lab and waits until it answers, for at most half a
// minute and no longer than ctx. It runs until Close. On error nothing remains.
func (c Podman) Start(ctx context.Context, l *lab.Lab, h *lab.Host) (*Engine, PodmanInfo, error) {
	name := nameOf(l.Spec, h.Name)
	p := &Engine{kind: "Podman", groups: "libpod-", host: h.Name, dir: filepath.Join(privateBase, name), cgroup: lab.Prefix + name, Program: c.Path}
	info, err := p.startPodman(ctx, l, h, c)
	if err != nil {
		return nil, info, errors.Join(fmt.Errorf("start Podman on host %s of the lab %s: %w%s", h.Name, l.Spec.Label, err, testedPodman().Beyond("Podman", c.Version)), p.Close())
	}
	return p, info, nil
}

func (p *Engine) startPodman(ctx context.Context, l *lab.Lab, h *lab.Host, c Podman) (info PodmanInfo, err error) {
	if err := p.makeDir(); err != nil {
		return info, err
	}
	if err := c.writeSettings(p.dir, l, h); err != nil {
		return info, err
	}
	base, program := userDir(c.User), c.Path
	if c.Cache != "" {
		program = filepath.Join(podmanPrograms, "bin", "podman")
		if err := os.Symlink(c.Cache, filepath.Join(p.dir, podmanLink)); err != nil {
			return info, err
		}
	}
	const socket = "podman.sock"
	command := []string{
		program, "--log-level=error", "--root=" + filepath.Join(base, "data"), "--runroot=" + filepath.Join(base, "run"), "--tmpdir=" + filepath.Join(base, "libpod"),
		"--storage-driver=vfs", // it needs nothing of the kernel, and the image is one file
		"system", "service", "--time=0", "unix://" + filepath.Join(base, socket),
	}
	environment := []string{"PATH=" + Packaged().searchPath(), "HOME=" + base, "LC_ALL=C", "XDG_RUNTIME_DIR=" + base, "TMPDIR=" + base}
	if c.User != 0 {
		environment = append(environment, "USER=nobody")
	}
	if p.init, err = startInit(l.Spec.Claim.ID, p.dir, []string{podmanUserFlag, strconv.Itoa(c.User)}, environment, h.NS.Start, command); err != nil {
		return info, err
	}
	at := filepath.Join(p.init.root(), base, socket)
	if err := p.connect(at); err != nil {
		return info, err
	}
	if err := p.ready(ctx); err != nil {
		return info, err
	}
	if err := p.Identify(ctx); err != nil {
		return info, err
	}
	p.Versions.Engine, p.Versions.Released = "Podman "+c.Version, time.Time{}
	if info, err = podmanInfo(ctx, at); err != nil {
		return info, err
	}
	if info.Rootless != (c.User != 0) {
		return info, fmt.Errorf("it reports rootless %t, and was started as user %d", info.Rootless, c.User)
	}
	if c.Backend != "" && info.Backend != c.Backend {
		return info, fmt.Errorf("it reports the network backend %q, not %s", info.Backend, c.Backend)
	}
	if !info.Rootless {
		info.Firewall = c.Firewall
	}
	return info, nil
}

// CgroupParent returns the control group of all containers of the engine, for their specification.
// An ordinary user's containers have none of their own.
func (p *Engine) CgroupParent() string { return "/" + p.cgroup }

// userDir is the directory of all state of a user's Podman, on the tmpfs over /run.
func userDir(user int) string { return filepath.Join("/run/user", strconv.Itoa(user)) }

// writeSettings writes what is /etc/containers for the engine.
func (c Podman) writeSettings(dir string, l *lab.Lab, h *lab.Host) error {
	settings := filepath.Join(dir, podmanSettings)
	if err := os.MkdirAll(filepath.Join(settings, "networks"), 0o755); err != nil {
		return err
	}
	conf, err := c.settings(l, h)
	if err != nil {
		return err
	}
	network, err := json.Marshal(defaultNetwork(l, h))
	if err != nil {
		return err
	}
	for name, text := range map[string]string{
		"containers.conf": conf, "networks/podman.json": string(network),
		"policy.json": `{"default": [{"type": "insecureAcceptAnything"}]}`, // without it no image can be imported
	} {
		if err := os.WriteFile(filepath.Join(settings, name), []byte(text), 0o644); err != nil { //nolint:gosec // an ordinary user's Podman reads it
			return err
		}
	}
	return nil
}

// settings returns the content of containers.conf.
func (c Podman) settings(l *lab.Lab, h *lab.Host) (string, error) {
	runtime, err := c.runtime()
	if err != nil {
		return "", err
	}
	path, err := c.lookup(runtime)
	if err != nil {
		return "", err
	}
	helpers, plugins := HelperDirectories(), []string{"/usr/local/libexec/cni", "/usr/libexec/cni", "/usr/local/lib/cni", "/usr/lib/cni", "/opt/cni/bin"}
	conmon := ""
	if c.Cache != "" {
		// As the engine sees them.
		path = filepath.Join(podmanPrograms, "bin", runtime)
		conmon = fmt.Sprintf("conmon_path = [%q]\n", filepath.Join(podmanPrograms, "bin", "conmon"))
		helpers = append(cacheHelpers(podmanPrograms), helpers...)
		plugins = append([]string{filepath.Join(podmanPrograms, "root/usr/lib/cni")}, plugins...)
	}
	gateway, pool := addressesOf(l, h)
	var b strings.Builder
	fmt.Fprintf(&b, "[network]\ndefault_subnet = %q\ndefault_subnet_pools = [{\"base\" = %q, \"size\" = %d}]\n", gateway.Masked(), pool, lab.PoolBits)
	fmt.Fprintf(&b, "firewall_driver = %q\ncni_plugin_dirs = [%s]\n", c.Firewall, quoted(plugins))
	if c.Backend != "" {
		fmt.Fprintf(&b, "network_backend = %q\n", c.Backend)
	}
	if c.Backend == BackendCNI {
		fmt.Fprintf(&b, "network_config_dir = %q\n", filepath.Join(userDir(c.User), "networks"))
	}
	fmt.Fprintf(&b, "[engine]\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"file\"\nruntime = %q\nhelper_binaries_dir = [%s]\n%s", runtime, quoted(helpers), conmon)
	fmt.Fprintf(&b, "[engine.runtimes]\n%s = [%q]\n", runtime, path)
	return b.String(), nil
}

func quoted(words []string) string {
	var out []string
	for _, w := range words {
		out = append(out, strconv.Quote(w))
	}
	return strings.Join(out, ", ")
}

// defaultNetwork returns netavark's description of the default network, in the lab's addresses and
// with its MTU.
func defaultNetwork(l *lab.Lab, h *lab.Host) map[string]any {
	gateway, _ := addressesOf(l, h)
	return map[string]any{
		"name": "podman", "id": "2f259bab93aaaaa2542ba43ef33eb990d0999ee1b9924b557b7be53c0b7a1bb9", // Podman knows it by this id
		"driver": "bridge", "network_interface": "podman0", "created": "2022-01-01T00:00:00Z",
		"subnets":      []map[string]string{{"subnet": gateway.Masked().String(), "gateway": gateway.Addr().String()}},
		"ipv6_enabled": false, "internal": false, "dns_enabled": false,
		"ipam_options": map[string]string{"driver": "host-local"},
		"options":      map[string]string{"mtu": strconv.Itoa(l.Spec.MTU)},
	}
}

// podmanInfo asks Podman's own API, at a socket, what it uses.
func podmanInfo(ctx context.Context, socket string) (PodmanInfo, error) {
	var info PodmanInfo
	fail := func(err error) (PodmanInfo, error) {
		return info, fmt.Errorf("ask Podman about its networks: %w", err)
	}
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
	ask, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://podman/v4.0.0/libpod/info", nil)
	if err != nil {
		return fail(err)
	}
	client := http.Client{Transport: transport, Timeout: readyTimeout()}
	answer, err := client.Do(ask)
	if err != nil {
		return fail(err)
	}
	defer answer.Body.Close()
	const most = 1 << 20
	text, err := io.ReadAll(io.LimitReader(answer.Body, most))
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("it answers %s", answer.Status)
	}
	if err != nil {
		return fail(err)
	}
	if info, err = parsePodmanInfo(text); err != nil {
		return fail(err)
	}
	return info, nil
}

// podmanMounts sets up the file system of a Podman in this process's mount namespace: the machine's
// own, except for what has state or settings of other Podmans.
func podmanMounts(dir string, user int) error {
	if err := IsolateMounts(); err != nil {
		return err
	}
	// Podman has locks there.
	if err := mount("tmpfs", "/dev/shm", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777"); err != nil {
		return err
	}
	if link := filepath.Join(dir, podmanLink); linked(link) {
		if err := os.Mkdir(podmanPrograms, 0o755); err != nil {
			return err
		}
		if err := mount(link, podmanPrograms, "", unix.MS_BIND, ""); err != nil {
			return err
		}
	}
	// Without a layer, what is missing would be created on the machine itself.
	const settings = "/etc/containers"
	etc := Layer("/etc")
	if _, err := os.Stat(settings); err != nil {
		if etc != nil {
			return etc
		}
		if err := os.Mkdir(settings, 0o755); err != nil {
			return err
		}
	}
	if err := mount(filepath.Join(dir, podmanSettings), settings, "", unix.MS_BIND, ""); err != nil {
		return err
	}
	if user == 0 {
		// CNI plugins keep addresses in /var/lib/cni.
		if err := Layer("/var/lib"); err != nil {
			return err
		}
	}
	own := userDir(user)
	if err := os.MkdirAll(own, 0o755); err != nil {
		return err
	}
	return errors.Join(os.Chmod(own, 0o700), os.Chown(own, user, user))
}

func linked(path string) bool {
	_, err := os.Readlink(path)
	return err == nil
}
