package kube_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tare/internal/agent"
	"tare/internal/kube"
	"tare/internal/runid"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/kubetest"
	"tare/internal/testkit/must"
)

// TestCluster runs on one cluster: what a user's cluster answers, and how this program is started
// in its pods.
func TestCluster(t *testing.T) {
	c := kubetest.Start(t, kubetest.Options{})
	k := must.Get(kube.Connect(t.Context(), kube.Options{Kubeconfig: c.Admin}))(t)
	run := drivertest.Claim(t).ID
	space := kube.Name(run)
	must.Do(t, k.CreateNamespace(t.Context(), run, space, kube.Restricted))
	must.Do(t, k.AwaitAccount(t.Context(), space))
	spec := func(name string) kube.PodSpec {
		return kube.PodSpec{Run: run, Part: "test", Name: kube.Name(run, name), Namespace: space, Node: kubetest.NodeB}
	}
	pod := must.Get(k.Run(t.Context(), spec("first")))(t)
	checkRevoked := revoke(t, c, space)
	t.Run("injected", func(t *testing.T) { checkInjected(t, c, k, spec("sidecar")) })
	t.Run("facts", func(t *testing.T) { checkFacts(t, c, k) })
	t.Run("connect", func(t *testing.T) { checkConnect(t, c, k) })
	t.Run("exec", func(t *testing.T) { checkExec(t, pod, run) })
	t.Run("refused", func(t *testing.T) { checkRefused(t, c, k, spec) })
	t.Run("inject", func(t *testing.T) { checkInject(t, c, spec("inject")) })
	t.Run("rights", func(t *testing.T) { checkRights(t, c, k) })
	t.Run("fallback", func(t *testing.T) { checkFallback(t, c, pod) })
	t.Run("names", func(t *testing.T) { checkNoNames(t, c) })
	t.Run("cut", func(t *testing.T) { checkCut(t, c, k, pod, run) })
	t.Run("revoked", checkRevoked)
	t.Run("lost", func(t *testing.T) { checkLost(t, c, pod, run) })
	t.Run("node", func(t *testing.T) { checkNode(t, c, k, spec("alone"), run) })
	t.Run("leftovers", func(t *testing.T) { checkLeftovers(t, c, k, run) })
}

// says fails if an error is not one line with all the parts.
func says(t *testing.T, what string, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: no error", what)
		return
	}
	t.Logf("%s: %v", what, err)
	for _, p := range append(parts, "") {
		if !strings.Contains(err.Error(), p) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %q, want one line with %q", what, err, p)
		}
	}
}

// checkConnect checks which cluster is found, and what is said if there is none.
func checkConnect(t *testing.T, c *kubetest.Cluster, k *kube.Cluster) {
	if k.Context != "admin" || !strings.HasPrefix(k.Version, "v1.") || k.Image != c.Image {
		t.Errorf("context %s, version %s, image %s", k.Context, k.Version, k.Image)
	}
	connect := func(o kube.Options) error {
		_, err := kube.Connect(t.Context(), o)
		return err
	}
	none := filepath.Join(t.TempDir(), "none")
	t.Setenv("KUBECONFIG", none)
	says(t, "no kubeconfig", connect(kube.Options{}), "there is no kubeconfig", none)
	t.Setenv("KUBECONFIG", c.Admin)
	must.Do(t, connect(kube.Options{}))
	says(t, "another context", connect(kube.Options{Context: "else"}), `no context "else"`, "it has admin")
	change := func(name, from, to string) kube.Options {
		t.Helper()
		text, err := os.ReadFile(c.Admin)
		if err != nil || !strings.Contains(string(text), from) {
			t.Fatalf("%s: %v", text, err)
		}
		path := filepath.Join(t.TempDir(), name)
		must.Do(t, os.WriteFile(path, []byte(strings.Replace(string(text), from, to, 1)), 0o600))
		return kube.Options{Kubeconfig: path}
	}
	says(t, "no current context", connect(change("current", "current-context: admin", "current-context: ''")), "no current context", "admin")
	says(t, "expired token", connect(change("token", "token: ", "token: x")), kube.ErrUnauthorized.Error())
	says(t, "broken file", connect(change("broken", "apiVersion", "{")), "read the kubeconfig")
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	closed := l.Addr().String()
	l.Close()
	says(t, "no server", connect(change("server", "proxy-url: \"", "proxy-url: \"http://"+closed+"/#")), kube.ErrUnreachable.Error())
	says(t, "no plugin", connect(change("plugin", "user: {token: ", "user: {exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: /none}, as: ")), kube.ErrCredentials.Error())
	nodes, err := k.Nodes(t.Context(), "")
	if err != nil || len(nodes) != 2 || nodes[0].Name != kubetest.NodeA || !nodes[0].Ready || nodes[1].Address != c.Lab.B.Addr[0] {
		t.Errorf("nodes %+v, %v", nodes, err)
	}
	must.EqualFor(t, "selected nodes", 1, len(must.Get(k.Nodes(t.Context(), "kubernetes.io/hostname="+kubetest.NodeB))(t)))
}

// checkExec checks the stdio and the end of processes in a pod.
func checkExec(t *testing.T, pod *kube.Pod, run string) {
	// An agent runs until its stdin is closed.
	began := time.Now()
	a := must.Get(agent.Start(t.Context(), pod, run, "test"))(t)
	t.Logf("an agent took %d ms to start", time.Since(began).Milliseconds())
	must.Get(a.Read(t.Context()))(t)
	must.Do(t, a.Close())
	// What is written arrives whole, both ways; its exit status is known.
	conn := must.Get(pod.Launch(t.Context(), echoCommand))(t)
	text := strings.Repeat("0123456789abcdef", 64<<10)
	go func() {
		_, err := io.WriteString(conn, text)
		if err == nil {
			_, err = io.WriteString(conn, echoEnd)
		}
		if err != nil {
			t.Error(err)
		}
	}()
	got := must.Get(io.ReadAll(conn))(t)
	must.Equal(t, text, string(got))
	must.Do(t, conn.Close(t.Context()))
	must.EqualFor(t, "exit reason", "exit status 7: the end", conn.ExitReason())
	// One that does not end with its stdin is killed.
	conn = must.Get(pod.Launch(t.Context(), hangCommand))(t)
	must.Get(io.ReadFull(conn, make([]byte, 1)))(t)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	must.Do(t, conn.Close(ctx))
	must.EqualFor(t, "exit reason of a killed process", "killed by a signal", conn.ExitReason())
}

// checkRefused checks what is said of pods that the cluster does not start.
func checkRefused(t *testing.T, c *kubetest.Cluster, k *kube.Cluster, spec func(string) kube.PodSpec) {
	run := func(k *kube.Cluster, name string, change func(*kube.PodSpec)) error {
		t.Helper()
		s := spec(name)
		change(&s)
		p, err := k.Run(t.Context(), s)
		if p != nil {
			t.Errorf("%s: pod %s runs", name, p.Name)
		}
		return err
	}
	says(t, "host network", run(k, "host", func(s *kube.PodSpec) { s.HostNetwork = true }), "hostNetwork", kube.ErrPodSecurity.Error())
	says(t, "no node", run(k, "node", func(s *kube.PodSpec) { s.Node = "none" }), "not scheduled")
	other := must.Get(kube.Connect(t.Context(), kube.Options{Kubeconfig: c.Admin, Image: "localhost/none:1"}))(t)
	says(t, "no image", run(other, "image", func(*kube.PodSpec) {}), "localhost/none:1", kubetest.NodeB, "tare image save")
	stranger, err := kube.Connect(t.Context(), kube.Options{Kubeconfig: c.Stranger})
	must.Do(t, err)
	says(t, "no right", run(stranger, "right", func(*kube.PodSpec) {}), `cannot create resource "pods"`, kube.ErrForbidden.Error())
	_, err = stranger.Nodes(t.Context(), "")
	says(t, "no right to nodes", err, `cannot list resource "nodes"`, kube.ErrForbidden.Error())
	s := spec("quota")
	c.Kubectl(t, fmt.Sprintf(`{"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few", "namespace": %q}, "spec": {"hard": {"pods": "1"}}}`, s.Namespace), "apply", "-f", "-")
	defer c.Kubectl(t, "", "delete", "resourcequota", "few", "-n", s.Namespace)
	// A quota holds from when its controller has counted and the API server has seen that.
	dry := fmt.Sprintf(`{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "dry", "namespace": %q}, "spec": {"securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}}, "containers": [{"name": "a", "image": "a", "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}}}]}}`, s.Namespace)
	c.Until(t, "a quota that refuses pods", func() bool {
		out, err := c.TryKubectl(t, dry, "create", "--dry-run=server", "-f", "-")
		return err != nil && strings.Contains(out, "exceeded quota")
	})
	says(t, "quota", run(k, "quota", func(*kube.PodSpec) {}), "exceeded quota", kube.ErrQuota.Error())
	if left := c.Kubectl(t, "", "get", "pods", "-n", s.Namespace, "-o", "name"); strings.Count(left, "pod/") != 1 {
		t.Errorf("pods left: %s", left)
	}
}

// checkInject checks that this program runs in a pod of an image that has only a shell.
func checkInject(t *testing.T, c *kubetest.Cluster, spec kube.PodSpec) {
	k := must.Get(kube.Connect(t.Context(), kube.Options{Kubeconfig: c.Admin, Image: c.Shell, Inject: true}))(t)
	p := must.Get(k.Run(t.Context(), spec))(t)
	a := must.Get(agent.Start(t.Context(), p, spec.Run, "inject"))(t)
	must.Do(t, a.Close(), p.Remove(t.Context()))
}

// checkRights checks that the rights of a user are known.
func checkRights(t *testing.T, c *kubetest.Cluster, k *kube.Cluster) {
	all := kube.UnionOf(kube.RunRights(false, false), kube.ServiceRights(false), kube.NodePortRights(), kube.PolicyRights(true), kube.DecoyRights(true))
	denied, err := k.Denied(t.Context(), "", all)
	if err != nil || len(denied) > 0 {
		t.Errorf("an administrator lacks %v, %v", denied, err)
	}
	stranger := must.Get(kube.Connect(t.Context(), kube.Options{Kubeconfig: c.Stranger}))(t)
	denied, err = stranger.Denied(t.Context(), "", all)
	if err != nil || len(denied) != len(all) {
		t.Errorf("a stranger lacks only %v, %v", denied, err)
	}
	if user, err := stranger.User(t.Context()); user != "stranger" || err != nil {
		t.Errorf("the stranger is %q, %v", user, err)
	}
}

// checkLost checks what is said of an agent whose pod is deleted.
func checkLost(t *testing.T, c *kubetest.Cluster, pod *kube.Pod, run string) {
	a := must.Get(agent.Start(t.Context(), pod, run, "test"))(t)
	c.Kubectl(t, "", "delete", "pod", pod.Name, "-n", pod.Namespace, "--grace-period=0", "--force")
	c.Until(t, "the end of the agent", func() bool { return a.Err() != nil })
	says(t, "deleted pod", a.Err(), "was removed")
	must.Do(t, a.Close())
}

// checkLeftovers checks that what a dead run left is found and removed, and nothing else.
func checkLeftovers(t *testing.T, c *kubetest.Cluster, k *kube.Cluster, run string) {
	alive := func(ids ...string) (out runid.Claims) {
		for _, id := range ids {
			out = append(out, runid.Claim{Run: id, User: os.Getuid()})
		}
		return out
	}
	left, err := k.Leftovers(t.Context(), alive(run))
	if err != nil || len(left) > 0 {
		t.Errorf("of a live run: %v, %v", left, err)
	}
	if left, err = k.Leftovers(t.Context(), nil); err != nil || len(left) != 1 || left[0].Run != run {
		t.Fatalf("of a dead run: %v, %v", left, err)
	}
	began := time.Now()
	for range 2 {
		must.Do(t, left[0].Remove(t.Context()))
	}
	t.Logf("a namespace took %.1f s to be removed", time.Since(began).Seconds())
	if out := c.Kubectl(t, "", "get", "namespaces", "-l", kube.LabelRun, "-o", "name"); strings.TrimSpace(out) != "" {
		t.Errorf("left: %s", out)
	}
}
