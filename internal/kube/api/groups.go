package api

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Values of fields of the other groups.
const (
	AddressTypeIPv4    = "IPv4"
	LabelServiceName   = "kubernetes.io/service-name"
	PolicyTypeEgress   = "Egress"
	PolicyTypeIngress  = "Ingress"
	RoleGroup          = "rbac.authorization.k8s.io"
	RoleVersion        = "rbac.authorization.k8s.io/v1"
	ServiceAccountKind = "ServiceAccount"
	UserKind           = "User"
)

// Job is a pod that runs once, of the group batch.
type Job struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              JobSpec `json:"spec"`
}

// JobSpec is how often the pod is tried again, and the pod.
type JobSpec struct {
	BackoffLimit *int32          `json:"backoffLimit,omitempty"`
	Template     PodTemplateSpec `json:"template"`
}

// PodTemplateSpec is a pod that is to be created.
type PodTemplateSpec struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              PodSpec `json:"spec"`
}

// EndpointSlice is endpoints of a service, of the group discovery.k8s.io.
type EndpointSlice struct {
	metav1.ObjectMeta `json:"metadata"`
	AddressType       string         `json:"addressType"`
	Endpoints         []Endpoint     `json:"endpoints"`
	Ports             []EndpointPort `json:"ports"`
}

// EndpointSliceList is a list of slices.
type EndpointSliceList struct {
	Items []EndpointSlice `json:"items"`
}

// Endpoint is an endpoint of a service.
type Endpoint struct {
	Addresses  []string           `json:"addresses"`
	Conditions EndpointConditions `json:"conditions"`
}

// EndpointConditions is whether an endpoint is ready; nil means yes.
type EndpointConditions struct {
	Ready *bool `json:"ready,omitempty"`
}

// EndpointPort is a port of all endpoints of a slice.
type EndpointPort struct {
	Name     *string `json:"name,omitempty"`
	Protocol *string `json:"protocol,omitempty"`
	Port     *int32  `json:"port,omitempty"`
}

// NetworkPolicy is which traffic the selected pods may have, of the group networking.k8s.io.
type NetworkPolicy struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              NetworkPolicySpec `json:"spec"`
}

// NetworkPolicyList is a list of policies.
type NetworkPolicyList struct {
	Items []NetworkPolicy `json:"items"`
}

// NetworkPolicySpec is the pods, and what they may receive and send.
type NetworkPolicySpec struct {
	PodSelector metav1.LabelSelector       `json:"podSelector"`
	Ingress     []NetworkPolicyIngressRule `json:"ingress,omitempty"`
	Egress      []NetworkPolicyEgressRule  `json:"egress,omitempty"`
	PolicyTypes []string                   `json:"policyTypes,omitempty"`
}

// NetworkPolicyIngressRule is from where, and to which ports, pods may receive; empty means all.
type NetworkPolicyIngressRule struct {
	Ports []NetworkPolicyPort `json:"ports,omitempty"`
	From  []NetworkPolicyPeer `json:"from,omitempty"`
}

// NetworkPolicyEgressRule is whereto, and to which ports, pods may send; empty means all.
type NetworkPolicyEgressRule struct {
	Ports []struct{}          `json:"ports,omitempty"`
	To    []NetworkPolicyPeer `json:"to,omitempty"`
}

// NetworkPolicyPort is a port over TCP.
type NetworkPolicyPort struct {
	Port *intstr.IntOrString `json:"port,omitempty"`
}

// NetworkPolicyPeer is whom a rule allows.
type NetworkPolicyPeer struct {
	IPBlock *IPBlock `json:"ipBlock,omitempty"`
}

// IPBlock is a prefix of addresses.
type IPBlock struct {
	CIDR string `json:"cidr"`
}

// Role is rights in a namespace, or on the whole cluster, of the group rbac.authorization.k8s.io.
type Role struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Rules             []PolicyRule `json:"rules"`
}

// PolicyRule allows verbs on resources.
type PolicyRule struct {
	Verbs     []string `json:"verbs"`
	APIGroups []string `json:"apiGroups,omitempty"`
	Resources []string `json:"resources,omitempty"`
}

// RoleBinding gives a role to subjects, in a namespace or on the whole cluster.
type RoleBinding struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Subjects          []Subject `json:"subjects,omitempty"`
	RoleRef           RoleRef   `json:"roleRef"`
}

// Subject is a user or a service account.
type Subject struct {
	Kind      string `json:"kind"`
	APIGroup  string `json:"apiGroup,omitempty"`
	Name      string `json:"name"`
	Namespace string `json:"namespace,omitempty"`
}

// RoleRef names a role.
type RoleRef struct {
	APIGroup string `json:"apiGroup"`
	Kind     string `json:"kind"`
	Name     string `json:"name"`
}

// SelfSubjectAccessReview asks whether the user may do something, of the group authorization.k8s.io.
type SelfSubjectAccessReview struct {
	Spec   SelfSubjectAccessReviewSpec `json:"spec"`
	Status SubjectAccessReviewStatus   `json:"status"`
}

// SelfSubjectAccessReviewSpec is what is asked.
type SelfSubjectAccessReviewSpec struct {
	ResourceAttributes *ResourceAttributes `json:"resourceAttributes,omitempty"`
}

// ResourceAttributes is a verb on a resource.
type ResourceAttributes struct {
	Namespace   string `json:"namespace,omitempty"`
	Verb        string `json:"verb,omitempty"`
	Group       string `json:"group,omitempty"`
	Resource    string `json:"resource,omitempty"`
	Subresource string `json:"subresource,omitempty"`
}

// SubjectAccessReviewStatus is the answer.
type SubjectAccessReviewStatus struct {
	Allowed bool `json:"allowed"`
}

// SelfSubjectReview asks who the user is, of the group authentication.k8s.io.
type SelfSubjectReview struct {
	Status SelfSubjectReviewStatus `json:"status"`
}

// SelfSubjectReviewStatus is the answer.
type SelfSubjectReviewStatus struct {
	UserInfo UserInfo `json:"userInfo"`
}

// UserInfo is a user.
type UserInfo struct {
	Username string `json:"username,omitempty"`
}
