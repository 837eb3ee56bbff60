package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/spf13/cobra"

	"tare/internal/hosts"
	"tare/internal/kube"
	"tare/internal/lab"
	"tare/internal/runid"
	"tare/internal/study"
)

// kubeFlags choose a Kubernetes cluster, its nodes and what its pods run.
type kubeFlags struct {
	kube   string
	onKube study.Cluster
}

// currentContext is the value of --kube without one. No context can be called so in a kubeconfig
// that a shell writes.
const currentContext = " "

func (f *kubeFlags) register(c *cobra.Command) {
	addKube(c, &f.kube, "Kubernetes cluster of the modes k8s/...: --kube for the current context of your kubeconfig, --kube=CONTEXT for another")
	c.Flags().StringSliceVar((*[]string)(&f.onKube.Nodes), "nodes", nil, "with --kube: the client's node and the server's, separated by a comma; by default the first two on which pods can be scheduled")
	c.Flags().StringVar(&f.onKube.Selector, "node-selector", "", "with --kube: labels of the nodes among which two are chosen, such as pool=bench")
	c.Flags().StringVar(&f.onKube.Image, "image", "", "with --kube: image of the pods; by default that of this program, which tare image save writes")
	c.Flags().BoolVar(&f.onKube.Inject, "inject", false, "with --kube: copy this program into the pods, whose image needs no more than sh")
	c.Flags().IntVar(&f.onKube.Decoys, "decoy-services", 0, "with --kube: number of services without traffic that exist during the run")
	addNamespace(c, &f.onKube.Namespace, "with --kube: existing namespace in which all is created and removed again; by default tare creates namespaces")
	c.Flags().BoolVar(&f.onKube.NoHostNetwork, "no-hostnet", false, "with --kube: no pod on the host network, and no privileged namespace; the modes that need it are left out")
}

// addKube adds the flag that names a cluster by its context.
func addKube(c *cobra.Command, kube *string, usage string) {
	c.Flags().StringVar(kube, "kube", "", usage)
	c.Flags().Lookup("kube").NoOptDefVal = currentContext
}

// addNamespace adds the flag that names an existing namespace.
func addNamespace(c *cobra.Command, namespace *string, usage string) {
	c.Flags().StringVarP(namespace, "namespace", "n", "", usage)
}

// checkNamespace returns an error for a name that no namespace can have.
func checkNamespace(name string) error {
	if name != "" && !kube.IsNamespace(name) {
		return fmt.Errorf("--namespace is %q; the name of a namespace has lower-case letters, digits and dashes", name)
	}
	return nil
}

// parse returns the cluster by --kube.
func (f *kubeFlags) parse() (study.Target, error) {
	if f.kube == currentContext {
		return study.Target{Name: hosts.Kube}, nil
	}
	return study.Target{Name: hosts.Kube + ":" + f.kube}, nil
}

// cluster returns what the flags say of a cluster, nil without any.
func (f *kubeFlags) cluster() *study.Cluster {
	for _, field := range f.onKube.Fields() {
		if !field.Value.IsZero() {
			return &f.onKube
		}
	}
	return nil
}

// checkWith returns an error if the flags say something of a cluster that is not named, or name one
// beside the machines of --host.
func (f *kubeFlags) checkWith(h hostFlags) error {
	switch {
	case f.kube == "" && f.cluster() != nil:
		return errors.New("a flag for a cluster was given without one; name it with --kube")
	case f.kube != "" && len(h.hosts) > 0:
		return errors.New("--host names machines, --kube a cluster; leave out one of them")
	}
	return nil
}

// onCluster returns the program for the cluster of the flags, and that cluster.
func (a App) onCluster(f kubeFlags) (App, study.Target, error) {
	at, err := f.parse()
	at.Cluster = f.cluster()
	if err == nil {
		err = at.Check(a.Catalog())
	}
	if err != nil {
		return a, at, fmt.Errorf("--kube: %w", err)
	}
	return a.on(at, hosts.Options{}), at, nil
}

// contextHint adds to an error about arguments how a context is written, where the last argument
// may have been meant as one: --kube takes a value only after an equals sign.
func contextHint(c *cobra.Command, args []string, err error) error {
	f := c.Flags().Lookup("kube")
	if f == nil || f.Value.String() != currentContext || len(args) == 0 {
		return err
	}
	return fmt.Errorf("%w; if %s is a context of the kubeconfig, write --kube=%[2]s", err, args[len(args)-1])
}

// imageCommand is the command for the image of this program.
func (a App) imageCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "image save FILE",
		Short: "Write the container image of this program",
		Long: "Write an OCI archive of an image that has only this program, for the nodes of a cluster\n" +
			"without access to a registry. It prints the image's name, which is the default of --image.\n\n" +
			"  ctr -n k8s.io images import FILE       on a node with containerd\n" +
			"  kind load image-archive FILE           for a cluster of kind\n" +
			"  k3s ctr images import FILE             for k3s",
		Example: "  tare image save tare.tar",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 || args[0] != "save" {
				return usage(errors.New("want tare image save FILE"))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.saveImage(args[1]) },
	}
}

// saveImage writes the image's archive and prints its name.
func (a App) saveImage(path string) error {
	var name string
	err := writeFile(path, func(to io.Writer) (err error) {
		name, err = kube.SaveImage(to)
		return err
	})
	if err != nil {
		return environment(fmt.Errorf("save the image in %s: %w", path, err))
	}
	_, err = fmt.Fprintln(a.Stdout, name)
	return err
}

// clusterLeftovers finds what dead runs of this machine have left on the cluster of a context: their
// namespaces or, if one that is not theirs is given, what they have left in that one.
func clusterLeftovers(ctx context.Context, at, namespace string) ([]leftover, error) {
	if at == currentContext {
		at = ""
	}
	c, err := kube.Connect(ctx, kube.Options{Context: at})
	if err != nil {
		return nil, environment(err)
	}
	alive, err := lab.Alive()
	if err != nil {
		return nil, err
	}
	find := c.Leftovers
	if namespace != "" {
		find = func(ctx context.Context, alive runid.Claims) ([]kube.Leftover, error) {
			return c.LeftoversIn(ctx, namespace, alive)
		}
	}
	found, err := find(ctx, alive)
	if err != nil {
		return nil, environment(err)
	}
	var out []leftover
	for _, l := range found {
		out = append(out, leftover{l.Run, l.What, l.Owner, l.Remove, false})
	}
	return out, nil
}

// together returns the same leftovers, of which removing one removes all: a cluster takes seconds
// for each.
func together(all []leftover) []leftover {
	out, errs := slices.Clone(all), make([]error, len(all))
	var once sync.Once
	for i := range out {
		out[i].remove = func(ctx context.Context) error {
			once.Do(func() {
				var wg sync.WaitGroup
				for j, l := range all {
					wg.Go(func() { errs[j] = l.remove(ctx) })
				}
				wg.Wait()
			})
			return errs[i]
		}
	}
	return out
}
