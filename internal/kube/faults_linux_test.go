package kube_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"tare/internal/agent"
	"tare/internal/kube"
	"tare/internal/testkit/kubetest"
	"tare/internal/testkit/must"
)

// checkCut checks what is said of an agent whose stream is closed on the way, and that another
// agent can be started in its pod.
func checkCut(t *testing.T, c *kubetest.Cluster, k *kube.Cluster, pod *kube.Pod, run string) {
	for name, cut := range map[string]func(){
		"proxy":   c.CutStreams,
		"kubelet": func() { c.Restart(t, kubetest.NodeB, kubetest.Kubelet) },
		"server":  func() { c.Restart(t, kubetest.Control, kubetest.APIServer) },
	} {
		a := must.Get(agent.Start(t.Context(), pod, run, "test"))(t)
		cut()
		c.Until(t, "the end of the agent", func() bool { return a.Err() != nil })
		says(t, name, a.Err(), "its exec stream ended", "node "+kubetest.NodeB)
		must.Do(t, a.Close())
		// A request waits for an API server that restarts, and a pod that still runs is used again.
		again := must.Get(k.Run(t.Context(), pod.PodSpec))(t)
		if again.Addresses[0] != pod.Addresses[0] {
			t.Errorf("%s: pod %s was replaced", name, pod.Name)
		}
		a = must.Get(agent.Start(t.Context(), pod, run, "test"))(t)
		must.Do(t, a.Close())
	}
}

// checkFallback checks that exec works through a proxy before the API server that refuses
// WebSockets, over SPDY.
func checkFallback(t *testing.T, c *kubetest.Cluster, pod *kube.Pod) {
	config := must.Get(clientcmd.BuildConfigFromFlags("", c.Admin))(t)
	config.NextProtos = []string{"http/1.1"} // only that can be upgraded
	through := must.Get(rest.TransportFor(config))(t)
	at := must.Get(url.Parse(config.Host))(t)
	proxy := httputil.NewSingleHostReverseProxy(at)
	proxy.Transport = through
	var refused, spdy atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch strings.ToLower(r.Header.Get("Upgrade")) {
		case "websocket":
			refused.Add(1)
			http.Error(w, "no WebSockets here", http.StatusBadRequest)
			return
		case "spdy/3.1":
			spdy.Add(1)
		}
		proxy.ServeHTTP(w, r)
	}))
	defer s.Close()
	path := filepath.Join(t.TempDir(), "proxied")
	text := "apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: '" + s.URL + "'}}]\ncontexts: [{name: proxied, context: {cluster: c, user: u}}]\nusers: [{name: u, user: {}}]\ncurrent-context: proxied\n"
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	k := must.Get(kube.Connect(t.Context(), kube.Options{Kubeconfig: path}))(t)
	over := must.Get(k.Run(t.Context(), pod.PodSpec))(t)
	conn := must.Get(over.Launch(t.Context(), echoCommand))(t)
	words := strings.Repeat("0123456789abcdef", 16<<10)
	go func() {
		if _, err := io.WriteString(conn, words+echoEnd); err != nil {
			t.Error(err)
		}
	}()
	got := must.Get(io.ReadAll(conn))(t)
	must.Equal(t, words, string(got))
	must.Do(t, conn.Close(t.Context()))
	must.EqualFor(t, "exit reason", "exit status 7: the end", conn.ExitReason())
	must.Equal(t, []int32{1, 1}, []int32{refused.Load(), spdy.Load()})
}

// revoke returns a check of what is said of a token that the API server has issued and no longer
// knows. The server keeps its opinion of a token for 10 s, which other tests use.
func revoke(t *testing.T, c *kubetest.Cluster, space string) func(*testing.T) {
	t.Helper()
	c.Kubectl(t, "", "create", "serviceaccount", "brief", "-n", space)
	token := strings.TrimSpace(c.Kubectl(t, "", "create", "token", "brief", "-n", space))
	admin := must.Get(os.ReadFile(c.Admin))(t)
	before, rest, found := strings.Cut(string(admin), "{token: ")
	_, after, _ := strings.Cut(rest, "}")
	if !found {
		t.Fatalf("no token in %s", admin)
	}
	path := filepath.Join(t.TempDir(), "brief")
	must.Do(t, os.WriteFile(path, []byte(before+"{token: "+token+"}"+after), 0o600))
	k, err := kube.Connect(t.Context(), kube.Options{Kubeconfig: path})
	must.Do(t, err)
	_, err = k.Nodes(t.Context(), "")
	says(t, "account without rights", err, `cannot list resource "nodes"`, kube.ErrForbidden.Error())
	c.Kubectl(t, "", "delete", "serviceaccount", "brief", "-n", space)
	return func(t *testing.T) {
		c.Until(t, "the end of the token", func() bool {
			_, err = k.Nodes(t.Context(), "")
			return !errors.Is(err, kube.ErrForbidden)
		})
		says(t, "revoked token", err, "list the nodes", kube.ErrUnauthorized.Error())
	}
}

// checkNoNames checks that the cluster has no name service, so that no test of it needs one.
func checkNoNames(t *testing.T, c *kubetest.Cluster) {
	if got := strings.Fields(c.Kubectl(t, "", "get", "services", "-A", "-o", "jsonpath={.items[*].metadata.name}")); len(got) != 1 || got[0] != "kubernetes" {
		t.Errorf("services %v", got)
	}
	if got := c.Kubectl(t, "", "get", "pods", "-n", "kube-system", "-o", "name"); strings.Contains(got, "pod/") {
		t.Errorf("pods of the system: %s", got)
	}
}

// checkNode checks what is said of a pod whose node is lost, and of another that shall run there.
func checkNode(t *testing.T, c *kubetest.Cluster, k *kube.Cluster, spec kube.PodSpec, run string) {
	pod := must.Get(k.Run(t.Context(), spec))(t)
	a, err := agent.Start(t.Context(), pod, run, "test")
	must.Do(t, err)
	c.Kill(t, kubetest.NodeB)
	// What the node's controller writes 50 s later.
	c.Kubectl(t, "", "patch", "node", kubetest.NodeB, "--subresource=status", "-p", `{"status": {"conditions": [{"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "message": "Kubelet stopped posting node status."}]}}`)
	c.Until(t, "the end of the agent", func() bool { return a.Err() != nil })
	must.Do(t, a.Close())
	// A busy API server may take longer than an explanation waits for.
	why := ""
	c.Until(t, "the reason", func() bool {
		why = pod.ExitReason(t.Context())
		return why != ""
	})
	says(t, "lost node", errors.New(why), "node node-b: it is not ready: Kubelet stopped posting node status", "choose others with --nodes")
	spec.Name += "-2"
	_, err = k.Run(t.Context(), spec)
	says(t, "pod for a lost node", err, "node node-b: it is not ready", "choose others with --nodes")
}
