// Cilium is Cilium's agent of a node and its CNI plugin in one program, each of which starts by the name that the program is called by:
// cilium-agent, and cilium-cni. One program is linked once.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	agent "github.com/cilium/cilium/daemon/cmd"
	"github.com/cilium/cilium/pkg/hive"
	plugin "github.com/cilium/cilium/plugins/cilium-cni/cmd"
)

// The plugin enters network namespaces.
func init() { runtime.LockOSThread() }

func main() {
	switch name := filepath.Base(os.Args[0]); name {
	case "cilium-agent":
		agent.Execute(agent.NewAgentCmd(func() *hive.Hive { return hive.New(agent.Agent) }))
	case "cilium-cni":
		plugin.PluginMain()
	default:
		fmt.Fprintf(os.Stderr, "cilium: no program is called %q: call this by the name cilium-agent or cilium-cni\n", name)
		os.Exit(2)
	}
}
