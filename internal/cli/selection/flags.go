package selection

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tare/internal/cli/command"
	"tare/internal/hosts"
	"tare/internal/kube"
	"tare/internal/study"
)

// HostFlags choose two machines.
type HostFlags struct{ Hosts []string }

// Register adds the flag.
func (f *HostFlags) Register(c *cobra.Command) {
	c.Flags().StringArrayVar(&f.Hosts, "host", nil, "given twice: the two machines, the client's first: local, or ssh://[user@]name[:port] as your ssh reaches it;\n"+
		"add =ADDRESS to name the address at which the other one reaches it")
}

// parse returns the machines by the flags; no target without any.
func (f *HostFlags) parse() (study.Target, error) {
	var t study.Target
	switch len(f.Hosts) {
	case 0:
		return t, nil
	case 2:
	default:
		return t, fmt.Errorf("--host was given %s; give it twice, the client's machine first", times(len(f.Hosts)))
	}
	for _, given := range f.Hosts {
		h := study.Host{Machine: given}
		if at := strings.LastIndexByte(given, '='); at >= 0 {
			h.Machine, h.Address = given[:at], given[at+1:]
			if h.Address == "" {
				return t, fmt.Errorf("--host %s: no address follows the equals sign", given)
			}
		}
		if h.Machine == "" {
			return t, errors.New("--host names no machine; want local, or ssh://[user@]name[:port]")
		}
		t.Hosts = append(t.Hosts, h)
	}
	return t, nil
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// OnHosts returns the machines of the flags, or for this one if none are given.
// modes are those that the user named: the files that they name are trusted.
func (h Hosts) OnHosts(f HostFlags, modes []string) (_ Hosts, given bool, err error) {
	t, err := f.parse()
	if err == nil && len(t.Hosts) > 0 {
		if err = t.Check(h.Catalog()); err != nil {
			err = fmt.Errorf("--host: %w", err)
		}
	}
	if err != nil {
		return h, false, err
	}
	return h.On(t, hosts.Options{Modes: modes}), len(t.Hosts) > 0, nil
}

// KubeFlags choose a Kubernetes cluster, its nodes and what its pods run.
type KubeFlags struct {
	Kube   string
	OnKube study.Cluster
}

// Register adds the flags.
func (f *KubeFlags) Register(c *cobra.Command) {
	AddKube(c, &f.Kube, "Kubernetes cluster of the modes k8s/...: --kube for the current context of your kubeconfig, --kube=CONTEXT for another")
	c.Flags().StringSliceVar((*[]string)(&f.OnKube.Nodes), "nodes", nil, "with --kube: the client's node and the server's, separated by a comma; by default the first two on which pods can be scheduled")
	c.Flags().StringVar(&f.OnKube.Selector, "node-selector", "", "with --kube: labels of the nodes among which two are chosen, such as pool=bench")
	c.Flags().StringVar(&f.OnKube.Image, "image", "", "with --kube: image of the pods; by default that of this program, which tare image save writes")
	c.Flags().BoolVar(&f.OnKube.Inject, "inject", false, "with --kube: copy this program into the pods, whose image needs no more than sh")
	c.Flags().IntVar(&f.OnKube.Decoys, "decoy-services", 0, "with --kube: number of services without traffic that exist during the run")
	AddNamespace(c, &f.OnKube.Namespace, "with --kube: existing namespace in which all is created and removed again; by default tare creates namespaces")
	c.Flags().BoolVar(&f.OnKube.NoHostNetwork, "no-hostnet", false, "with --kube: no pod on the host network, and no privileged namespace; the modes that need it are left out")
}

// AddKube adds the flag that names a cluster by its context.
func AddKube(c *cobra.Command, kube *string, usage string) {
	c.Flags().StringVar(kube, "kube", "", usage)
	c.Flags().Lookup("kube").NoOptDefVal = command.CurrentContext
}

// AddNamespace adds the flag that names an existing namespace.
func AddNamespace(c *cobra.Command, namespace *string, usage string) {
	c.Flags().StringVarP(namespace, "namespace", "n", "", usage)
}

// CheckNamespace returns an error for a name that no namespace can have.
func CheckNamespace(name string) error {
	if name != "" && !kube.IsNamespace(name) {
		return fmt.Errorf("--namespace is %q; the name of a namespace has lower-case letters, digits and dashes", name)
	}
	return nil
}

// parse returns the cluster by --kube.
func (f *KubeFlags) parse() (study.Target, error) {
	if f.Kube == command.CurrentContext {
		return study.Target{Name: hosts.Kube}, nil
	}
	return study.Target{Name: hosts.Kube + ":" + f.Kube}, nil
}

// cluster returns what the flags say of a cluster, nil without any.
func (f *KubeFlags) cluster() *study.Cluster {
	for _, field := range f.OnKube.Fields() {
		if !field.Value.IsZero() {
			return &f.OnKube
		}
	}
	return nil
}

// CheckWith returns an error if the flags say something of a cluster that is not named, or name one
// beside the machines of --host.
func (f *KubeFlags) CheckWith(h HostFlags) error {
	switch {
	case f.Kube == "" && f.cluster() != nil:
		return errors.New("a flag for a cluster was given without one; name it with --kube")
	case f.Kube != "" && len(h.Hosts) > 0:
		return errors.New("--host names machines, --kube a cluster; leave out one of them")
	}
	return nil
}

// OnCluster returns the hosts of the cluster of the flags, and that cluster.
func (h Hosts) OnCluster(f KubeFlags) (Hosts, study.Target, error) {
	at, err := f.parse()
	at.Cluster = f.cluster()
	if err == nil {
		err = at.Check(h.Catalog())
	}
	if err != nil {
		return h, at, fmt.Errorf("--kube: %w", err)
	}
	return h.On(at, hosts.Options{}), at, nil
}

// engineFlags choose the engines that build the docker modes, or the machines of a run.
type engineFlags struct {
	HostFlags
	KubeFlags
	Engines []string
	Yes     bool
}

func (f *engineFlags) register(c *cobra.Command) {
	f.HostFlags.Register(c)
	f.KubeFlags.Register(c)
	c.Flags().StringArrayVar(&f.Engines, "engine", nil, "Docker Engine of the docker modes: lab (private ones), docker, docker:CONTEXT, unix://, tcp:// or ssh://;\n"+
		"given twice as ENGINE=ADDRESS: two existing engines, the client's first, with the address each is reached at")
	c.Flags().BoolVar(&f.Yes, "yes", false, "allow creating a Swarm on existing engines for the run, and leaving it again")
}

// Choice returns the target by the flags; empty without any.
func (f *engineFlags) Choice(cat study.Catalog) (study.Target, error) {
	flag := "--engine"
	parse := f.parse
	if len(f.Hosts) > 0 {
		flag, parse = "--host", f.HostFlags.parse
	}
	if len(f.Hosts) > 0 && len(f.Engines) > 0 {
		return study.Target{}, errors.New("--host and --engine both name the hosts of the run; leave out one of them")
	}
	if f.Kube != "" {
		if len(f.Hosts)+len(f.Engines) > 0 {
			return study.Target{}, errors.New("--kube names the hosts of the run, as --host and --engine do; leave out the others")
		}
		flag, parse = "--kube", f.KubeFlags.parse
	}
	e, err := parse()
	e.Cluster = f.cluster()
	if err == nil && e.Given() {
		if err = e.Check(cat); err != nil {
			err = fmt.Errorf("%s: %w", flag, err)
		}
	}
	return e, err
}

func (f *engineFlags) parse() (study.Target, error) {
	var none study.Target
	switch len(f.Engines) {
	case 0:
		return none, nil
	case 1:
		return study.Target{Name: f.Engines[0]}, nil
	case 2:
		var e study.Target
		for _, given := range f.Engines {
			at := strings.LastIndex(given, "=")
			if at <= 0 || at == len(given)-1 {
				return none, fmt.Errorf("--engine %s: of two engines each needs the address at which the other host reaches it: --engine %s=ADDRESS", given, strings.TrimSuffix(given, "="))
			}
			e.Hosts = append(e.Hosts, study.Host{Engine: given[:at], Address: given[at+1:]})
		}
		return e, nil
	}
	return none, fmt.Errorf("--engine was given %d times; give it once, or twice for two hosts", len(f.Engines))
}
