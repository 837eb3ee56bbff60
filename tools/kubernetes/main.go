// Kubernetes is every component of a cluster in one program, each of which starts by the
// name that the program is called by: kube-apiserver, kube-controller-manager,
// kube-scheduler, kubelet, kube-proxy and kubectl. One program is linked once and takes a
// third of the space of six.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	kubectl "k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	manager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

func main() {
	components := map[string]func() *cobra.Command{
		"kube-apiserver":          apiserver.NewAPIServerCommand,
		"kube-controller-manager": manager.NewControllerManagerCommand,
		"kube-scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
		"kubelet":                 newKubelet,
		"kube-proxy":              proxy.NewProxyCommand,
	}
	name := filepath.Base(os.Args[0])
	if name == "kubectl" {
		if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
			util.CheckErr(err)
		}
		return
	}
	component, ok := components[name]
	if !ok {
		fmt.Fprintf(os.Stderr, "kubernetes: no component is called %q: call this program by the name of one\n", name)
		os.Exit(2)
	}
	os.Exit(cli.Run(component()))
}

// newKubelet calls the constructor of a kubelet, which takes a context or nothing, by version.
func newKubelet() *cobra.Command {
	switch construct := any(kubelet.NewKubeletCommand).(type) {
	case func() *cobra.Command:
		return construct()
	case func(context.Context) *cobra.Command:
		return construct(context.Background())
	default:
		panic(fmt.Sprintf("kubernetes: a kubelet is constructed by a %T", construct))
	}
}
