package engine

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/runid"
	"tare/internal/study"
	"tare/internal/testkit/must"
)

func TestName(t *testing.T) {
	for _, tt := range []struct {
		parts []string
		want  string
	}{
		{[]string{"docker/network:My Net.1", "client", "2"}, "tare-0123abcd-docker.network.My.Net.1-client-2"},
		{nil, "tare-0123abcd"},
	} {
		must.EqualFor(t, tt.parts, tt.want, Name("0123abcd", tt.parts...))
	}
}

// An image is the program and a directory for temporary files, and the same program gives the same
// image.
func TestArchive(t *testing.T) {
	path := filepath.Join(t.TempDir(), "program")
	must.Do(t, os.WriteFile(path, []byte("a program"), 0o600))
	file := must.Get(os.Open(path))(t)
	defer file.Close()
	type entry struct {
		Name, Text string
		Mode       int64
	}
	read := func() (all []entry, hash string) {
		hash = must.Get(content(file))(t)
		stream := must.Get(archive(file))(t)
		defer stream.Close()
		for r := tar.NewReader(stream); ; {
			h, err := r.Next()
			if errors.Is(err, io.EOF) {
				return all, hash
			}
			must.Do(t, err)
			all = append(all, entry{h.Name, string(must.Get(io.ReadAll(r))(t)), h.Mode})
		}
	}
	first, hash := read()
	must.Equal(t, []entry{{"tmp/", "", 0o1777}, {"tare", "a program", 0o755}}, first)
	if again, same := read(); !cmp.Equal(first, again) || same != hash {
		t.Errorf("another image of the same file: %v %s", again, same)
	}
	must.Do(t, os.WriteFile(path, []byte("b program"), 0o600))
	if _, other := read(); other == hash {
		t.Error("another program has the same hash")
	}
}

// A tag identifies its run, and no other tag does.
func TestImageOwner(t *testing.T) {
	hash := strings.Repeat("0123456789abcdef", 4)
	own := "0123456789ab-" + runid.MachineID() + "-"
	for tag, want := range map[string]string{
		"tare:" + own + "deadbeef":                  "deadbeef",
		"localhost/tare:" + own + "deadbeef":        "deadbeef", // in Podman's form
		"tare:" + own:                               "",
		"tare:0123456789ab-fedcba98-deadbeef":       "", // of another machine's run
		"tare:0123456789ab-deadbeef":                "",
		"tare:0123456789ac" + own[12:] + "deadbeef": "",
		"tare:latest":                               "",
		"theirs:" + own + "deadbeef":                "",
		"<none>:<none>":                             "",
	} {
		if got, ok := imageOwner(tag, hash); got != want || ok != (want != "") {
			t.Errorf("%s: %q, %t", tag, got, ok)
		}
	}
	if _, ok := imageOwner("tare:-deadbeef", ""); ok {
		t.Error("an image without a hash has an owner")
	}
}

// Only what a dead run of this machine has created is a leftover.
func TestDeadRun(t *testing.T) {
	self := os.Getuid()
	for name, tt := range map[string]struct {
		change map[string]string
		alive  runid.Claims
		want   string
	}{
		"dead":                   {nil, runid.Claims{{Run: "00000002", User: self}}, "00000001"},
		"alive":                  {nil, runid.Claims{{Run: "00000002", User: self}, {Run: "00000001", User: self}}, ""},
		"alive, of root":         {nil, runid.Claims{{Run: "00000001"}}, ""},
		"claimed by another":     {nil, runid.Claims{{Run: "00000001", User: self + 1}}, "00000001"},
		"claimed by its user":    {map[string]string{LabelUser: strconv.Itoa(self + 1)}, runid.Claims{{Run: "00000001", User: self + 1}}, ""},
		"of an unknown user":     {map[string]string{LabelUser: ""}, runid.Claims{{Run: "00000001", User: self + 1}}, ""},
		"not an id":              {map[string]string{LabelRun: "\x1b[2J"}, nil, ""},
		"another machine's":      {map[string]string{LabelMachine: "01234567"}, nil, ""},
		"of no machine":          {map[string]string{LabelMachine: ""}, nil, ""},
		"of no run":              {map[string]string{LabelRun: ""}, nil, ""},
		"created from the image": {map[string]string{LabelPart: partImage}, nil, ""},
		"with another label":     {map[string]string{"com.example.keep": "yes"}, nil, "00000001"},
	} {
		l := labels("00000001", "client")
		maps.Copy(l, tt.change)
		must.EqualFor(t, name, tt.want, deadRun(l, tt.alive))
	}
}

func TestGoArch(t *testing.T) {
	for name, want := range map[string]string{"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64", "armv7l": "arm", "riscv64": "riscv64"} {
		must.EqualFor(t, name, want, goArch(name))
	}
}

// The request to the API: both protocols of a port, limits without swap, fixed addresses of both
// families, and only the capabilities that agents need.
func TestOrder(t *testing.T) {
	got := order(ContainerSpec{
		Run: "0123abcd", Part: "server", Name: "tare-0123abcd-server", Network: "net",
		Addresses: []netip.Addr{netip.MustParseAddr("198.18.1.7"), netip.MustParseAddr("2001:2::7")},
		Publish:   []Publish{{Host: netip.MustParseAddrPort("198.18.0.2:8080"), Port: 80}, {Host: netip.MustParseAddrPort("0.0.0.0:81"), Port: 81}},
		Limit:     study.Limit{CPUs: 0.3, Memory: 64 << 20}, Sysctls: map[string]string{"net.ipv4.tcp_tw_reuse": "1"},
	}, "sha256:1234")
	type fields map[string]any
	read := func(v any) (out fields) {
		must.Do(t, json.Unmarshal(must.Get(json.Marshal(v))(t), &out))
		return out
	}
	config, host, on := read(got.Config), read(got.HostConfig), read(got.NetworkingConfig)
	type pair struct{ got, want any }
	binding := func(ip, port string) any { return []any{map[string]any{"HostIp": ip, "HostPort": port}} }
	for name, p := range map[string]pair{
		"image":      {config["Image"], "sha256:1234"},
		"entry":      {config["Entrypoint"], []any{"/tare"}},
		"command":    {config["Cmd"], []any{"hold", "--run", "0123abcd", "--at", "tare-0123abcd-server"}},
		"labels":     {config["Labels"], map[string]any{LabelRun: "0123abcd", LabelPart: "server", LabelMachine: runid.MachineID(), LabelUser: strconv.Itoa(os.Getuid())}},
		"network":    {host["NetworkMode"], "net"},
		"CPUs":       {host["NanoCpus"], 3e8},
		"memory":     {host["Memory"], 64.0 * (1 << 20)},
		"swap":       {host["MemorySwap"], 64.0 * (1 << 20)},
		"rights":     {host["CapAdd"], []any{"NET_ADMIN"}},
		"privileged": {host["Privileged"], false},
		"log":        {host["LogConfig"].(map[string]any)["Type"], "none"},
		"sysctls":    {host["Sysctls"], map[string]any{"net.ipv4.tcp_tw_reuse": "1"}},
		"ports": {host["PortBindings"], map[string]any{
			"80/tcp": binding("198.18.0.2", "8080"), "80/udp": binding("198.18.0.2", "8080"),
			"81/tcp": binding("", "81"), "81/udp": binding("", "81"),
		}},
		"addresses": {on["EndpointsConfig"].(map[string]any)["net"].(map[string]any)["IPAMConfig"],
			map[string]any{"IPv4Address": "198.18.1.7", "IPv6Address": "2001:2::7"}},
	} {
		must.EqualFor(t, name, p.want, p.got)
	}
	if plain := order(ContainerSpec{Network: ""}, ""); plain.HostConfig.NetworkMode != "bridge" || plain.NetworkingConfig != nil || plain.HostConfig.PortBindings != nil {
		t.Errorf("%+v", plain)
	}
}

// Old and new engines word their errors differently.
func TestKind(t *testing.T) {
	for text, want := range map[string]error{
		`Conflict. The container name "/x" is already in use by container "ab".`:                                                  ErrNameTaken,
		"network with name x already exists":                                                                                      ErrNameTaken,
		"driver failed programming external connectivity on endpoint x: Bind for 0.0.0.0:80 failed: port is already allocated":    ErrPortTaken,
		"failed to bind port 0.0.0.0:80/tcp: Error starting userland proxy: listen tcp4 0.0.0.0:80: bind: address already in use": ErrPortTaken,
		"Address already in use":                                                                                     ErrAddressTaken,
		"Pool overlaps with other one on this address space":                                                         ErrOverlap,
		"invalid pool request: Pool overlaps with other one on this address space":                                   ErrOverlap,
		"no available IPv4 addresses on this network's address pools: x (ab)":                                        ErrNoAddress,
		"could not find an available, non-overlapping IPv4 address pool among the defaults to assign to the network": ErrNoAddress,
		`plugin "x" not found`: ErrNoDriver,
		`error looking up network plugin x: plugin "x" not found`: ErrNoDriver,
		"something else": nil,
	} {
		if got := kind(errors.New(text)); !errors.Is(got, want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	e := &Engine{Name: "a"}
	err := e.fail(errors.New("Error response from daemon: port is already\n allocated"), "start %s", "x")
	if want := "engine a: start x: port is already allocated (" + ErrPortTaken.Error() + ")"; err.Error() != want || !errors.Is(err, ErrPortTaken) {
		t.Errorf("%v, want %s", err, want)
	}
}
