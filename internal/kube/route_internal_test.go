package kube

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"tare/internal/testkit/must"
	"tare/internal/timelimit"
)

// objects is an API server that keeps what is created, and answers requests for it as change says.
type objects struct {
	all    map[string]map[string]any                               // by path
	change func(at string, asked time.Duration, of map[string]any) // before an object is returned, so long after the start
	began  time.Time
}

func (o *objects) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	at := r.URL.Path
	switch of, known := o.all[at]; {
	case r.Method == http.MethodPost:
		var made map[string]any
		if err := json.NewDecoder(r.Body).Decode(&made); err != nil {
			return nil, err
		}
		o.all[path.Join(at, made["metadata"].(map[string]any)["name"].(string))] = made
		_ = json.NewEncoder(w).Encode(made)
	case !known:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404, "message": "not found"}`)
	case r.Method == http.MethodDelete:
		delete(o.all, at)
	default:
		if o.change != nil {
			o.change(at, time.Since(o.began), of)
		}
		_ = json.NewEncoder(w).Encode(of)
	}
	return w.Result(), nil
}

// clusterOf returns a cluster with these objects, in JSON by their paths.
func clusterOf(t *testing.T, all map[string]string) (*Cluster, *objects) {
	t.Helper()
	o := &objects{all: map[string]map[string]any{}, began: time.Now()}
	for at, text := range all {
		of := map[string]any{}
		must.Do(t, json.NewDecoder(bytes.NewReader([]byte(text))).Decode(&of))
		o.all[at] = of
	}
	config := &rest.Config{Host: "http://cluster.invalid", Transport: o}
	config.NegotiatedSerializer = codecs()
	c := &Cluster{client: client{Context: "here", Version: "v1", late: new(atomic.Bool), created: &sync.Map{}}}
	var err error
	c.rest, err = rest.UnversionedRESTClientFor(config)
	must.Do(t, err)
	return c, o
}

// with sets a part of an object from JSON.
func with(t *testing.T, of map[string]any, key, text string) {
	t.Helper()
	var value any
	must.Do(t, json.Unmarshal([]byte(text), &value))
	of[key] = value
}

func routeSpec() RouteSpec {
	return RouteSpec{Run: "0123abcd", Name: "server", Namespace: "tare-0123abcd", Host: "server.invalid", Service: &Service{ServiceSpec: ServiceSpec{Name: "server", Port: 5201}}}
}

// An Ingress leads the host's requests to the service, and has the addresses that its controller writes, whenever it
// does within the time that it has.
func TestIngress(t *testing.T) {
	const at, events = "/apis/networking.k8s.io/v1/namespaces/tare-0123abcd/ingresses/server", "/api/v1/namespaces/tare-0123abcd/events"
	const working, refusing = `{"items": [{"type": "Normal", "reason": "Sync", "message": "a\nb", "source": {"component": "edge"}}]}`, `{"items": [{"type": "Warning", "reason": "Quota", "message": "no more", "source": {"component": "edge"}}]}`
	for name, tt := range map[string]struct {
		events, status string
		after          time.Duration
		want           string // an error, or addresses
	}{
		"at once":             {"", `[{"ip": "192.0.2.1"}]`, 0, "[192.0.2.1]"},
		"two families":        {"", `[{"ip": "2001:db8::1"}, {"ip": "192.0.2.1"}]`, time.Second, "[192.0.2.1 2001:db8::1]"},
		"never":               {"", `[]`, 0, "the controller of IngressClass edge (example.org/edge) gave an Ingress no address; check that it runs, or name its address with the option address"},
		"too late":            {"", `[{"ip": "192.0.2.1"}]`, timelimit.Scaled(20 * time.Second), "gave an Ingress no address; check"},
		"late, and announced": {working, `[{"ip": "192.0.2.1"}]`, timelimit.Scaled(2 * time.Minute), "[192.0.2.1]"},
		"announced in vain":   {working, `[]`, 0, "no address; edge says: Sync: a b; check"},
		"refused":             {refusing, `[{"ip": "192.0.2.1"}]`, timelimit.Scaled(2 * time.Minute), "no address; edge says: Quota: no more; check"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				have := map[string]string{}
				if tt.events != "" {
					have[events] = tt.events
				}
				c, o := clusterOf(t, have)
				o.change = func(what string, asked time.Duration, of map[string]any) {
					if what == at && asked >= tt.after {
						with(t, of, "status", `{"loadBalancer": {"ingress": `+tt.status+`}}`)
					}
				}
				r := must.Get(c.CreateIngress(t.Context(), routeSpec(), "edge"))(t)
				spec := must.Get(json.Marshal(o.all[at]["spec"]))(t)
				must.Equal(t, `{"ingressClassName":"edge","rules":[{"host":"server.invalid","http":{"paths":[{"backend":{"service":{"name":"server","port":{"number":5201}}},"path":"/","pathType":"Prefix"}]}}]}`, string(spec))
				must.Equal(t, any("0123abcd"), o.all[at]["metadata"].(map[string]any)["labels"].(map[string]any)[LabelRun])
				addrs, err := r.AwaitIngress(t.Context(), Class{Name: "edge", Controller: "example.org/edge"})
				if strings.HasPrefix(tt.want, "[") {
					must.Do(t, err)
					var text []string
					for _, a := range addrs {
						text = append(text, a.String())
					}
					must.Equal(t, tt.want, "["+strings.Join(text, " ")+"]")
				} else {
					must.Fail(t, err, tt.want)
				}
				must.Do(t, r.Remove(context.Background()), r.Remove(context.Background()))
				if o.all[at] != nil {
					t.Error("it is left")
				}
			})
		})
	}
}

// listening is a gateway with listeners.
func listening(space, name, listeners, status string) string {
	return `{"metadata": {"namespace": "` + space + `", "name": "` + name + `"}, "spec": {"gatewayClassName": "edge", "listeners": [` + listeners + `]}, "status": {` + status + `}}`
}

// A gateway is found by its name, with the first listener that takes requests for hosts of a run.
func TestGateway(t *testing.T) {
	const http, one, below, https = `{"name": "http", "protocol": "HTTP", "port": 80}`, `{"name": "one", "protocol": "HTTP", "port": 81, "hostname": "www.example.org"}`,
		`{"name": "below", "protocol": "HTTP", "port": 8080, "hostname": "*.example.org"}`, `{"name": "https", "protocol": "HTTPS", "port": 443}`
	const ready = `"addresses": [{"type": "IPAddress", "value": "192.0.2.1"}], "conditions": [{"type": "Accepted", "status": "True"}, {"type": "Programmed", "status": "True"}]`
	const refused = `"conditions": [{"type": "Accepted", "status": "False", "reason": "Invalid", "message": "bad\nport"}]`
	all := map[string]string{}
	var list []string
	for name, text := range map[string]string{
		"default/web": listening("default", "web", https+","+one+","+http, ready), "default/below": listening("default", "below", below, ready), "infra/web": listening("infra", "web", http, ""),
		"default/closed": listening("default", "closed", https+","+one, ready), "default/bad": listening("default", "bad", http, refused),
	} {
		space, short, _ := strings.Cut(name, "/")
		all[in(gatewayV, space, "gateways", short)] = text
		list = append(list, text)
	}
	all[gatewayV+"/gateways"] = `{"items": [` + strings.Join(list, ",") + `]}`
	c, _ := clusterOf(t, all)
	g := must.Get(c.Gateway(t.Context(), "default/web"))(t)
	must.Equal(t, []any{"default/web", "edge", "http", uint16(80), "x.invalid", "192.0.2.1", 1}, []any{g.String(), g.Class, g.listener, g.Port, g.Host("x"), g.Addresses[0].String(), len(g.Addresses)})
	g = must.Get(c.Gateway(t.Context(), "below"))(t)
	must.Equal(t, []any{"default/below", "below", uint16(8080), "x.example.org"}, []any{g.String(), g.listener, g.Port, g.Host("x")})
	for name, want := range map[string]string{
		"web":            "the cluster has 2 Gateways web; name one by NAMESPACE/NAME: default/bad, default/below, default/closed, default/web, infra/web",
		"none":           "the cluster has no Gateway none; it has default/bad",
		"default/none":   "there is no Gateway default/none",
		"default/closed": "Gateway default/closed has no listener with protocol HTTP for any host or for all below a domain; it has https (HTTPS), one (HTTP www.example.org)",
		"default/bad":    "Gateway default/bad of class edge is not accepted: Invalid: bad port",
	} {
		_, err := c.Gateway(t.Context(), name)
		must.FailFor(t, name, err, want)
	}
	c, _ = clusterOf(t, nil)
	must.Fail(t, must.Err(c.Gateway(t.Context(), "web")), "the cluster has no Gateways: install the Gateway API")
}

// An HTTPRoute is ready when its gateway has accepted it, and one that stays refused is named with the reason.
func TestHTTPRoute(t *testing.T) {
	const at = "/apis/gateway.networking.k8s.io/v1/namespaces/tare-0123abcd/httproutes/server"
	const yes, no, unresolved = `{"type": "Accepted", "status": "True"}`, `{"type": "Accepted", "status": "False", "reason": "NotAllowedByListeners", "message": "no"}`, `{"type": "ResolvedRefs", "status": "False", "reason": "BackendNotFound", "message": "no service"}`
	for name, tt := range map[string]struct {
		first, then string
		want        string
	}{
		"accepted":         {yes, yes, ""},
		"accepted at last": {no, yes, ""},
		"resolved at last": {yes + "," + unresolved, yes, ""},
		"refused":          {no, no, "Gateway default/web does not accept an HTTPRoute of namespace tare-0123abcd: NotAllowedByListeners: no"},
		"unresolved":       {yes + "," + unresolved, yes + "," + unresolved, "BackendNotFound: no service"},
		"ignored":          {"", "", "the controller of Gateway default/web (class edge) did not react to an HTTPRoute within"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, o := clusterOf(t, nil)
				o.change = func(_ string, asked time.Duration, of map[string]any) {
					conditions := tt.first
					if asked > timelimit.Scaled(2*time.Second) {
						conditions = tt.then
					}
					if conditions != "" {
						with(t, of, "status", `{"parents": [{"controllerName": "example.org/edge", "conditions": [`+conditions+`]}]}`)
					}
				}
				g := &Gateway{Namespace: "default", Name: "web", Class: "edge", listener: "http"}
				r := must.Get(c.CreateHTTPRoute(t.Context(), routeSpec(), g))(t)
				spec := must.Get(json.Marshal(o.all[at]["spec"]))(t)
				must.Equal(t, `{"hostnames":["server.invalid"],"parentRefs":[{"name":"web","namespace":"default","sectionName":"http"}],"rules":[{"backendRefs":[{"name":"server","port":5201}]}]}`, string(spec))
				must.Equal(t, any("HTTPRoute"), o.all[at]["kind"])
				err := r.AwaitHTTPRoute(t.Context(), g)
				if tt.want == "" {
					must.Do(t, err)
				} else {
					must.Fail(t, err, tt.want)
				}
				must.Do(t, r.Remove(context.Background()))
			})
		})
	}
}
