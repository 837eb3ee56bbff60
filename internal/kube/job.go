package kube

import (
	"path"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tare/internal/kube/api"
)

// JobName is the name of the Job of a run, of its service account and, unless another is given, of
// its namespace.
const JobName = "tare"

// JobSpec describes a Job that controls a run from within the cluster.
type JobSpec struct {
	Namespace string // in which everything is
	// Create includes the namespace, at a level of Pod Security. Otherwise it must exist.
	Create bool
	Level  PodSecurity
	Image  string
	Args   []string // of this program
	Study  []byte   // a study file, which is StudyPath in the pod; nil for none
	Rights []Right
	Nodes  []string // that are measured: another one is preferred for the Job
}

// StudyPath is where the pod of a Job has its study file.
const StudyPath = "/study/study.yaml"

// Manifest returns the Job as YAML that kubectl apply reads, with its service account, roles and
// study.
func (j JobSpec) Manifest() ([]byte, error) {
	l := map[string]string{"app.kubernetes.io/name": JobName, "app.kubernetes.io/component": "benchmark"}
	meta := metav1.ObjectMeta{Name: JobName, Namespace: j.Namespace, Labels: l}
	var all []document
	add := func(comment string, v any) error {
		text, err := manifestOf(v)
		all = append(all, document{comment, text})
		return err
	}
	if j.Create {
		n := api.Namespace{TypeMeta: typeOf("v1", "Namespace"), ObjectMeta: metav1.ObjectMeta{Name: j.Namespace, Labels: levelLabels(l, j.Level)}}
		if err := add("", n); err != nil {
			return nil, err
		}
	}
	if err := add("The run's own account: the exec rights are its, and its user needs none.\n", api.ServiceAccount{TypeMeta: typeOf("v1", "ServiceAccount"), ObjectMeta: meta, AutomountServiceAccountToken: ptr(false)}); err != nil {
		return nil, err
	}
	given, err := roles(j.Rights, j.Namespace, Account{Namespace: j.Namespace, Name: JobName})
	if err != nil {
		return nil, err
	}
	all = append(all, given...)
	if j.Study != nil {
		if err := add("", api.ConfigMap{TypeMeta: typeOf("v1", "ConfigMap"), ObjectMeta: meta, Data: map[string]string{path.Base(StudyPath): string(j.Study)}}); err != nil {
			return nil, err
		}
	}
	job := api.Job{TypeMeta: typeOf("batch/v1", "Job"), ObjectMeta: meta, Spec: api.JobSpec{
		BackoffLimit: ptr(int32(0)), // a second run would be another run
		Template:     api.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: l}, Spec: j.pod()},
	}}
	if err := add("The results are on its stdout: kubectl logs.\n", job); err != nil {
		return nil, err
	}
	return join(all), nil
}

// levelLabels returns labels with those of a level of Pod Security.
func levelLabels(l map[string]string, level PodSecurity) map[string]string {
	out := map[string]string{}
	for name, value := range l {
		out[name] = value
	}
	for _, mode := range []string{"enforce", "warn", "audit"} {
		out["pod-security.kubernetes.io/"+mode] = string(level)
	}
	return out
}

// endTimeout is how long a Job that is deleted may take to remove what its run created.
const endTimeout = 60

// pod returns the pod of the Job. It meets the Pod Security level Restricted.
func (j JobSpec) pod() api.PodSpec {
	field := func(name, path string) api.EnvVar {
		return api.EnvVar{Name: name, ValueFrom: &api.EnvVarSource{FieldRef: &api.ObjectFieldSelector{FieldPath: path}}}
	}
	mounts := []api.VolumeMount{{Name: "tmp", MountPath: "/tmp"}}
	volumes := []api.Volume{{Name: "tmp", EmptyDir: &api.EmptyDirVolumeSource{}}}
	if j.Study != nil {
		mounts = append(mounts, api.VolumeMount{Name: "study", MountPath: path.Dir(StudyPath), ReadOnly: true})
		volumes = append(volumes, api.Volume{Name: "study", ConfigMap: &api.ConfigMapVolumeSource{Name: JobName}})
	}
	spec := api.PodSpec{
		ServiceAccountName: JobName, AutomountServiceAccountToken: ptr(true), EnableServiceLinks: ptr(false),
		RestartPolicy: api.RestartPolicyNever, TerminationGracePeriodSeconds: ptr(int64(endTimeout)), SecurityContext: restrictedPod(), Volumes: volumes,
		Containers: []api.Container{{
			Name: container, Image: j.Image, ImagePullPolicy: api.PullIfNotPresent, Command: []string{Program}, Args: j.Args, VolumeMounts: mounts, SecurityContext: restrictedContainer(),
			Env: []api.EnvVar{field(podVariable, "metadata.name"), field(podUIDVariable, "metadata.uid"), field(namespaceVariable, "metadata.namespace"), {Name: "HOME", Value: "/tmp"}},
		}},
	}
	if len(j.Nodes) > 0 {
		spec.Affinity = &api.Affinity{NodeAffinity: &api.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []api.PreferredSchedulingTerm{{
			Weight: 100, Preference: api.NodeSelectorTerm{MatchExpressions: []api.NodeSelectorRequirement{{Key: api.LabelHostname, Operator: api.NodeSelectorOpNotIn, Values: slices.Clone(j.Nodes)}}},
		}}}}
	}
	return spec
}

// restrictedPod and restrictedContainer are what the Pod Security level Restricted asks for.
func restrictedPod() *api.PodSecurityContext {
	return &api.PodSecurityContext{
		RunAsNonRoot: ptr(true), RunAsUser: ptr(int64(user)), RunAsGroup: ptr(int64(user)),
		SeccompProfile: &api.SeccompProfile{Type: api.SeccompProfileTypeRuntimeDefault},
	}
}

func restrictedContainer() *api.SecurityContext {
	return &api.SecurityContext{AllowPrivilegeEscalation: ptr(false), ReadOnlyRootFilesystem: ptr(true), Capabilities: &api.Capabilities{Drop: []string{"ALL"}}}
}
