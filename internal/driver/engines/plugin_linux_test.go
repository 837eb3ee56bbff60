package engines_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// pluginCommand makes the test binary a network plugin: SOCKET LOCAL PEER.
const pluginCommand = "network-plugin"

// pluginName is the plugin's name for an engine: the name of its socket.
const pluginName = "tareplug"

// The options of the plugin. It rejects unknown options with its prefix and invalid values.
const (
	optionPrefix = "org.example."
	optionMTU    = optionPrefix + "mtu" // of all devices of the plugin, bytes
	optionVNI    = optionPrefix + "vni" // network identifier of its tunnel
)

// genericOptions is where an engine passes the user's options.
const genericOptions = "com.docker.network.generic"

// servePlugin runs the plugin: it serves the engine in the same network namespace until its
// stdin is closed.
func servePlugin(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("want SOCKET LOCAL PEER, got %q", args)
	}
	p := &plugin{local: net.ParseIP(args[1]), peer: net.ParseIP(args[2]), made: map[string]overlay{}}
	l, err := net.Listen("unix", args[0])
	if err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	return http.Serve(l, p.handler())
}

// request is what the engine's requests have that the plugin reads.
type request struct {
	NetworkID, EndpointID string
	Options               map[string]any
	Interface             *endpointInterface
}

type endpointInterface struct{ Address, MacAddress string }

// handler answers by the engine's plugin protocol: a POST of JSON to /NetworkDriver.METHOD, and an answer in JSON, with
// Err in place of a failed one.
func (p *plugin) handler() http.Handler {
	mux := http.NewServeMux()
	answer := func(path string, call func(r request) (any, error)) {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			var asked request
			err := json.NewDecoder(r.Body).Decode(&asked)
			var out any
			if err == nil || errors.Is(err, io.EOF) { // some have no body
				out, err = call(asked)
			}
			w.Header().Set("Content-Type", "application/vnd.docker.plugins.v1.2+json")
			if err != nil {
				w.WriteHeader(http.StatusInternalServerError)
				out = map[string]string{"Err": err.Error()}
			}
			_ = json.NewEncoder(w).Encode(out) // the engine may have closed the connection
		})
	}
	nothing := func(request) (any, error) { return struct{}{}, nil }
	answer("/Plugin.Activate", func(request) (any, error) { return map[string][]string{"Implements": {"NetworkDriver"}}, nil })
	for method, call := range map[string]func(request) (any, error){
		"GetCapabilities": func(request) (any, error) {
			return map[string]string{"Scope": "local", "ConnectivityScope": "global"}, nil
		},
		"CreateNetwork":    func(r request) (any, error) { return struct{}{}, p.createNetwork(r) },
		"DeleteNetwork":    func(r request) (any, error) { return struct{}{}, p.deleteNetwork(r.NetworkID) },
		"CreateEndpoint":   createEndpoint,
		"DeleteEndpoint":   nothing,
		"EndpointOperInfo": func(request) (any, error) { return map[string]map[string]string{"Value": {}}, nil },
		"Join":             p.join,
		"Leave":            func(r request) (any, error) { return struct{}{}, remove(outerOf(r.EndpointID)) },
		"DiscoverNew":      nothing, "DiscoverDelete": nothing, "ProgramExternalConnectivity": nothing, "RevokeExternalConnectivity": nothing,
	} {
		answer("/NetworkDriver."+method, call)
	}
	return mux
}

// plugin is a network driver like those of SDN vendors: for each network it creates a
// bridge on each host and a tunnel to the other host, and a veth for each endpoint. Its
// methods are called one at a time, because the tests create one network after the other.
type plugin struct {
	local, peer net.IP
	made        map[string]overlay // by network id
}

type overlay struct{ mtu, vni int }

// Device names, from the first characters of an id: a name has at most 15.
func bridgeOf(id string) string { return "tpb" + id[:8] }
func tunnelOf(id string) string { return "tpt" + id[:8] }
func outerOf(id string) string  { return "tpo" + id[:8] }
func innerOf(id string) string  { return "tpi" + id[:8] }

func (p *plugin) createNetwork(r request) error {
	o, err := readOptions(r.Options)
	if err != nil {
		return err
	}
	bridge := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: bridgeOf(r.NetworkID), MTU: o.mtu}}
	tunnel := &netlink.Vxlan{
		LinkAttrs: netlink.LinkAttrs{Name: tunnelOf(r.NetworkID), MTU: o.mtu},
		VxlanId:   o.vni, SrcAddr: p.local, Group: p.peer, Port: 4789, Learning: true,
	}
	for _, l := range []netlink.Link{bridge, tunnel} {
		if err := netlink.LinkAdd(l); err != nil {
			return errors.Join(fmt.Errorf("make %s %s: %w", l.Type(), l.Attrs().Name, err), p.deleteNetwork(r.NetworkID))
		}
	}
	p.made[r.NetworkID] = o
	return errors.Join(netlink.LinkSetMaster(tunnel, bridge), netlink.LinkSetUp(bridge), netlink.LinkSetUp(tunnel))
}

// readOptions extracts the plugin's options from an engine's request.
func readOptions(all map[string]any) (overlay, error) {
	o := overlay{mtu: 1450, vni: 77}
	given, _ := all[genericOptions].(map[string]any)
	for name, v := range given {
		own, ok := strings.CutPrefix(name, optionPrefix)
		if !ok {
			continue
		}
		n, err := strconv.Atoi(fmt.Sprint(v))
		switch {
		case err != nil || n < 1:
			return o, fmt.Errorf("option %s=%v is no positive number", name, v)
		case own == "mtu":
			o.mtu = n
		case own == "vni":
			o.vni = n
		default:
			return o, fmt.Errorf("option %s is unknown", name)
		}
	}
	return o, nil
}

func (p *plugin) deleteNetwork(id string) error {
	delete(p.made, id)
	return errors.Join(remove(tunnelOf(id)), remove(bridgeOf(id)))
}

// createEndpoint uses the address that the engine chose and derives a MAC address from it.
func createEndpoint(r request) (any, error) {
	own := map[string]string{}
	if r.Interface != nil && r.Interface.MacAddress == "" {
		ip, _, err := net.ParseCIDR(r.Interface.Address)
		if err != nil {
			return nil, fmt.Errorf("endpoint without an address: %w", err)
		}
		own["MacAddress"] = net.HardwareAddr(append([]byte{2, 66}, ip.To4()...)).String()
	}
	return map[string]any{"Interface": own}, nil
}

func (p *plugin) join(r request) (any, error) {
	o, ok := p.made[r.NetworkID]
	if !ok {
		return nil, fmt.Errorf("network %s is not this plugin's", r.NetworkID)
	}
	bridge, err := netlink.LinkByName(bridgeOf(r.NetworkID))
	if err != nil {
		return nil, err
	}
	pair := netlink.NewVeth(netlink.LinkAttrs{Name: outerOf(r.EndpointID), MTU: o.mtu, MasterIndex: bridge.Attrs().Index})
	pair.PeerName, pair.PeerMTU = innerOf(r.EndpointID), uint32(o.mtu)
	if err := netlink.LinkAdd(pair); err != nil {
		return nil, fmt.Errorf("make veth %s: %w", pair.Name, err)
	}
	return map[string]any{"InterfaceName": map[string]string{"SrcName": pair.PeerName, "DstPrefix": "tp"}, "DisableGatewayService": true}, netlink.LinkSetUp(pair)
}

// remove removes a device that may not exist any more.
func remove(name string) error {
	l, err := netlink.LinkByName(name)
	if err == nil {
		err = netlink.LinkDel(l)
	}
	var missing netlink.LinkNotFoundError
	if errors.As(err, &missing) || errors.Is(err, unix.ENODEV) {
		return nil
	}
	return err
}
