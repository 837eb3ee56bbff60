package kubetest

import (
	"fmt"
	"testing"
)

// ImportCommands returns the commands that import an archive of images on both nodes, to be run as
// root on this machine.
func (c *Cluster) ImportCommands(archive string) [][]string {
	var out [][]string
	for _, node := range []string{NodeA, NodeB} {
		out = append(out, []string{"nsenter", "--mount", fmt.Sprintf("--target=%d", c.inits[node].PID()),
			c.bin("ctr"), "--address=" + containerdSocket, "--namespace=k8s.io", "images", "import", archive})
	}
	return out
}

// Import imports an archive of images on both nodes.
func (c *Cluster) Import(t testing.TB, archive string) {
	t.Helper()
	for _, args := range c.ImportCommands(archive) {
		c.OnNode(t, c.Lab.A, args...)
	}
}
