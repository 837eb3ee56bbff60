package hosts

import (
	"cmp"
	"maps"
	"slices"

	"tare/internal/kube"
	"tare/internal/study"
)

// KubeJob returns a manifest with which a cluster runs a study by itself, with args of this program.
// file is the study, nil if args name a built-in one.
func KubeJob(t study.Target, s study.Study, file []byte, args []string) ([]byte, error) {
	o := kubeOptions(t)
	j := kube.JobSpec{Namespace: cmp.Or(o.Namespace, kube.JobName), Create: o.Namespace == "", Level: kube.Privileged, Image: o.Image, Args: args, Study: file, Nodes: o.Nodes}
	if o.NoHostNetwork {
		j.Level = kube.Restricted
	}
	if j.Image == "" {
		var err error
		if j.Image, err = kube.OwnImage(); err != nil {
			return nil, err
		}
	}
	o.Namespace = j.Namespace
	var modes, options []string
	for _, m := range s.Modes {
		modes = append(modes, m.Mode)
		options = append(options, slices.Collect(maps.Keys(m.Options))...)
	}
	j.Rights = o.Rights(modes, options...)
	return j.Manifest()
}
