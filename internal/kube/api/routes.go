package api

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// PathTypePrefix is the type of a path that also stands for all below it.
const PathTypePrefix = "Prefix"

// AppProtocolH2C is the appProtocol of a service's port for HTTP/2 in the clear (Gateway API, GEP-1911).
const AppProtocolH2C = "kubernetes.io/h2c"

// Conditions of gateways and routes.
const (
	ConditionAccepted     = "Accepted"
	ConditionProgrammed   = "Programmed"
	ConditionResolvedRefs = "ResolvedRefs"
)

// Ingress is which requests an ingress controller leads to which services, of the group networking.k8s.io.
type Ingress struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              IngressSpec   `json:"spec"`
	Status            IngressStatus `json:"status,omitzero"`
}

// IngressSpec is the class, which names the controller, and the rules.
type IngressSpec struct {
	IngressClassName *string       `json:"ingressClassName,omitempty"`
	Rules            []IngressRule `json:"rules,omitempty"`
}

// IngressRule is about the requests for a host.
type IngressRule struct {
	Host string       `json:"host,omitempty"`
	HTTP *IngressHTTP `json:"http,omitempty"`
}

// IngressHTTP is where requests lead by their path.
type IngressHTTP struct {
	Paths []IngressPath `json:"paths"`
}

// IngressPath is a path, and where its requests lead.
type IngressPath struct {
	Path     string         `json:"path,omitempty"`
	PathType *string        `json:"pathType"`
	Backend  IngressBackend `json:"backend"`
}

// IngressBackend is a service.
type IngressBackend struct {
	Service *IngressService `json:"service,omitempty"`
}

// IngressService is a port of a service.
type IngressService struct {
	Name string      `json:"name"`
	Port IngressPort `json:"port"`
}

// IngressPort is the number of a port.
type IngressPort struct {
	Number int32 `json:"number,omitempty"`
}

// IngressStatus is where the controller receives requests.
type IngressStatus struct {
	LoadBalancer IngressAddresses `json:"loadBalancer"`
}

// IngressAddresses are addresses of a controller.
type IngressAddresses struct {
	Ingress []IngressAddress `json:"ingress,omitempty"`
}

// IngressAddress is an address, or a name.
type IngressAddress struct {
	IP       string `json:"ip,omitempty"`
	Hostname string `json:"hostname,omitempty"`
}

// Gateway is where a proxy receives requests, of the group gateway.networking.k8s.io.
type Gateway struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              GatewaySpec   `json:"spec"`
	Status            GatewayStatus `json:"status"`
}

// GatewayList is a list of gateways.
type GatewayList struct {
	Items []Gateway `json:"items"`
}

// GatewaySpec is the class, which names the controller, and the ports.
type GatewaySpec struct {
	GatewayClassName string            `json:"gatewayClassName"`
	Listeners        []GatewayListener `json:"listeners"`
}

// GatewayListener is a port, with the host that its requests must name; empty for any.
type GatewayListener struct {
	Name     string `json:"name"`
	Hostname string `json:"hostname,omitempty"`
	Port     int32  `json:"port"`
	Protocol string `json:"protocol"`
}

// GatewayStatus is the addresses of a gateway, and whether it is one.
type GatewayStatus struct {
	Addresses  []GatewayAddress   `json:"addresses,omitempty"`
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// GatewayAddress is an address, or a name.
type GatewayAddress struct {
	Value string `json:"value"`
}

// HTTPRoute is which requests gateways lead to which services, of the group gateway.networking.k8s.io.
type HTTPRoute struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              HTTPRouteSpec   `json:"spec"`
	Status            HTTPRouteStatus `json:"status,omitzero"`
}

// HTTPRouteSpec is the gateways, the hosts that requests name, and the services.
type HTTPRouteSpec struct {
	ParentRefs []ParentRef     `json:"parentRefs"`
	Hostnames  []string        `json:"hostnames"`
	Rules      []HTTPRouteRule `json:"rules"`
}

// ParentRef is a listener of a gateway.
type ParentRef struct {
	Namespace   string `json:"namespace"`
	Name        string `json:"name"`
	SectionName string `json:"sectionName"`
}

// HTTPRouteRule is services.
type HTTPRouteRule struct {
	BackendRefs []BackendRef `json:"backendRefs"`
}

// BackendRef is a port of a service.
type BackendRef struct {
	Name string `json:"name"`
	Port int32  `json:"port"`
}

// HTTPRouteStatus is what the controllers of gateways say of a route.
type HTTPRouteStatus struct {
	Parents []RouteParent `json:"parents,omitempty"`
}

// RouteParent is what the controller of a gateway says.
type RouteParent struct {
	ControllerName string             `json:"controllerName"`
	Conditions     []metav1.Condition `json:"conditions,omitempty"`
}
