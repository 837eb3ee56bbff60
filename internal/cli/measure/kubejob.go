package measure

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tare/internal/cli/command"
	"tare/internal/cli/selection"
	"tare/internal/hosts"
	"tare/internal/kube"
	"tare/studies"
)

// K8s is the command for what is done with a cluster besides runs.
func (a commands) k8sCommand() *cobra.Command {
	var f selection.StudyFlags
	c := &cobra.Command{
		Use: "k8s manifest [STUDY]", Short: "Print a Kubernetes Job that runs a study within the cluster",
		Long: "Print a manifest with which a cluster runs a study by itself, for a cluster whose users may not exec into\n" +
			"pods: a Job with a service account, which has these rights and no others. The Job's pod controls the run\n" +
			"over the API server, as tare run --kube does. Its stdout has the table and the whole run, which\n" +
			"tare report - reads. No cluster is contacted, and nothing is created, until the manifest is applied.\n" +
			"Without --namespace, a namespace named tare is in the manifest.\n\n" +
			"  kubectl apply -f job.yaml\n" +
			"  kubectl logs -n tare -f --pod-running-timeout=2m job/tare | tare report -\n" +
			"  kubectl delete -f job.yaml",
		Example: "  tare k8s manifest --nodes worker-1,worker-2 >job.yaml",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 || args[0] != "manifest" {
				return command.Usage(errors.New("want tare k8s manifest [STUDY]"))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return a.manifest(c, args[1:], f) },
	}
	f.Register(c)
	return c
}

// manifest prints the manifest of a Job.
func (a commands) manifest(c *cobra.Command, args []string, f selection.StudyFlags) error {
	switch {
	case len(f.Hosts)+len(f.Engines) > 0:
		return command.Usage(errors.New("a Job runs on the cluster to which it is applied; leave out --host and --engine"))
	case f.OnKube.Inject:
		return command.Usage(errors.New("--inject needs a program that copies itself into pods, and a Job's pod has only its image; name an image with this program: --image"))
	}
	if f.Kube == "" {
		f.Kube = command.CurrentContext
		if err := c.Flags().Set("kube", command.CurrentContext); err != nil {
			return err
		}
	}
	_, s, err := f.Load(c, args, a.hosts)
	if err != nil {
		return err
	}
	t := s.Target()
	namespace := kube.JobName
	if t.Cluster != nil {
		namespace = cmp.Or(t.Cluster.Namespace, namespace)
	}
	run := []string{"run"}
	var file []byte
	if len(args) > 0 && !slices.Contains(studies.Names(), args[0]) {
		if file, err = selection.Source(args[0]); err != nil {
			return command.Usage(err)
		}
		args = []string{kube.StudyPath}
	}
	run = append(append(run, args...), "--kube", "--namespace="+namespace, "--out=/tmp/run", "--archive")
	c.Flags().Visit(func(flag *pflag.Flag) {
		if !slices.Contains([]string{"kube", "namespace", "context", "kubeconfig"}, flag.Name) {
			run = append(run, "--"+flag.Name+"="+valueOf(flag))
		}
	})
	text, err := hosts.KubeJob(t, s, file, run)
	if err != nil {
		return command.Environment(err)
	}
	_, err = a.Stdout.Write(text)
	return err
}

// valueOf returns the value of a flag as the command line takes it.
func valueOf(f *pflag.Flag) string {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		return strings.Join(list.GetSlice(), ",")
	}
	return f.Value.String()
}
