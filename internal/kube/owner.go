package kube

import (
	"os"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The environment variables by which a Job tells its pod's program which pod that is.
const (
	podVariable       = "TARE_POD"
	podUIDVariable    = "TARE_POD_UID"
	namespaceVariable = "TARE_NAMESPACE"
)

// owner is the pod in which this program controls a run. The cluster removes what belongs to it
// when it removes the pod, however that has ended.
type owner struct {
	namespace string
	reference metav1.OwnerReference
}

// ownPod returns the pod in which this program runs, nil if nothing names it.
func ownPod() *owner {
	name, uid, namespace := os.Getenv(podVariable), os.Getenv(podUIDVariable), os.Getenv(namespaceVariable)
	if name == "" || uid == "" || namespace == "" {
		return nil
	}
	return &owner{namespace, metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: name, UID: types.UID(uid)}}
}

// owned returns an object with its owner, which must be in its namespace. Other values are returned
// as they are.
func (c *client) owned(body any) any {
	if c.owner == nil || body == nil {
		return body
	}
	value := reflect.Indirect(reflect.ValueOf(body))
	copied := reflect.New(value.Type())
	copied.Elem().Set(value)
	object, ok := copied.Interface().(metav1.Object)
	if !ok || object.GetNamespace() != c.owner.namespace {
		return body
	}
	object.SetOwnerReferences([]metav1.OwnerReference{c.owner.reference})
	return object
}
