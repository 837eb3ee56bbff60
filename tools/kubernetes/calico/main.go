// Calico is Calico's agent of a node, felix, and its CNI plugin in one program, each of which
// starts by the name that the program is called by: calico-felix, and calico. One program is
// linked once.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/projectcalico/calico/cni-plugin/pkg/plugin"
	"github.com/projectcalico/calico/felix/daemon"
)

func main() {
	switch name := filepath.Base(os.Args[0]); name {
	case "calico-felix":
		daemon.Run("", "v3.28", "", "") // configured by environment variables
	case "calico":
		plugin.Main("v3.28")
	default:
		fmt.Fprintf(os.Stderr, "calico: no program is called %q: call this by the name calico-felix or calico\n", name)
		os.Exit(2)
	}
}
