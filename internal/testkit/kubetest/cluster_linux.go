package kubetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"tare/internal/engine/private"
	"tare/internal/kube"
	"tare/internal/lab"
	"tare/internal/process"
	"tare/internal/testkit/drivertest"
	"tare/internal/timelimit"
)

// Cluster is a running cluster.
type Cluster struct {
	Lab *lab.Lab // whose hosts are the nodes
	// Admin is a kubeconfig with all rights. It reaches the cluster through a proxy, so that
	// it works outside of the nodes.
	Admin string
	// Stranger is one of a user without any rights.
	Stranger string
	Image    string // of this test program, which both nodes have
	Shell    string // of an image with nothing but a shell, which both have, too

	addresses
	options  Options
	dir      string // of this cluster, removed with it
	programs string
	pki      *authority
	inits    map[string]*process.Process
	proxy    *connectProxy
	passed   *passed
}

// readyTimeout bounds how long a cluster may take to start. It takes 10 s on a quiet machine.
func readyTimeout() time.Duration { return timelimit.Scaled(3 * time.Minute) }

// Start starts a cluster that ends with the test. It skips the test if nothing is built.
func Start(t testing.TB, o Options) *Cluster {
	t.Helper()
	if o.CNI == "" {
		o.CNI = Bridge
	}
	if o.Proxy == "" {
		o.Proxy = "nftables"
	}
	c := &Cluster{options: o, programs: programs(t), inits: map[string]*process.Process{}}
	began := time.Now()
	c.Lab = drivertest.Lab(t, nil)
	c.addresses = addresses{c.Lab, o.IPv6}
	run := c.Lab.Spec.Claim.ID
	var err error
	if c.dir, err = lab.MkdirTemp(run, "kube"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.stop(t) })
	roots, err := private.Hierarchies()
	if err == nil {
		c.passed, err = passControllers(passedFile, roots)
	}
	if err != nil {
		t.Fatal(err)
	}
	c.network(t)
	c.pki = newAuthority(t, c.dir)
	c.images(t)
	c.control(t)
	for _, h := range []*lab.Host{c.Lab.A, c.Lab.B} {
		c.node(t, h)
	}
	c.await(t)
	t.Logf("a cluster (%s, kube-proxy %s) took %.1f s to start", o.CNI, o.Proxy, time.Since(began).Seconds())
	return c
}

// OnNode runs a program on the network of a node and returns its output.
func (c *Cluster) OnNode(t testing.TB, h *lab.Host, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	var out, words strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &words
	err := h.NS.Start(cmd)
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		t.Fatalf("%s: %v: %s", strings.Join(args, " "), err, words.String())
	}
	return out.String()
}

// network prepares the network of the nodes.
func (c *Cluster) network(t testing.TB) {
	t.Helper()
	for _, h := range []*lab.Host{c.Lab.A, c.Lab.B} {
		for _, s := range [][2]string{{"net/ipv4/ip_forward", "1"}, {"net/ipv4/conf/all/rp_filter", "0"}, {"net/bridge/bridge-nf-call-iptables", "1"}} {
			if err := h.NS.Sysctl(s[0], s[1]); err != nil {
				t.Fatal(err)
			}
		}
		// There is no default route, and a packet to a service's address needs a route before
		// its destination is translated.
		c.OnNode(t, h, "ip", "route", "add", c.services().String(), "dev", lab.Underlay)
		if c.options.CNI == Calico {
			// Pods have this gateway, for which a node answers only where it has a route to it.
			c.OnNode(t, h, "ip", "route", "add", "169.254.1.1/32", "dev", lab.Underlay)
		}
		if c.options.CNI == Bridge {
			other := c.Lab.A
			if h == other {
				other = c.Lab.B
			}
			c.OnNode(t, h, "ip", "route", "add", c.podsOf(other).String(), "via", other.Addr[0].String())
		}
		c.networkIPv6(t, h)
	}
}

// networkIPv6 prepares a node for IPv6, as network does for IPv4.
func (c *Cluster) networkIPv6(t testing.TB, h *lab.Host) {
	t.Helper()
	if !c.options.IPv6 {
		return
	}
	if !c.Lab.IPv6 || c.options.CNI != Bridge {
		t.Fatal("a cluster with IPv6 requires a kernel with IPv6 and the network bridge")
	}
	for _, s := range [][2]string{{"net/ipv6/conf/all/forwarding", "1"}, {"net/bridge/bridge-nf-call-ip6tables", "1"}} {
		if err := h.NS.Sysctl(s[0], s[1]); err != nil {
			t.Fatal(err)
		}
	}
	other := c.Lab.A
	if h == other {
		other = c.Lab.B
	}
	c.OnNode(t, h, "ip", "-6", "route", "add", c.services6().String(), "dev", lab.Underlay)
	c.OnNode(t, h, "ip", "-6", "route", "add", c.PodsIPv6(other).String(), "via", other.Addr[1].String())
}

// images writes what both nodes import: the images of this test program, of a shell, and of a
// pod's first process.
func (c *Cluster) images(t testing.TB) {
	t.Helper()
	own, err := os.Create(c.path("tare.tar"))
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	if c.Image, err = kube.SaveImage(own); err != nil {
		t.Fatal(err)
	}
	c.Shell = shellImage
	for _, i := range []struct{ file, name, program, at string }{{"pause.tar", pauseImage, "pause", "/pause"}, {"shell.tar", shellImage, "busybox", "/bin/sh"}} {
		file, err := os.Create(c.path(i.file))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if err := kube.WriteImage(file, i.name, arch(), c.bin(i.program), i.at); err != nil {
			t.Fatal(err)
		}
	}
}

// write writes a file of the cluster and returns its path.
func (c *Cluster) write(t testing.TB, name, text string) string {
	t.Helper()
	path := c.path(name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func (c *Cluster) path(name string) string { return filepath.Join(c.dir, name) }
func (c *Cluster) bin(name string) string  { return filepath.Join(c.programs, "bin", name) }

// claimed returns the name of a node's control group without its prefix, and of the mark by which tare gc removes it.
func (c *Cluster) claimed(name string) string { return c.Lab.Spec.Claim.ID + "-kube-" + name }

func (c *Cluster) cgroup(name string) string { return lab.Prefix + c.claimed(name) }

// boot starts the first process of a node, or of the control plane, on a host of the lab.
func (c *Cluster) boot(t testing.TB, h *lab.Host, name string, steps []step) {
	t.Helper()
	logs := c.path(name)
	if err := os.MkdirAll(logs, 0o700); err != nil {
		t.Fatal(err)
	}
	sysctls := map[string]string{
		"vm/overcommit_memory": "1", "vm/panic_on_oom": "0", "kernel/panic": "10", "kernel/panic_on_oops": "1",
		"kernel/keys/root_maxkeys": "1000000", "kernel/keys/root_maxbytes": "25000000",
	}
	if c.options.CNI == Cilium {
		maps.Copy(sysctls, ciliumSysctls())
	}
	spec, err := json.Marshal(initSpec{Hostname: name, Logs: logs, Sysctls: sysctls, Steps: steps})
	if err != nil {
		t.Fatal(err)
	}
	path := c.path(name + ".json")
	if err := os.WriteFile(path, spec, 0o600); err != nil {
		t.Fatal(err)
	}
	p := process.NewSelf(name, initCommand, path)
	p.Stdin = true
	p.Cmd.Env = []string{"PATH=" + strings.Join(process.SearchPath(filepath.Join(c.programs, "bin")), ":"), "HOME=/run", "LC_ALL=C"}
	p.Cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC}
	p.Cmd.WaitDelay = timelimit.Scaled(10 * time.Second)
	if err := p.Start(h.NS.Start); err != nil {
		t.Fatal(err)
	}
	c.inits[name] = p
}

// await waits until both nodes are ready and pods can be created.
func (c *Cluster) await(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), readyTimeout())
	defer cancel()
	for {
		err := c.ready(ctx)
		if err == nil {
			return
		}
		for name, p := range c.inits {
			select {
			case <-p.Done():
				t.Fatalf("%s has ended: %s", name, p.ExitReason())
			default:
			}
		}
		select {
		case <-ctx.Done():
			t.Fatalf("the cluster is not ready after %s: %v", readyTimeout(), err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (c *Cluster) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, timelimit.Scaled(5*time.Second))
	defer cancel()
	k, err := kube.Connect(ctx, kube.Options{Kubeconfig: c.Admin, Image: c.Image})
	if err != nil {
		return err
	}
	nodes, err := k.Nodes(ctx, "")
	if err != nil {
		return err
	}
	for _, n := range nodes {
		if n.Blocked != "" {
			return fmt.Errorf("node %s: %s", n.Name, n.Blocked)
		}
	}
	if len(nodes) != 2 {
		return fmt.Errorf("it has %d nodes", len(nodes))
	}
	return k.AwaitAccount(ctx, "default")
}

// Kubectl runs kubectl with all rights and returns its output.
func (c *Cluster) Kubectl(t testing.TB, stdin string, args ...string) string {
	t.Helper()
	out, err := c.TryKubectl(t, stdin, args...)
	if err != nil {
		t.Fatalf("kubectl %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return out
}

// TryKubectl is Kubectl for what may fail.
func (c *Cluster) TryKubectl(t testing.TB, stdin string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timelimit.Scaled(time.Minute))
	defer cancel()
	cmd := exec.CommandContext(ctx, c.bin("kubectl"), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Admin)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// conditionTimeout bounds how long a cluster may take for anything that is waited for.
func conditionTimeout() time.Duration { return timelimit.Scaled(3 * time.Minute) }

// Until waits until what the cluster is to bring about has come about.
func (c *Cluster) Until(t testing.TB, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(conditionTimeout()); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited %s in vain for %s", conditionTimeout(), what)
		}
	}
}

// Kill ends a node at once, as a loss of power does.
func (c *Cluster) Kill(t testing.TB, node string) {
	t.Helper()
	if err := c.inits[node].Kill(); err != nil {
		t.Fatal(err)
	}
}

// The programs of a cluster that Restart restarts: on Control, and on a node.
const (
	Control   = "control"
	APIServer = "apiserver"
	Kubelet   = "kubelet"
)

// Restart kills a program of a node, or of Control, as a crash does. It starts again at once.
func (c *Cluster) Restart(t testing.TB, on, program string) {
	t.Helper()
	if _, err := c.inits[on].Write([]byte(program + "\n")); err != nil {
		t.Fatal(err)
	}
}

// Passed returns how many bytes all connections to the API server from outside of the nodes have
// carried, both ways.
func (c *Cluster) Passed() int64 { return c.proxy.bytes.Load() }

// CutStreams closes all connections to the API server, as a load balancer before it does that
// is restarted.
func (c *Cluster) CutStreams() { c.proxy.cut() }

// stop ends the cluster and removes everything of it.
func (c *Cluster) stop(t testing.TB) {
	began := time.Now()
	var errs []error
	for name, p := range c.inits {
		p.CloseStdin()
		errs = append(errs, p.Kill())
		if t.Failed() {
			c.logEnds(t, name)
		}
	}
	for _, h := range []*lab.Host{c.Lab.A, c.Lab.B} {
		errs = append(errs, private.RemoveClaimed(c.claimed(h.Name)))
	}
	errs = append(errs, c.passed.restore(), os.RemoveAll(c.dir))
	if err := errors.Join(errs...); err != nil {
		t.Errorf("end the cluster: %v", err)
	}
	t.Logf("the cluster took %.1f s to end", time.Since(began).Seconds())
}

// logEnds logs the last lines of each program's log, after the last of its errors.
func (c *Cluster) logEnds(t testing.TB, name string) {
	logs, _ := filepath.Glob(filepath.Join(c.path(name), "*.log")) // the pattern is valid
	for _, path := range logs {
		text, err := os.ReadFile(path)
		if err != nil || len(text) == 0 {
			continue
		}
		const last, errorsOf = 1000, 10
		end := text[max(0, len(text)-last):]
		failed := errorLine.FindAll(text[:len(text)-len(end)], -1)
		failed = failed[max(0, len(failed)-errorsOf):]
		t.Logf("the end of %s/%s:\n%s\n[...]%s", name, filepath.Base(path), bytes.Join(failed, []byte("\n")), end)
	}
}

// errorLine is a line of a log that reports an error, or the end of the program.
var errorLine = regexp.MustCompile(`(?m)^([EF]\d{4} |.*level=(error|fatal)|.*"level":"(error|fatal)"|panic|fatal error|` + endOfProgram + `).*$`)
