package api_test

import (
	"reflect"
	"strings"
	"testing"

	authnv1 "k8s.io/api/authentication/v1"
	authzv1 "k8s.io/api/authorization/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"tare/internal/kube/api"
	"tare/internal/testkit/must"
)

// Every field is one of the type of k8s.io/api, of the same name and kind, and left out where that leaves it out.
func TestFields(t *testing.T) {
	for _, pair := range [][2]any{
		{api.Namespace{}, corev1.Namespace{}}, {api.NamespaceList{}, corev1.NamespaceList{}}, {api.ServiceAccount{}, corev1.ServiceAccount{}}, {api.ConfigMap{}, corev1.ConfigMap{}},
		{api.EventList{}, corev1.EventList{}}, {api.NodeList{}, corev1.NodeList{}}, {api.Service{}, corev1.Service{}}, {api.PodList{}, corev1.PodList{}},
		{api.Job{}, batchv1.Job{}}, {api.EndpointSliceList{}, discoveryv1.EndpointSliceList{}}, {api.NetworkPolicyList{}, networkingv1.NetworkPolicyList{}}, {api.Ingress{}, networkingv1.Ingress{}},
		{api.Role{}, rbacv1.Role{}}, {api.Role{}, rbacv1.ClusterRole{}}, {api.RoleBinding{}, rbacv1.RoleBinding{}}, {api.RoleBinding{}, rbacv1.ClusterRoleBinding{}},
		{api.SelfSubjectAccessReview{}, authzv1.SelfSubjectAccessReview{}}, {api.SelfSubjectReview{}, authnv1.SelfSubjectReview{}},
	} {
		same(t, reflect.TypeOf(pair[1]).String(), reflect.TypeOf(pair[0]), reflect.TypeOf(pair[1]))
	}
}

type field struct {
	of        reflect.Type
	omitempty bool
}

// fieldsOf returns the fields of a structure by their name in JSON, with those of embedded structures that JSON does not
// nest.
func fieldsOf(s reflect.Type) map[string]field {
	out := map[string]field{}
	for f := range s.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			for inner, of := range fieldsOf(f.Type) {
				out[inner] = of
			}
			continue
		}
		out[name] = field{f.Type, options == "omitempty" && f.Type.Kind() != reflect.Struct}
	}
	return out
}

func same(t *testing.T, at string, ours, theirs reflect.Type) {
	t.Helper()
	if ours.Kind() != theirs.Kind() {
		t.Errorf("%s is a %s, not a %s", at, theirs.Kind(), ours.Kind())
		return
	}
	switch ours.Kind() {
	case reflect.Pointer, reflect.Slice:
		same(t, at, ours.Elem(), theirs.Elem())
	case reflect.Map:
		same(t, at+" key", ours.Key(), theirs.Key())
		same(t, at+" value", ours.Elem(), theirs.Elem())
	case reflect.Struct:
		if ours.PkgPath() != reflect.TypeFor[api.Pod]().PkgPath() && ours.Name() != "" {
			if ours != theirs { // of apimachinery
				t.Errorf("%s is a %s, not a %s", at, theirs, ours)
			}
			return
		}
		known := fieldsOf(theirs)
		for name, f := range fieldsOf(ours) {
			of, ok := known[name]
			if !ok || f.omitempty != of.omitempty {
				t.Errorf("%s.%s: known %t, omitempty %t, ours %t", at, name, ok, of.omitempty, f.omitempty)
				continue
			}
			same(t, at+"."+name, f.of, of.of)
		}
	}
}

// The values are those of k8s.io/api.
func TestValues(t *testing.T) {
	must.Equal(t, []string{
		string(corev1.ConditionFalse), string(corev1.ConditionTrue), corev1.EventTypeWarning, string(corev1.IPFamilyPolicyPreferDualStack), string(corev1.IPFamilyPolicySingleStack), string(networkingv1.PathTypePrefix), corev1.LabelHostname, string(corev1.LoadBalancerIPModeVIP),
		string(corev1.NodeInternalIP), string(corev1.NodeReady), string(corev1.NodeSelectorOpIn), string(corev1.NodeSelectorOpNotIn), string(corev1.PodFailed), corev1.PodReasonUnschedulable,
		string(corev1.PodRunning), string(corev1.PodScheduled), string(corev1.ProtocolTCP), string(corev1.ProtocolUDP), string(corev1.PullIfNotPresent), string(corev1.ResourceCPU),
		string(corev1.ResourceMemory), string(corev1.RestartPolicyNever), string(corev1.SeccompProfileTypeRuntimeDefault), string(corev1.ServiceExternalTrafficPolicyLocal),
		string(corev1.ServiceTypeClusterIP), string(corev1.ServiceTypeLoadBalancer), string(corev1.ServiceTypeNodePort), string(corev1.TaintEffectNoExecute), string(corev1.TaintEffectNoSchedule),
		string(discoveryv1.AddressTypeIPv4), discoveryv1.LabelServiceName, string(networkingv1.PolicyTypeEgress), string(networkingv1.PolicyTypeIngress),
		rbacv1.GroupName, rbacv1.SchemeGroupVersion.String(), rbacv1.ServiceAccountKind, rbacv1.UserKind,
	}, []string{
		api.ConditionFalse, api.ConditionTrue, api.EventTypeWarning, api.IPFamilyPolicyPreferDualStack, api.IPFamilyPolicySingleStack, api.PathTypePrefix, api.LabelHostname, api.LoadBalancerIPModeVIP,
		api.NodeInternalIP, api.NodeReady, api.NodeSelectorOpIn, api.NodeSelectorOpNotIn, api.PodFailed, api.PodReasonUnschedulable,
		api.PodRunning, api.PodScheduled, api.ProtocolTCP, api.ProtocolUDP, api.PullIfNotPresent, api.ResourceCPU,
		api.ResourceMemory, api.RestartPolicyNever, api.SeccompProfileTypeRuntimeDefault, api.ServiceExternalTrafficLocal,
		api.ServiceTypeClusterIP, api.ServiceTypeLoadBalancer, api.ServiceTypeNodePort, api.TaintEffectNoExecute, api.TaintEffectNoSchedule,
		api.AddressTypeIPv4, api.LabelServiceName, api.PolicyTypeEgress, api.PolicyTypeIngress,
		api.RoleGroup, api.RoleVersion, api.ServiceAccountKind, api.UserKind,
	})
}

// Taints and quantities read as kubectl shows them.
func TestTexts(t *testing.T) {
	for _, taint := range []corev1.Taint{{Key: "a", Effect: "NoSchedule"}, {Key: "a", Value: "b", Effect: "NoExecute"}} {
		must.Equal(t, taint.ToString(), api.Taint{Key: taint.Key, Value: taint.Value, Effect: string(taint.Effect)}.String())
	}
	l := api.ResourceList{api.ResourceCPU: resource.MustParse("1500m"), api.ResourceMemory: resource.MustParse("2Gi")}
	must.Equal(t, []string{"1500m", "2Gi", "0"}, []string{l.Text(api.ResourceCPU), l.Text(api.ResourceMemory), l.Text("other")})
}
