package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tare/internal/kube"
	"tare/internal/kube/kubetest"
	"tare/internal/result"
)

// A run on a cluster that the kubeconfig names: all is measured and proven, the nodes are told, and
// nothing is left.
func TestKube(t *testing.T) {
	needRoot(t)
	c := kubetest.Start(t, kubetest.Options{})
	t.Setenv("KUBECONFIG", c.Admin)
	dir := studyIn(t, "blocks: 2\npilot: 0s\nsettle: 10ms\nmodes: [k8s/hostnet, k8s/pod, {mode: k8s/nodeport, id: port, options: {policy: Local}}]\ninvalid: {steal: off, others: off, unsettled: off}\n"+
		"workloads: [{workload: tcp_rr, congestion_control: reno, duration: 300ms}, {workload: tcp_stream, congestion_control: reno, duration: 300ms}, {workload: udp_stream, rate: 50Mbit/s, duration: 300ms}]\n")
	out := filepath.Join(dir, "run")
	began := time.Now()
	p := start(t, dir, "run", "study.yaml", "--out", out, "--kube", "--nodes", kubetest.NodeB+","+kubetest.NodeA)
	if code := p.wait(t); code != 0 {
		t.Fatalf("exit code %d\n%s", code, p.stderr.String())
	}
	ended := time.Since(began)
	run, trials := loaded(t, out)
	for _, m := range run.Modes {
		if m.Status != result.ModeMeasured || m.Proof == nil || !m.Proof.Holds {
			t.Errorf("%s is %s: %s, proof %+v", m.ID, m.Status, m.Reason, m.Proof)
		}
	}
	if len(run.Modes) != 3 || len(trials) < 9 {
		t.Fatalf("%d modes, %d trials", len(run.Modes), len(trials))
	}
	t.Logf("the first of %d trials began after %.1f s, and the run took %.1f s", len(trials), trials[0].Started.Sub(began).Seconds(), ended.Seconds())
	for _, tr := range trials {
		if tr.Status == result.TrialFailed {
			t.Errorf("%s %s is %s: %s", tr.Mode, tr.Workload, tr.Status, tr.Reason)
		}
	}
	nodes := map[string]string{}
	for _, h := range run.Hosts {
		for _, f := range h.Facts {
			if f.Name == "node" {
				nodes[h.Name] = f.Value
			}
		}
	}
	if nodes["a"] != kubetest.NodeB || nodes["b"] != kubetest.NodeA {
		t.Errorf("hosts are the nodes %v", nodes)
	}
	if left := c.Kubectl(t, "", "get", "namespaces", "-o", "name", "-l", kube.LabelRun); strings.TrimSpace(left) != "" {
		t.Errorf("left: %s", left)
	}
	// What a run left that was killed is removed.
	killed := start(t, dir, "run", "study.yaml", "--out", filepath.Join(dir, "killed"), "--kube")
	until(t, "a namespace of the second run", func() bool {
		return strings.Contains(c.Kubectl(t, "", "get", "namespaces", "-o", "name", "-l", kube.LabelRun), "tare-")
	})
	if err := killed.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	killed.wait(t)
	gc := start(t, dir, "gc", "--kube")
	if code := gc.wait(t); code != 0 || !strings.Contains(gc.stdout.String(), "removed namespace tare-") {
		t.Errorf("gc: exit code %d\n%s%s", code, gc.stdout.String(), gc.stderr.String())
	}
	if left := c.Kubectl(t, "", "get", "namespaces", "-o", "name", "-l", kube.LabelRun); strings.TrimSpace(left) != "" {
		t.Errorf("left after gc: %s", left)
	}
	// What cannot be reached is an error of the environment, in one line.
	p = start(t, dir, "run", "study.yaml", "--out", filepath.Join(dir, "none"), "--kube=none")
	if code, text := p.wait(t), p.stderr.String(); code != 3 || !strings.Contains(text, `no context "none"; it has admin`) {
		t.Errorf("another context: exit code %d\n%s", code, text)
	}
	// The image is that of the program, which is on the nodes.
	image := filepath.Join(dir, "tare.tar")
	p = start(t, dir, "image", "save", image)
	if code := p.wait(t); code != 0 || strings.TrimSpace(p.stdout.String()) != c.Image {
		t.Errorf("exit code %d, image %s, want %s\n%s", code, p.stdout.String(), c.Image, p.stderr.String())
	}
	if raw, err := os.ReadFile(image); err != nil || !bytes.Contains(raw, []byte(c.Image)) {
		t.Errorf("an image of %d bytes: %v", len(raw), err)
	}
}
