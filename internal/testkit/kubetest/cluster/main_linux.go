// Command cluster starts the two-node cluster of the tests and keeps it until it is interrupted, so
// that a contributor can use tare on it as a user does:
//
//	go run ./internal/testkit/kubetest/cluster -image tare.tar
//
// It prints what to set in a shell.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"tare/internal/testkit/kubetest"
)

func main() {
	kubetest.First()
	cni := flag.String("cni", string(kubetest.Flannel), "network of the pods: bridge, flannel, calico, kube-router or cilium")
	proxy := flag.String("proxy", "nftables", "mode of kube-proxy: nftables or iptables; with -cni cilium also cilium, without kube-proxy")
	more := flag.Bool("more", false, "with -cni bridge: IPv6, MetalLB, and Multus with the network "+kubetest.SecondNetwork)
	traefik := flag.Bool("traefik", false, "Traefik as controller of the IngressClass "+kubetest.IngressClass+" and the Gateway "+kubetest.Gateway)
	sidecars := flag.Bool("sidecars", false, "the namespace mesh, to whose pods a sidecar is added that intercepts TCP")
	image := flag.String("image", "", "archive that tare image save has written, which both nodes import")
	testing.Init()
	flag.Parse()
	for name, value := range map[string]string{"test.timeout": "0", "test.v": "true"} {
		if err := flag.Set(name, value); err != nil {
			panic(err) // both are flags of package testing
		}
	}
	// The cluster belongs to a test, which ends it whatever happens.
	cluster := func(t *testing.T) {
		end := make(chan os.Signal, 1)
		signal.Notify(end, os.Interrupt, syscall.SIGTERM)
		c := kubetest.Start(t, kubetest.Options{CNI: kubetest.CNI(*cni), Proxy: *proxy, IPv6: *more, Multus: *more})
		if *more {
			c.StartMetalLB(t)
			c.DefineNetwork(t)
		}
		if *traefik {
			c.StartTraefik(t)
		}
		if *sidecars {
			c.InjectSidecars(t, "mesh", kubetest.Injector{Intercepts: true})
		}
		if *image != "" {
			c.Import(t, *image)
		}
		fmt.Printf("export KUBECONFIG=%s\n", c.Admin)
		for _, args := range c.ImportCommands("FILE") {
			fmt.Println("# another image: " + strings.Join(args, " "))
		}
		fmt.Println("The cluster ends with Ctrl-C.")
		<-end
	}
	every := func(_, _ string) (bool, error) { return true, nil }
	testing.Main(every, []testing.InternalTest{{Name: "Cluster", F: cluster}}, nil, nil)
}
