package kubernetes

import (
	"encoding/csv"
	"fmt"
	"os"
	"strconv"
	"testing"

	"tare/internal/testkit/kubetest"
	"tare/internal/testkit/must"
)

// networksRun is the study of each cluster; reno is allowed in pods whatever the nodes use.
const networksRun = `profile: quick
modes: [k8s/hostnet, k8s/pod, k8s/service]
workloads:
  - {workload: tcp_stream, congestion_control: reno}
  - {workload: tcp_rr, congestion_control: reno}
  - {workload: tcp_crr, congestion_control: reno}
`

// BenchmarkNetworks measures each network once in each round, on a cluster that is made for it: a round is a block, and a cluster is what
// is set up again. The order turns from round to round. A run that fails leaves out its lines.
func BenchmarkNetworks(b *testing.B) {
	clusters := []struct {
		name string
		of   kubetest.Options
	}{
		{"bridge and routes", kubetest.Options{CNI: kubetest.Bridge}},
		{"flannel (VXLAN)", kubetest.Options{CNI: kubetest.Flannel}},
		{"Calico (VXLAN)", kubetest.Options{CNI: kubetest.Calico}},
		{"kube-router (BGP)", kubetest.Options{CNI: kubetest.KubeRouter}},
		{"Cilium (VXLAN)", kubetest.Options{CNI: kubetest.Cilium}},
		{"Cilium (VXLAN, no kube-proxy)", kubetest.Options{CNI: kubetest.Cilium, Proxy: kubetest.CiliumProxy}},
		{"Cilium (routes, no kube-proxy)", kubetest.Options{CNI: kubetest.Cilium, Proxy: kubetest.CiliumProxy, Native: true}},
	}
	measures := []struct{ mode, workload, metric string }{
		{"k8s/pod", "tcp_stream", "goodput"},
		{"k8s/pod", "tcp_rr", "transaction_rate"},
		{"k8s/pod", "tcp_crr", "connection_rate"},
		{"k8s/service", "tcp_rr", "transaction_rate"},
		{"k8s/service", "tcp_crr", "connection_rate"},
	}
	file := must.Get(os.Create(options(b).NetworksFile))(b)
	defer func() { must.Do(b, file.Close()) }()
	out := csv.NewWriter(file)
	must.Do(b, out.Write([]string{"mode", "block", "workload", "metric", "value", "unit", "better"}))
	for round := range options(b).Runs {
		for i := range clusters {
			c := clusters[(i+round)%len(clusters)]
			b.Run(fmt.Sprintf("%d/%s", round+1, c.name), func(b *testing.B) {
				o, _ := cluster(b, c.of)
				run := must.Get(o.Run(b.Context(), networksRun, "--kube"))(b)
				for _, m := range measures {
					cell := must.Get(run.Cell(m.mode, m.workload, m.metric))(b)
					if cell.Ratio == nil {
						b.Fatalf("%s of %s has no ratio: %s", m.metric, m.mode, cell.Unjudged)
					}
					must.Do(b, out.Write([]string{c.name, strconv.Itoa(round + 1), m.workload, m.mode + " to k8s/hostnet, " + m.metric, strconv.FormatFloat(*cell.Ratio, 'f', 4, 64), "ratio", "higher"}))
				}
				out.Flush()
			})
		}
	}
}
