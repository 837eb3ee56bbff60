package api

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Pod is a pod.
type Pod struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              PodSpec   `json:"spec"`
	Status            PodStatus `json:"status"`
}

// PodList is a list of pods.
type PodList struct {
	Items []Pod `json:"items"`
}

// PodSpec is what a pod is to be.
type PodSpec struct {
	Volumes                       []Volume            `json:"volumes,omitempty"`
	InitContainers                []Container         `json:"initContainers,omitempty"`
	Containers                    []Container         `json:"containers"`
	EphemeralContainers           []Container         `json:"ephemeralContainers,omitempty"`
	RestartPolicy                 string              `json:"restartPolicy,omitempty"`
	TerminationGracePeriodSeconds *int64              `json:"terminationGracePeriodSeconds,omitempty"`
	ServiceAccountName            string              `json:"serviceAccountName,omitempty"`
	AutomountServiceAccountToken  *bool               `json:"automountServiceAccountToken,omitempty"`
	HostNetwork                   bool                `json:"hostNetwork,omitempty"`
	SecurityContext               *PodSecurityContext `json:"securityContext,omitempty"`
	Affinity                      *Affinity           `json:"affinity,omitempty"`
	RuntimeClassName              *string             `json:"runtimeClassName,omitempty"`
	EnableServiceLinks            *bool               `json:"enableServiceLinks,omitempty"`
}

// Volume is a volume of a pod: of one of the sources.
type Volume struct {
	Name      string                 `json:"name"`
	EmptyDir  *EmptyDirVolumeSource  `json:"emptyDir,omitempty"`
	ConfigMap *ConfigMapVolumeSource `json:"configMap,omitempty"`
}

// EmptyDirVolumeSource is a directory that lasts as long as its pod.
type EmptyDirVolumeSource struct{}

// ConfigMapVolumeSource is the texts of a ConfigMap as files.
type ConfigMapVolumeSource struct {
	Name string `json:"name,omitempty"`
}

// Container is a container of a pod.
type Container struct {
	Name            string               `json:"name"`
	Image           string               `json:"image,omitempty"`
	Command         []string             `json:"command,omitempty"`
	Args            []string             `json:"args,omitempty"`
	Env             []EnvVar             `json:"env,omitempty"`
	Resources       ResourceRequirements `json:"resources"`
	VolumeMounts    []VolumeMount        `json:"volumeMounts,omitempty"`
	ImagePullPolicy string               `json:"imagePullPolicy,omitempty"`
	SecurityContext *SecurityContext     `json:"securityContext,omitempty"`
}

// EnvVar is an environment variable, with a value or with a source of it.
type EnvVar struct {
	Name      string        `json:"name"`
	Value     string        `json:"value,omitempty"`
	ValueFrom *EnvVarSource `json:"valueFrom,omitempty"`
}

// EnvVarSource is where a variable has its value from.
type EnvVarSource struct {
	FieldRef *ObjectFieldSelector `json:"fieldRef,omitempty"`
}

// ObjectFieldSelector is a field of the pod, such as metadata.name.
type ObjectFieldSelector struct {
	FieldPath string `json:"fieldPath"`
}

// ResourceRequirements is what a container may use at most.
type ResourceRequirements struct {
	Limits ResourceList `json:"limits,omitempty"`
}

// VolumeMount is a volume in the file system of a container.
type VolumeMount struct {
	Name      string `json:"name"`
	ReadOnly  bool   `json:"readOnly,omitempty"`
	MountPath string `json:"mountPath"`
}

// PodSecurityContext is what all containers of a pod may do.
type PodSecurityContext struct {
	RunAsUser      *int64          `json:"runAsUser,omitempty"`
	RunAsGroup     *int64          `json:"runAsGroup,omitempty"`
	RunAsNonRoot   *bool           `json:"runAsNonRoot,omitempty"`
	SeccompProfile *SeccompProfile `json:"seccompProfile,omitempty"`
}

// SeccompProfile is a filter of system calls.
type SeccompProfile struct {
	Type string `json:"type"`
}

// SecurityContext is what a container may do.
type SecurityContext struct {
	Capabilities             *Capabilities `json:"capabilities,omitempty"`
	ReadOnlyRootFilesystem   *bool         `json:"readOnlyRootFilesystem,omitempty"`
	AllowPrivilegeEscalation *bool         `json:"allowPrivilegeEscalation,omitempty"`
}

// Capabilities are those that a container has not.
type Capabilities struct {
	Drop []string `json:"drop,omitempty"`
}

// Affinity is where a pod is to run.
type Affinity struct {
	NodeAffinity *NodeAffinity `json:"nodeAffinity,omitempty"`
}

// NodeAffinity is on which nodes a pod must run, and on which it had better.
type NodeAffinity struct {
	RequiredDuringSchedulingIgnoredDuringExecution  *NodeSelector             `json:"requiredDuringSchedulingIgnoredDuringExecution,omitempty"`
	PreferredDuringSchedulingIgnoredDuringExecution []PreferredSchedulingTerm `json:"preferredDuringSchedulingIgnoredDuringExecution,omitempty"`
}

// NodeSelector selects the nodes of any of its terms.
type NodeSelector struct {
	NodeSelectorTerms []NodeSelectorTerm `json:"nodeSelectorTerms"`
}

// PreferredSchedulingTerm prefers the nodes of a term, with a weight of 1 to 100.
type PreferredSchedulingTerm struct {
	Weight     int32            `json:"weight"`
	Preference NodeSelectorTerm `json:"preference"`
}

// NodeSelectorTerm selects the nodes that meet all requirements on labels and fields.
type NodeSelectorTerm struct {
	MatchExpressions []NodeSelectorRequirement `json:"matchExpressions,omitempty"`
	MatchFields      []NodeSelectorRequirement `json:"matchFields,omitempty"`
}

// NodeSelectorRequirement is that a label or field is, or is not, one of the values.
type NodeSelectorRequirement struct {
	Key      string   `json:"key"`
	Operator string   `json:"operator"`
	Values   []string `json:"values,omitempty"`
}

// PodStatus is what has become of a pod.
type PodStatus struct {
	Phase             string            `json:"phase,omitempty"`
	Conditions        []PodCondition    `json:"conditions,omitempty"`
	Message           string            `json:"message,omitempty"`
	Reason            string            `json:"reason,omitempty"`
	PodIPs            []PodIP           `json:"podIPs,omitempty"`
	ContainerStatuses []ContainerStatus `json:"containerStatuses,omitempty"`
}

// PodCondition is a state of a pod, such as whether it is scheduled.
type PodCondition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// PodIP is an address of a pod.
type PodIP struct {
	IP string `json:"ip"`
}

// ContainerStatus is what has become of a container.
type ContainerStatus struct {
	State ContainerState `json:"state"`
	Image string         `json:"image"`
}

// ContainerState is that a container waits, or has exited; neither while it runs.
type ContainerState struct {
	Waiting    *ContainerStateWaiting    `json:"waiting,omitempty"`
	Terminated *ContainerStateTerminated `json:"terminated,omitempty"`
}

// ContainerStateWaiting is why a container does not run yet.
type ContainerStateWaiting struct {
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// ContainerStateTerminated is how a container has exited.
type ContainerStateTerminated struct {
	ExitCode int32  `json:"exitCode"`
	Reason   string `json:"reason,omitempty"`
	Message  string `json:"message,omitempty"`
}
