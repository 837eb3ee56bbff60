package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"tare/bench/harness"
	"tare/bench/method"
	"tare/internal/agent"
	"tare/internal/kube"
	"tare/internal/runid"
	"tare/internal/store"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/kubetest"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
	"tare/internal/traffic"
)

func TestMain(m *testing.M) { kubetest.Main(m) }

// The bounds.
const (
	mostFirst    = 10 * time.Second
	mostTeardown = 6 * time.Second // of which the cluster waits 5 s before it removes a namespace
	mostRun      = 4 * time.Minute
	mostMemory   = 80 << 20
	mostControl  = 2000 // bytes/s of each pod
)

// quickRun is the study of the quick run. No trial is invalid, so that its length does not depend on what else the
// machine does; reno is allowed in pods whatever the nodes use.
const quickRun = `profile: quick
modes: [k8s/hostnet, k8s/pod, k8s/pod-local, k8s/service, k8s/nodeport, k8s/hairpin]
workloads: [{workload: tcp_stream, congestion_control: reno}, {workload: tcp_rr, congestion_control: reno}]
invalid: {steal: off, others: off, unsettled: off, most: off}
`

func BenchmarkKubernetes(b *testing.B) {
	o, c := cluster(b, kubetest.Options{CNI: kubetest.Flannel})
	control := controlTraffic(b, c)
	began := time.Now()
	run := must.Get(o.Run(b.Context(), quickRun, "--kube"))(b)
	first := run.Trials[0].Started.Sub(began)
	teardown := interrupted(b, o.Tare)
	harness.Title("A quick run of six paths and two workloads on a cluster of two nodes (%d trials)", len(run.Trials))
	harness.Columns("what", "value", "bound")
	fmt.Printf("| from tare run to the first trial, with %d modes | %.1f s | %.0f s |\n", len(run.Run.Modes), first.Seconds(), mostFirst.Seconds())
	fmt.Printf("| the run | %.0f s | %.0f s |\n", run.Wall.Seconds(), mostRun.Seconds())
	fmt.Printf("| from Ctrl-C in a trial to the end, with nothing left | %.1f s | %.0f s |\n", teardown.Seconds(), mostTeardown.Seconds())
	fmt.Printf("| memory of the controller | %.0f MB | %d MB |\n", float64(run.Memory.Controller)/(1<<20), mostMemory>>20)
	fmt.Printf("| memory of an agent | %.0f MB | none |\n", float64(run.Memory.Agent)/(1<<20))
	fmt.Printf("| control traffic of each pod during a trial | %.0f B/s | %d B/s |\n\n", control, mostControl)
	if first > mostFirst || run.Wall > mostRun || teardown > mostTeardown || run.Memory.Controller > mostMemory || control > mostControl {
		b.Error("a bound is exceeded")
	}
}

func BenchmarkAA(b *testing.B) {
	o, _ := cluster(b, kubetest.Options{CNI: kubetest.Flannel})
	must.Do(b, method.AA(b.Context(), o))
}

// options are those of bench.
func options(b *testing.B) harness.Options {
	b.Helper()
	options := os.Getenv(optionsVariable)
	if options == "" {
		testneed.Missing(b, testneed.Other, "set "+optionsVariable+", as bench -only kubernetes does")
	}
	var o harness.Options
	must.Do(b, json.Unmarshal([]byte(options), &o))
	return o
}

// cluster starts a cluster of the tests, as the one that runs find.
func cluster(b *testing.B, of kubetest.Options) (harness.Options, *kubetest.Cluster) {
	b.Helper()
	o := options(b)
	c := kubetest.Start(b, of)
	b.Setenv("KUBECONFIG", c.Admin)
	return o, c
}

// interrupted returns how long a run takes from SIGINT in a trial until its end.
func interrupted(b *testing.B, tare string) time.Duration {
	b.Helper()
	file, out := filepath.Join(b.TempDir(), "study.yaml"), filepath.Join(b.TempDir(), "run")
	must.Do(b, os.WriteFile(file, []byte(quickRun), 0o600))
	cmd := exec.CommandContext(b.Context(), tare, "run", file, "--kube", "--out", out)
	must.Do(b, cmd.Start())
	trial := func() bool {
		info, err := os.Stat(filepath.Join(out, store.TrialsFile))
		return err == nil && info.Size() > 0
	}
	for deadline := time.Now().Add(mostRun); !trial(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			b.Fatal("no trial ended")
		}
	}
	began := time.Now()
	must.Do(b, cmd.Process.Signal(syscall.SIGINT))
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 130 {
		b.Fatalf("the interrupted run: %v", err)
	}
	return time.Since(began)
}

// The part of a trial in which control traffic is read: its beginning and its end are left out.
const (
	trialLong = 12 * time.Second
	readAfter = time.Second
	readFor   = 10 * time.Second
)

// controlTraffic returns the bytes per second that the connections to the API server carry during
// a trial, both ways, for each of its two pods.
func controlTraffic(b *testing.B, c *kubetest.Cluster) float64 {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), mostRun)
	defer cancel()
	must := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	id, err := runid.New()
	must(err)
	defer id.Release()
	k, err := kube.Connect(ctx, kube.Options{})
	must(err)
	space := kube.Name(id.ID)
	must(k.CreateNamespace(ctx, id.ID, space, kube.Restricted))
	defer func() {
		if err := k.RemoveNamespaces(context.WithoutCancel(ctx), space); err != nil {
			b.Error(err)
		}
	}()
	must(k.AwaitAccount(ctx, space))
	agents, server := [2]*agent.Client{}, netip.Addr{}
	for i, node := range []string{kubetest.NodeA, kubetest.NodeB} {
		pod, err := k.Run(ctx, kube.PodSpec{Run: id.ID, Part: "bench", Name: kube.Name(id.ID, node), Namespace: space, Node: node})
		must(err)
		server = pod.Addresses[0]
		agents[i], err = agent.Start(ctx, pod, id.ID, node)
		must(err)
		defer func() {
			if err := agents[i].Close(); err != nil {
				b.Error(err)
			}
		}()
	}
	w := traffic.Params{
		Workload: study.Workload{Kind: "tcp_rr", Streams: 1, RequestSize: 1, ResponseSize: 1, SendBuffer: quantity.AutoBuffer(), ReceiveBuffer: quantity.AutoBuffer(), NoDelay: new(true), Congestion: "reno"},
		Token:    harness.Token, Warmup: 100 * time.Millisecond, Duration: trialLong, CPU: -1, Address: netip.AddrPortFrom(server, 7101).String(),
	}
	t, err := agent.Begin(ctx, agents[0], agents[1], w, w)
	must(err)
	ended := make(chan error, 1)
	go func() {
		_, _, err := t.Run(ctx)
		ended <- err
	}()
	time.Sleep(readAfter)
	before := c.Passed()
	time.Sleep(readFor)
	after := c.Passed()
	must(<-ended)
	return float64(after-before) / readFor.Seconds() / float64(len(agents))
}
