package kube_test

import (
	"strings"
	"testing"

	"tare/internal/kube"
	"tare/internal/testkit/must"
)

func TestChoose(t *testing.T) {
	all := []kube.Node{{Name: "control", Blocked: "it has the taint x"}, {Name: "one"}, {Name: "two"}, {Name: "three"}}
	for _, tt := range []struct {
		nodes []kube.Node
		names []string
		want  string // names, or a part of the error
	}{
		{all, nil, "one two"},
		{all, []string{"three", "one"}, "three one"},
		{all, []string{"two"}, "two"},
		{all[:2], nil, "one"},
		{all[:1], nil, "none of 1 (control: it has the taint x)"},
		{all, []string{"four", "one"}, "no node four; it has control, one, two, three"},
		{all, []string{"one", "control"}, "no pod can be scheduled on node control: it has the taint x"},
		{all, []string{"one", "one"}, "named twice"},
		{all, []string{"one", "two", "three"}, "name two"},
	} {
		got, err := kube.Choose(tt.nodes, tt.names)
		var names []string
		for _, n := range got {
			names = append(names, n.Name)
		}
		text := strings.Join(names, " ")
		if err != nil {
			text = err.Error()
		}
		if err == nil && text != tt.want || !strings.Contains(text, tt.want) {
			t.Errorf("%v of %v: %q, want %q", tt.names, tt.nodes, text, tt.want)
		}
	}
}

// A name is one that the API takes, whatever it is made of, and names of different things differ.
func TestName(t *testing.T) {
	for _, tt := range []struct {
		parts []string
		want  string
	}{
		{[]string{"k8s/pod", "a", "client"}, "tare-0123abcd-k8s-pod-a-client"},
		{[]string{"A_b."}, "tare-0123abcd-a-b"},
	} {
		must.EqualFor(t, tt.parts, tt.want, kube.Name("0123abcd", tt.parts...))
	}
	long := strings.Repeat("x", 100)
	a, b := kube.Name("0123abcd", long, "a"), kube.Name("0123abcd", long, "b")
	if len(a) > 63 || a == b {
		t.Errorf("%s and %s", a, b)
	}
}
