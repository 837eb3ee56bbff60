package cli

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"tare/internal/cli/command"
)

// pluginName is the file name of this program as a plugin of the docker command.
const pluginName = "docker-tare"

// IsPlugin reports whether a program of this name was started as the docker command's
// plugin.
func IsPlugin(program string) bool {
	name := filepath.Base(program)
	return strings.TrimSuffix(name, ".exe") == pluginName
}

// metadata is what the docker command asks a plugin before it lists or runs it (its
// documentation calls it the plugin metadata).
type metadata struct {
	SchemaVersion    string
	Vendor           string
	Version          string
	ShortDescription string
}

// plugin puts the program below the name that the docker command calls it by: it is
// started as `docker-tare tare ARGUMENTS`, and once before that to tell what it is.
func (a App) plugin(tare *cobra.Command) *cobra.Command {
	docker := &cobra.Command{Use: "docker", SilenceErrors: true, SilenceUsage: true, TraverseChildren: true}
	engine := dockersFlags(docker)
	// The hook belongs to tare: of several, cobra runs only the nearest to the command.
	before := tare.PersistentPreRun
	tare.PersistentPreRunE = func(c *cobra.Command, args []string) error {
		before(c, args)
		return engine.apply()
	}
	docker.SetFlagErrorFunc(wrongFlag)
	docker.SetOut(a.Stdout)
	docker.SetErr(a.Stderr)
	docker.AddCommand(tare, &cobra.Command{
		Use: "docker-cli-plugin-metadata", Hidden: true,
		RunE: func(*cobra.Command, []string) error {
			return json.NewEncoder(command.Raw(a.Stdout)).Encode(metadata{
				SchemaVersion: "0.1.0", Vendor: "tare", Version: a.Build.Version, ShortDescription: tare.Short,
			})
		},
	})
	return docker
}

// dockerFlags are the docker command's own, which it hands on before the name of its plugin.
// They name the user's engine.
type dockerFlags struct {
	config, context, host     string
	logLevel                  string
	debug, tls, tlsVerify     bool
	caFile, certFile, keyFile string
}

func dockersFlags(docker *cobra.Command) *dockerFlags {
	var f dockerFlags
	set := docker.Flags()
	set.StringVar(&f.config, "config", "", "location of client config files")
	set.StringVarP(&f.context, "context", "c", "", "context of the engine to connect to")
	set.StringVarP(&f.host, "host", "H", "", "socket of the engine to connect to")
	set.StringVarP(&f.logLevel, "log-level", "l", "", "of the docker command; tare has none")
	set.BoolVarP(&f.debug, "debug", "D", false, "of the docker command; tare has none")
	set.BoolVar(&f.tls, "tls", false, "use TLS")
	set.BoolVar(&f.tlsVerify, "tlsverify", false, "use TLS and verify the remote")
	set.StringVar(&f.caFile, "tlscacert", "", "trust certs signed only by this CA")
	set.StringVar(&f.certFile, "tlscert", "", "path to TLS certificate file")
	set.StringVar(&f.keyFile, "tlskey", "", "path to TLS key file")
	return &f
}

// apply sets the environment that selects the engine.
func (f *dockerFlags) apply() error {
	if f.tls || f.tlsVerify || f.caFile != "" || f.certFile != "" || f.keyFile != "" {
		return command.Usage(errors.New("docker's --tls flags are not supported by this plugin: name the engine by a context (docker context create), which holds its certificates"))
	}
	var errs []error
	for name, value := range map[string]string{"DOCKER_CONFIG": f.config, "DOCKER_CONTEXT": f.context, "DOCKER_HOST": f.host} {
		if value != "" {
			errs = append(errs, os.Setenv(name, value))
		}
	}
	return errors.Join(errs...)
}

// kubectlName is the file name of this program as a plugin of kubectl.
const kubectlName = "kubectl-tare"

// IsKubectlPlugin reports whether a program of this name was started as kubectl's plugin.
func IsKubectlPlugin(program string) bool {
	return strings.TrimSuffix(filepath.Base(program), ".exe") == kubectlName
}

// asKubectls makes the program what kubectl calls: its commands are named kubectl tare, it accepts the
// flags by which kubectl chooses a cluster, and commands that can use a cluster use one.
func asKubectls(root *cobra.Command) *cobra.Command {
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
				return command.Usage(err)
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
				return command.Usage(errors.New("--context names a cluster, and --" + other + " says what to use already; leave out one of them"))
			}
			return nil
		}
	}
	if at == "" {
		at = command.CurrentContext
	}
	return c.Flags().Set("kube", at)
}
