package existing_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	"tare/internal/driver"
	"tare/internal/driver/existing"
	"tare/internal/engine"
	"tare/internal/engine/private"
	"tare/internal/lab"
	"tare/internal/runid"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
)

// speak returns a client of an engine, for what its user does there.
func speak(t *testing.T, p *private.Engine) *client.Client {
	t.Helper()
	c := must.Get(client.New(client.WithHost("unix://" + p.Socket())))(t)
	t.Cleanup(func() { _ = c.Close() }) // idle connections only
	return c
}

// furnish creates an image, a network and a container of the user on an engine.
func furnish(t *testing.T, c *client.Client) {
	t.Helper()
	var image bytes.Buffer
	w := tar.NewWriter(&image)
	must.Do(t, w.WriteHeader(&tar.Header{Name: "file", Size: 0, Mode: 0o644}))
	must.Do(t, w.Close())
	got := must.Get(c.ImageImport(t.Context(), client.ImageImportSource{Source: &image, SourceName: "-"}, "mine", client.ImageImportOptions{Tag: "latest"}))(t)
	must.Get(io.Copy(io.Discard, got))(t)
	must.Get(c.NetworkCreate(t.Context(), "home", client.NetworkCreateOptions{}))(t)
	must.Get(c.ContainerCreate(t.Context(), client.ContainerCreateOptions{
		Name: "own", Config: &container.Config{Image: "mine", Cmd: []string{"/file"}},
		NetworkingConfig: &network.NetworkingConfig{EndpointsConfig: map[string]*network.EndpointSettings{"home": {}}},
	}))(t)
}

// inventory lists everything on an engine.
func inventory(t *testing.T, c *client.Client) []string {
	t.Helper()
	ctx := context.Background()
	var all []string
	containers := must.Get(c.ContainerList(ctx, client.ContainerListOptions{All: true}))(t)
	for _, o := range containers.Items {
		all = append(all, fmt.Sprint("container ", o.ID, o.Names, o.Image, o.Labels, o.Created))
	}
	networks := must.Get(c.NetworkList(ctx, client.NetworkListOptions{}))(t)
	for _, o := range networks.Items {
		all = append(all, fmt.Sprint("network ", o.ID, o.Name, o.Labels, o.Options))
	}
	images := must.Get(c.ImageList(ctx, client.ImageListOptions{All: true}))(t)
	for _, o := range images.Items {
		all = append(all, fmt.Sprint("image ", o.ID, o.RepoTags, o.Labels))
	}
	slices.Sort(all)
	return all
}

// unchanged compares what is on an engine now with what is there at the end of the test.
func unchanged(t *testing.T, c *client.Client) {
	t.Helper()
	before := inventory(t, c)
	t.Cleanup(func() {
		must.EqualFor(t, "the user's engine", before, inventory(t, c))
	})
}

func order(t *testing.T, mode string) driver.Order {
	t.Helper()
	return drivertest.SpecOn(drivertest.Spec(t, func(l *lab.Spec) { l.Label = mode }), driver.Order{Mode: mode, Pairs: 1}).Order
}

// An impossible mode is reported in one line before any traffic, and nothing is left. A
// port in use is skipped.
func TestExistingRefuses(t *testing.T) {
	t.Parallel()
	s := stand(t)
	c := speak(t, s.a)
	furnish(t, c)
	tiny := s.lab.Addresses(lab.NetOverlay, 0)[0].Masked()
	must.Get(s.a.CreateNetwork(t.Context(), engine.NetworkSpec{Name: "tiny", Subnet: tiny.Masked(), Range: tiny}))(t)
	unchanged(t, c)
	g := connect(t, false, s.hosts...)
	run := stay(t, g)
	first := drivertest.SpecOn(run, driver.Order{Pairs: 1}).Order
	// From here on both hosts have a monitor and the image.
	checkMode(t, g, drivertest.SpecOn(run, driver.Order{Mode: "docker/host"}).Order)
	before := inventory(t, c)
	for name, tt := range map[string]struct {
		mode    string
		options map[string]string
		want    string
	}{
		"unknown network":    {"docker/network:nowhere", nil, "unknown network \"nowhere\""},
		"network of no kind": {"docker/network:none", nil, "driver null"},
		"unknown driver":     {"docker/driver:nonesuch", nil, "nonesuch"},
		"subnet overlaps":    {"docker/driver:bridge", map[string]string{"subnet": tiny.String()}, "overlap"},
		"no subnet at all":   {"docker/driver:bridge", map[string]string{"subnet": "wide"}, "it must be an IPv4 prefix"},
		"range elsewhere":    {"docker/driver:bridge", map[string]string{"ip-range": "192.0.2.0/28"}, "part of the network's subnet"},
		"no Swarm":           {"docker/overlay", nil, "docker swarm init --advertise-addr"},
		"unknown link":       {"docker/macvlan", nil, "parent"},
		"addresses twice":    {"docker/driver:bridge", nil, "ip-range"},
		"encryption":         {"docker/overlay-encrypted", nil, "cannot show that packets were encrypted"},
	} {
		o := first
		o.Mode, o.Options, o.Label = tt.mode, tt.options, tt.mode
		p, err := g.Provision(t.Context(), o)
		if err == nil {
			t.Errorf("%s: provisioned", name)
			_ = p.Close(context.Background())
			continue
		}
		t.Logf("%s: %v", name, err)
		if !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v; want one line with %q", name, err, tt.want)
		}
	}
	for mode, want := range map[string]string{
		"docker/network:nowhere": "mode docker/network:nowhere: unknown network \"nowhere\" of the engine of host a", "docker/network:none": "driver null",
		"docker/network:tiny": "unknown network \"tiny\" of the engine of host b", "docker/bridge": "", "docker/network:bridge": "", "docker/published": "", "netns/bridge": "",
	} {
		if err := g.Check(t.Context(), []string{"docker/host", mode}); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("check of %s: %v, want %q", mode, err, want)
		}
	}
	must.EqualFor(t, "left of what was refused", before, inventory(t, c))
}

// An engine without a default bridge is known before anything is made.
func TestExistingWithoutBridge(t *testing.T) {
	var asked []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method)
		w.Header().Set("Content-Type", "application/json")
		switch {
		case strings.HasSuffix(r.URL.Path, "/networks"):
			_, _ = fmt.Fprint(w, `[{"Name":"host","Driver":"host"},{"Name":"none","Driver":"null"},{"Name":"shop","Driver":"bridge"}]`)
		case strings.HasSuffix(r.URL.Path, "/networks/shop"):
			_, _ = fmt.Fprint(w, `{"Name":"shop","Driver":"bridge","Scope":"local"}`)
		default:
			w.Header().Set("Api-Version", "1.44")
			_, _ = fmt.Fprint(w, `{}`)
		}
	}))
	t.Cleanup(s.Close)
	g := existing.New([]existing.Host{{Name: "left", Target: strings.Replace(s.URL, "http", "tcp", 1)}}, false)
	t.Cleanup(func() { must.Do(t, g.Close()) })
	err := g.Check(t.Context(), []string{"docker/host", "docker/network:shop", "docker/published"})
	if err == nil || !strings.Contains(err.Error(), "mode docker/published: the engine of host left has no default bridge") {
		t.Errorf("%v", err)
	}
	must.Do(t, g.Check(t.Context(), []string{"docker/host", "docker/network:shop", "docker/driver:macvlan"}))
	if slices.ContainsFunc(asked, func(method string) bool { return method != "GET" && method != "HEAD" }) {
		t.Errorf("asked by %v", asked)
	}
}

func TestExistingPassesOverTakenPorts(t *testing.T) {
	s := stand(t)
	unchanged(t, speak(t, s.b))
	var taken net.Listener
	must.Do(t, s.lab.B.NS.Do(func() (err error) {
		taken, err = net.Listen("tcp", "0.0.0.0:5201")
		return err
	}))
	defer taken.Close()
	g := connect(t, false, s.hosts...)
	p := must.Get(g.Provision(t.Context(), order(t, "docker/published")))(t)
	defer func() { must.Do(t, p.Close(context.Background())) }()
	if at := p.Pairs[0].Server.Dial[0]; at.Port() != 5202 || !strings.Contains(fmt.Sprint(p.Facts), at.String()) {
		t.Errorf("published at %s; the facts are %v", at, p.Facts)
	}
}

// A relay is never taken for address translation, nor the reverse: neither if the engine is
// configured that way, nor if it changes during the run.
func TestExistingRelayOrTranslation(t *testing.T) {
	drivertest.NeedEngine(t)
	l := drivertest.Lab(t, nil)
	start := func(h *lab.Host, args ...string) *existing.Driver {
		p := must.Get(private.Start(t.Context(), l, h, args...))(t)
		t.Cleanup(func() { must.Do(t, p.Close()) })
		return connect(t, false, existing.Host{Target: "unix://" + p.Socket()})
	}
	relays, translates := start(l.A, "--iptables=false"), start(l.B, "--userland-proxy=false")
	for mode, g := range map[string]*existing.Driver{"docker/published": relays, "docker/userland-proxy": translates} {
		_, err := g.Provision(t.Context(), order(t, mode))
		u, ok := driver.AsUnsupported(err)
		if !ok {
			t.Errorf("%s: %v", mode, err)
			continue
		}
		t.Log(u)
	}
	// Nothing is changed on an engine of a user.
	variant := order(t, "docker/published")
	variant.With = map[string]string{"seccomp": driver.Off}
	_, err := translates.Provision(t.Context(), variant)
	if u, ok := driver.AsUnsupported(err); !ok || !strings.Contains(u.Reason, "existing engine") {
		t.Errorf("a variant on an existing engine: %v", err)
	}
}

// Changes during the run are detected: removed rules, which leave a port to docker-proxy,
// and a removed container.
func TestExistingChangesUnderWay(t *testing.T) {
	s := stand(t)
	g := connect(t, false, s.hosts...)
	at := drivertest.BuildOn(t, g, order(t, "docker/published"))
	if _, _, err := at.Trial(t, drivertest.Params("tcp_stream"), false); err != nil {
		t.Fatal(err)
	}
	flush := exec.Command("iptables", "-t", "nat", "-F", "DOCKER")
	must.Do(t, s.lab.B.NS.Start(flush))
	must.Do(t, flush.Wait())
	_, _, err := at.Trial(t, drivertest.Params("tcp_stream"), false)
	must.FailFor(t, "through docker-proxy", err, "not proven")

	c := speak(t, s.b)
	list, err := c.ContainerList(t.Context(), client.ContainerListOptions{Filters: client.Filters{}.Add("label", engine.LabelPart+"=server")})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("%d containers: %v", len(list.Items), err)
	}
	must.Get(c.ContainerRemove(t.Context(), list.Items[0].ID, client.ContainerRemoveOptions{Force: true}))(t)
	must.Fail(t, must.Err(at.Path.Snapshot(t.Context())), "b/server was removed")
}

// These environment variables make a child process of the tests build these modes on these
// engines, separated by spaces, and wait.
const (
	existingModes   = "TARE_TEST_MODES"
	existingSockets = "TARE_TEST_SOCKETS"
	existingWait    = "TARE_TEST_WAIT"
)

// TestExistingChild is the child process's part; on its own it does nothing.
func TestExistingChild(t *testing.T) {
	modes := strings.Fields(os.Getenv(existingModes))
	if len(modes) == 0 {
		return
	}
	var hosts []existing.Host
	for _, socket := range strings.Fields(os.Getenv(existingSockets)) {
		hosts = append(hosts, existing.Host{Target: "unix://" + socket})
	}
	g := connect(t, false, hosts...)
	if os.Getenv(existingWait) == "" {
		for _, mode := range modes {
			checkMode(t, g, drivertest.SpecOn(drivertest.Spec(t, nil), driver.Order{Mode: mode}).Order)
		}
		return
	}
	spec := drivertest.Spec(t, nil)
	for _, mode := range modes {
		spec.Label = mode
		must.Get(g.Provision(t.Context(), drivertest.SpecOn(spec, driver.Order{Mode: mode, Pairs: 1}).Order))(t)
	}
	fmt.Println("standing", spec.Claim.ID)
	time.Sleep(time.Hour)
}

func child(t *testing.T, s standing, modes string, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", "-test.run", "^TestExistingChild$", "-test.v")
	cmd.Env = append(append(os.Environ(), existingModes+"="+modes, existingSockets+"="+s.a.Socket()), env...)
	return cmd
}

// An ordinary user who may use the socket needs no other privileges.
func TestExistingAsOrdinaryUser(t *testing.T) {
	s := stand(t)
	unchanged(t, speak(t, s.a))
	// Equivalent to membership in the socket's group: access to its directory and
	// permission to use it.
	must.Do(t, errors.Join(os.Chmod(s.a.Dir(), 0o711), os.Chmod(s.a.Socket(), 0o666)))
	cmd := child(t, s, "docker/published docker/userland-proxy")
	const nobody = 65534
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	cmd.Dir = "/"
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("--- PASS: TestExistingChild")) {
		t.Errorf("%v:\n%s", err, out)
	}
}

// What a killed run left is found by its labels, and nothing else.
func TestExistingKilled(t *testing.T) {
	s := stand(t)
	c := speak(t, s.a)
	furnish(t, c)
	unchanged(t, c)
	cmd := child(t, s, "docker/published docker/driver:bridge", existingWait+"=1")
	out := must.Get(cmd.StdoutPipe())(t)
	must.Do(t, cmd.Start())
	var run string
	text := new(bytes.Buffer)
	for buf := make([]byte, 1024); run == ""; {
		n, err := out.Read(buf)
		text.Write(buf[:n])
		if _, rest, ok := strings.Cut(text.String(), "standing "); ok && len(rest) >= 8 {
			run = rest[:8]
		}
		if err != nil {
			break
		}
	}
	must.Do(t, cmd.Process.Kill())
	_ = cmd.Wait() // it was killed
	if run == "" {
		t.Fatalf("it was never set up: %s", text)
	}
	left, err := s.a.Leftovers(t.Context(), runid.Claims{{Run: run}})
	must.EqualFor(t, "left of a run that is alive", []any{nil, 0}, []any{err, len(left)})
	alive := must.Get(lab.Alive())(t)
	left = must.Get(s.a.Leftovers(t.Context(), alive))(t)
	kinds := map[string]int{}
	for _, l := range left {
		kind, _, _ := strings.Cut(l.What, " ")
		kinds[kind]++
		must.EqualFor(t, l.What+": run", run, l.Run)
		must.Equal(t, nil, l.Remove(t.Context()))
	}
	if kinds["container"] < 4 || kinds["network"] != 1 || kinds["image"] != 1 {
		t.Errorf("found %v", kinds)
	}
}
