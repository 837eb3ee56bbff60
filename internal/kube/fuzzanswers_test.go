package kube

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tare/internal/kube/api"
)

// longestReason is more than any reason of a pod needs: some messages of 400 bytes each.
const longestReason = 2000

// What a cluster says of a pod, a node or an error becomes one line of bounded length.
func FuzzAnswers(f *testing.F) {
	f.Add([]byte(`{"status": {"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory.\nThreshold"}}`))
	f.Add([]byte(`{"status": {"containerStatuses": [{"image": "a\nb", "state": {"waiting": {"reason": "ErrImagePull", "message": "no\nway"}}}]}}`))
	f.Add([]byte(`{"status": {"containerStatuses": [{"state": {"terminated": {"reason": "OOMKilled", "exitCode": 137}}}]}}`))
	f.Add([]byte(`{"status": {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/2 nodes"}, {"type": "Ready", "status": "Unknown", "message": "Kubelet\nstopped"}]}}`))
	f.Add([]byte(`{"spec": {"podCIDRs": ["10.0.0.0/24", "x"], "taints": [{"key": "a\nb", "effect": "NoExecute"}]}, "status": {"addresses": [{"type": "InternalIP", "address": "::1"}]}}`))
	f.Add([]byte(`{"kind": "Status", "code": 403, "reason": "Forbidden", "message": "pods is forbidden: exceeded\nquota"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		line := func(what, text string) {
			if strings.ContainsAny(text, "\n\r") || len(text) > longestReason || !utf8.ValidString(text) {
				t.Errorf("%s: %d bytes, %q", what, len(text), text)
			}
		}
		var pod api.Pod
		if json.Unmarshal(raw, &pod) == nil {
			line("pod", (&Pod{PodSpec: PodSpec{Name: "a", Node: "b"}}).broken(pod))
		}
		var node api.Node
		if json.Unmarshal(raw, &node) == nil {
			n := nodeOf(node)
			line("node", n.Blocked)
			for _, p := range n.PodCIDR {
				if !p.IsValid() {
					t.Errorf("prefix %s", p)
				}
			}
		}
		var status metav1.Status
		if json.Unmarshal(raw, &status) == nil {
			c := &Cluster{client: client{Context: "here"}}
			err := c.fail(&apierrors.StatusError{ErrStatus: status}, "look at pod %s", "a")
			line("error", err.Error())
			var one *Error
			if !errors.As(err, &one) || one.Kind != nil && !errors.Is(err, one.Kind) {
				t.Errorf("%v has no category", err)
			}
		}
	})
}
