package kube

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"tare/internal/kube/api"
)

// Account is whom roles are for: a user, or a service account of a namespace.
type Account struct{ Namespace, Name string }

// accountPrefix begins the names by which the API knows service accounts.
const accountPrefix = "system:serviceaccount:"

// AccountOf returns the account of a user's name.
func AccountOf(user string) Account {
	if rest, ok := strings.CutPrefix(user, accountPrefix); ok {
		if namespace, name, ok := strings.Cut(rest, ":"); ok {
			return Account{namespace, name}
		}
	}
	return Account{Name: user}
}

func (a Account) subject() api.Subject {
	if a.Namespace != "" {
		return api.Subject{Kind: api.ServiceAccountKind, Namespace: a.Namespace, Name: a.Name}
	}
	return api.Subject{Kind: api.UserKind, APIGroup: api.RoleGroup, Name: a.Name}
}

// objectName returns the name of the roles of an account. Two accounts do not share one.
func (a Account) objectName() string {
	full := strings.Trim(a.Namespace+"-"+a.Name, "-")
	name := Name(full)
	if name != "tare-"+full {
		name = Name(fmt.Sprintf("%08x", hash(a.Namespace+":"+a.Name)), full)
	}
	return name
}

// Roles returns rights as YAML that kubectl apply reads: a Role in the namespace and a ClusterRole
// for what is not of one, or a ClusterRole alone if namespace is empty, each with its binding to the
// account.
func Roles(rights []Right, namespace string, to Account) ([]byte, error) {
	all, err := roles(rights, namespace, to)
	if err != nil {
		return nil, err
	}
	return join(all), nil
}

// document is an object in YAML with a comment before it.
type document struct {
	comment string
	text    []byte
}

func join(all []document) []byte {
	var out bytes.Buffer
	for i, d := range all {
		if i > 0 {
			out.WriteString("---\n")
		}
		for line := range strings.Lines(d.comment) {
			out.WriteString("# " + line)
		}
		out.Write(d.text)
	}
	return out.Bytes()
}

func roles(rights []Right, namespace string, to Account) ([]document, error) {
	var wide, inside []Right
	for _, r := range UnionOf(rights) {
		if r.Cluster || namespace == "" {
			wide = append(wide, r)
		} else {
			inside = append(inside, r)
		}
	}
	name := to.objectName()
	var out []document
	add := func(comment string, v any) error {
		text, err := manifestOf(v)
		out = append(out, document{comment, text})
		return err
	}
	if len(wide) > 0 {
		ref := api.RoleRef{APIGroup: api.RoleGroup, Kind: "ClusterRole", Name: name}
		role := api.Role{TypeMeta: typeOf(api.RoleVersion, "ClusterRole"), ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rulesOf(wide)}
		bind := api.RoleBinding{TypeMeta: typeOf(api.RoleVersion, "ClusterRoleBinding"), ObjectMeta: metav1.ObjectMeta{Name: name}, Subjects: []api.Subject{to.subject()}, RoleRef: ref}
		if err := add(reasons(wide), role); err != nil {
			return nil, err
		}
		if err := add("", bind); err != nil {
			return nil, err
		}
	}
	if len(inside) > 0 {
		meta := metav1.ObjectMeta{Name: name, Namespace: namespace}
		ref := api.RoleRef{APIGroup: api.RoleGroup, Kind: "Role", Name: name}
		role := api.Role{TypeMeta: typeOf(api.RoleVersion, "Role"), ObjectMeta: meta, Rules: rulesOf(inside)}
		bind := api.RoleBinding{TypeMeta: typeOf(api.RoleVersion, "RoleBinding"), ObjectMeta: meta, Subjects: []api.Subject{to.subject()}, RoleRef: ref}
		if err := add(reasons(inside), role); err != nil {
			return nil, err
		}
		if err := add("", bind); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func typeOf(version, kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: version, Kind: kind}
}

// manifestOf returns an object as YAML, without the status that only a cluster fills.
func manifestOf(v any) ([]byte, error) {
	text, err := yaml.Marshal(v)
	if err != nil {
		return nil, err
	}
	return bytes.ReplaceAll(text, []byte("\nstatus: {}\n"), []byte("\n")), nil
}

// rulesOf returns rights as the rules of a role, one for each resource.
func rulesOf(rights []Right) (out []api.PolicyRule) {
	for _, r := range rights {
		i := slices.IndexFunc(out, func(p api.PolicyRule) bool { return p.APIGroups[0] == r.Group && p.Resources[0] == r.resource() })
		if i < 0 {
			out = append(out, api.PolicyRule{APIGroups: []string{r.Group}, Resources: []string{r.resource()}})
			i = len(out) - 1
		}
		out[i].Verbs = append(out[i].Verbs, r.Verb)
	}
	return out
}

// reasons says what each right is for, a line each.
func reasons(rights []Right) string {
	var out strings.Builder
	for _, r := range rights {
		optional := ""
		if r.Optional {
			optional = " (optional)"
		}
		fmt.Fprintf(&out, "%s: %s%s\n", r, r.For, optional)
	}
	return out.String()
}
