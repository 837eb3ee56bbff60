package hosts

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"tare/internal/driver/cni"
	"tare/internal/engine"
	"tare/internal/engine/locate"
	"tare/internal/kube"
)

// Network is a network of this machine and the modes that measure it.
type Network struct {
	Where string `json:"where"`          // what has it: an engine, a directory, a kubeconfig
	Name  string `json:"name"`           // as its owner calls it
	Kind  string `json:"kind,omitempty"` // its driver or plugin; empty if it is not known
	Try   string `json:"try"`            // the command that measures it; empty if nothing does
	Note  string `json:"note,omitempty"` // what limits it, or why it could not be read
}

// Networks lists the networks of the engines that run here, of the CNI configurations, and of the kubeconfig.
// It starts and changes nothing.
func Networks(ctx context.Context) []Network {
	var out []Network
	for _, name := range RunningEngines() {
		e, err := locate.Connect(ctx, name)
		if err != nil {
			if u, is := engine.AsUnavailable(err); !is || !u.NotFound {
				out = append(out, Network{Where: "engine " + name, Note: err.Error()})
			}
			continue
		}
		if host := os.Getenv("DOCKER_HOST"); name == "docker" && host != "" { // which sudo does not pass on
			name = host
		}
		out = append(out, engineNetworks(ctx, name, e)...)
		_ = e.Disconnect() // it only has idle connections
	}
	out = append(out, cniNetworks(cni.Configs())...)
	if context := kube.CurrentContext(); context != "" {
		out = append(out, Network{Where: "kubeconfig", Name: context, Kind: "Kubernetes", Try: "tare run --kube", Note: "pods, services and node ports: tare modes --kube"})
	}
	return out
}

// engineNetworks lists the networks of one engine.
func engineNetworks(ctx context.Context, name string, e *engine.Engine) []Network {
	found, err := e.Networks(ctx)
	if err != nil {
		return []Network{{Where: "engine " + name, Note: err.Error()}}
	}
	run := "tare run --engine " + name
	out := []Network{{Where: "engine " + name, Name: "published ports", Kind: "bridge", Try: run + " --modes docker/published,docker/userland-proxy"}}
	for _, n := range found {
		net := Network{Where: "engine " + name, Name: n.Name, Kind: n.Driver}
		switch n.Driver {
		case "null":
			continue
		case "host":
			net.Try = run + " --modes docker/host"
		case "bridge":
			net.Try = run + " --modes docker/network:" + n.Name
			if n.DefaultBridge() {
				net.Try = run + " --modes docker/colocated,docker/to-host"
			}
		case "overlay":
			net.Try, net.Note = run+" --modes docker/network:"+n.Name, "within this machine; between two: a second --engine"
			if !n.Attachable {
				net.Try, net.Note = "", "not attachable: only tasks of services can join; docker/overlay builds one like it"
			}
		default:
			net.Try = run + " --modes docker/network:" + n.Name
		}
		out = append(out, net)
	}
	return out
}

// cniNetworks are the configurations of CNI here.
func cniNetworks(found []cni.Config) []Network {
	var out []Network
	for _, c := range found {
		n := Network{Where: filepath.Dir(c.File), Name: c.Name, Kind: "CNI", Try: "sudo tare run --modes host,cni/network:" + c.File}
		if len(c.Plugins) > 0 {
			n.Kind += ": " + strings.Join(c.Plugins, ", ")
		}
		if c.Err != nil {
			n.Try, n.Note = "", c.Err.Error()
		}
		out = append(out, n)
	}
	return out
}
