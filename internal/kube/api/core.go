// Package api has the objects of the Kubernetes API in JSON, with the fields that tare reads or writes and no others. The
// types of k8s.io/api have all, each with code for three encodings, and cost 5 MB. An object that is written back must
// not be read into these types: it would lose the rest.
package api

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Values of fields of core objects.
const (
	ConditionFalse                   = "False"
	ConditionTrue                    = "True"
	EventTypeWarning                 = "Warning"
	IPFamilyPolicyPreferDualStack    = "PreferDualStack"
	IPFamilyPolicySingleStack        = "SingleStack"
	LabelHostname                    = "kubernetes.io/hostname"
	LoadBalancerIPModeVIP            = "VIP"
	NodeInternalIP                   = "InternalIP"
	NodeReady                        = "Ready"
	NodeSelectorOpIn                 = "In"
	NodeSelectorOpNotIn              = "NotIn"
	PodFailed                        = "Failed"
	PodReasonUnschedulable           = "Unschedulable"
	PodRunning                       = "Running"
	PodScheduled                     = "PodScheduled"
	ProtocolTCP                      = "TCP"
	ProtocolUDP                      = "UDP"
	PullIfNotPresent                 = "IfNotPresent"
	ResourceCPU                      = "cpu"
	ResourceMemory                   = "memory"
	RestartPolicyNever               = "Never"
	SeccompProfileTypeRuntimeDefault = "RuntimeDefault"
	ServiceExternalTrafficLocal      = "Local"
	ServiceTypeClusterIP             = "ClusterIP"
	ServiceTypeLoadBalancer          = "LoadBalancer"
	ServiceTypeNodePort              = "NodePort"
	TaintEffectNoExecute             = "NoExecute"
	TaintEffectNoSchedule            = "NoSchedule"
)

// Namespace is a namespace; its specification and status are the cluster's.
type Namespace struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct{} `json:"spec"`
}

// NamespaceList is a list of namespaces.
type NamespaceList struct {
	Items []Namespace `json:"items"`
}

// ServiceAccount is an account of pods.
type ServiceAccount struct {
	metav1.TypeMeta              `json:",inline"`
	metav1.ObjectMeta            `json:"metadata"`
	AutomountServiceAccountToken *bool `json:"automountServiceAccountToken,omitempty"`
}

// ConfigMap has texts by name.
type ConfigMap struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Data              map[string]string `json:"data,omitempty"`
}

// Event is what a component reported about an object.
type Event struct {
	metav1.ObjectMeta `json:"metadata"`
	Reason            string      `json:"reason,omitempty"`
	Message           string      `json:"message,omitempty"`
	Source            EventSource `json:"source"`
	LastTimestamp     metav1.Time `json:"lastTimestamp"`
	Type              string      `json:"type,omitempty"`
}

// EventSource is what has reported an event.
type EventSource struct {
	Component string `json:"component,omitempty"`
}

// EventList is a list of events.
type EventList struct {
	Items []Event `json:"items"`
}

// Node is a machine of the cluster.
type Node struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              NodeSpec   `json:"spec"`
	Status            NodeStatus `json:"status"`
}

// NodeList is a page of nodes.
type NodeList struct {
	metav1.ListMeta `json:"metadata"`
	Items           []Node `json:"items"`
}

// NodeSpec is what was decided about a node.
type NodeSpec struct {
	PodCIDRs      []string `json:"podCIDRs,omitempty"`
	Unschedulable bool     `json:"unschedulable,omitempty"`
	Taints        []Taint  `json:"taints,omitempty"`
}

// Taint keeps pods away from a node.
type Taint struct {
	Key    string `json:"key"`
	Value  string `json:"value,omitempty"`
	Effect string `json:"effect"`
}

// String returns KEY=VALUE:EFFECT, or KEY:EFFECT without a value, as kubectl does.
func (t Taint) String() string {
	if t.Value == "" {
		return t.Key + ":" + t.Effect
	}
	return t.Key + "=" + t.Value + ":" + t.Effect
}

// NodeStatus is what a node reports.
type NodeStatus struct {
	Capacity   ResourceList    `json:"capacity,omitempty"`
	Conditions []NodeCondition `json:"conditions,omitempty"`
	Addresses  []NodeAddress   `json:"addresses,omitempty"`
	NodeInfo   NodeSystemInfo  `json:"nodeInfo"`
}

// NodeCondition is a state of a node, such as whether it is ready.
type NodeCondition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Message string `json:"message,omitempty"`
}

// NodeAddress is an address of a node, of a type such as InternalIP.
type NodeAddress struct {
	Type    string `json:"type"`
	Address string `json:"address"`
}

// NodeSystemInfo is the versions of a node's programs.
type NodeSystemInfo struct {
	KernelVersion           string `json:"kernelVersion"`
	OSImage                 string `json:"osImage"`
	ContainerRuntimeVersion string `json:"containerRuntimeVersion"`
	KubeletVersion          string `json:"kubeletVersion"`
	Architecture            string `json:"architecture"`
}

// ResourceList has quantities by the name of the resource, such as cpu.
type ResourceList map[string]resource.Quantity

// Text returns a quantity as kubectl shows it, 0 if the list lacks it.
func (l ResourceList) Text(name string) string {
	q := l[name]
	return q.String()
}

// Service is a service.
type Service struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              ServiceSpec   `json:"spec"`
	Status            ServiceStatus `json:"status"`
}

// ServiceSpec is what a service is to be.
type ServiceSpec struct {
	Ports                 []ServicePort     `json:"ports,omitempty"`
	Selector              map[string]string `json:"selector,omitempty"`
	ClusterIPs            []string          `json:"clusterIPs,omitempty"`
	Type                  string            `json:"type,omitempty"`
	ExternalTrafficPolicy string            `json:"externalTrafficPolicy,omitempty"`
	IPFamilyPolicy        *string           `json:"ipFamilyPolicy,omitempty"`
	LoadBalancerClass     *string           `json:"loadBalancerClass,omitempty"`
}

// ServicePort is a port of a service.
type ServicePort struct {
	Name        string             `json:"name,omitempty"`
	Protocol    string             `json:"protocol,omitempty"`
	AppProtocol *string            `json:"appProtocol,omitempty"`
	Port        int32              `json:"port"`
	TargetPort  intstr.IntOrString `json:"targetPort"`
	NodePort    int32              `json:"nodePort,omitempty"`
}

// ServiceStatus is what the cluster made of a service.
type ServiceStatus struct {
	LoadBalancer LoadBalancerStatus `json:"loadBalancer"`
}

// LoadBalancerStatus is the external addresses of a service.
type LoadBalancerStatus struct {
	Ingress []LoadBalancerIngress `json:"ingress,omitempty"`
}

// LoadBalancerIngress is an external address of a service, or its name.
type LoadBalancerIngress struct {
	IP       string  `json:"ip,omitempty"`
	Hostname string  `json:"hostname,omitempty"`
	IPMode   *string `json:"ipMode,omitempty"`
}
