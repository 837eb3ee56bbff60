package cli

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
)

// kubectlName is the file name of this program as a plugin of kubectl.
const kubectlName = "kubectl-tare"

// IsKubectlPlugin reports whether a program of this name was started as kubectl's plugin.
func IsKubectlPlugin(program string) bool {
	return strings.TrimSuffix(filepath.Base(program), ".exe") == kubectlName
}

// kubectl makes the program what kubectl calls: its commands are named kubectl tare, it accepts the
// flags by which kubectl chooses a cluster, and commands that can use a cluster use one.
func (a App) kubectl(root *cobra.Command) *cobra.Command {
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl tare"}
	var names []string
	for _, c := range root.Commands() {
		names = append(names, c.Name())
	}
	called := regexp.MustCompile(`\btare (` + strings.Join(names, "|") + `)\b`)
	for _, c := range append(root.Commands(), root) {
		c.Long, c.Example = called.ReplaceAllString(c.Long, "kubectl tare $1"), called.ReplaceAllString(c.Example, "kubectl tare $1")
	}
	var at, config string
	root.PersistentFlags().StringVar(&at, "context", "", "context of the kubeconfig, as --kube=CONTEXT")
	root.PersistentFlags().StringVar(&config, "kubeconfig", "", "kubeconfig file to use")
	before := root.PersistentPreRun
	root.PersistentPreRun = nil
	root.PersistentPreRunE = func(c *cobra.Command, args []string) error {
		before(c, args)
		if config != "" {
			if err := os.Setenv("KUBECONFIG", config); err != nil {
				return usage(err)
			}
		}
		return implyKube(c, at)
	}
	return root
}

// implyKube chooses the cluster of a context, or of the current one if that is empty, for a command
// that can use a cluster and was given no other hosts.
func implyKube(c *cobra.Command, at string) error {
	kube := c.Flags().Lookup("kube")
	if kube == nil {
		return nil
	}
	for _, other := range []string{"kube", "host", "engine", "resume"} {
		if f := c.Flags().Lookup(other); f != nil && f.Changed {
			if at != "" {
				return usage(errors.New("--context names a cluster, and --" + other + " says what to use already; leave out one of them"))
			}
			return nil
		}
	}
	if at == "" {
		at = currentContext
	}
	return c.Flags().Set("kube", at)
}
