package hostile_test

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"tare/internal/agent"
	"tare/internal/driver"
	"tare/internal/driver/netns"
	"tare/internal/lab"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
	"tare/internal/traffic"
)

func TestMain(m *testing.M) { drivertest.Main(m) }

// maxMemory is the most memory of an agent, in bytes: several times what it takes without a neighbour,
// and a small part of what the neighbour sends.
const maxMemory = 96 << 20

// named is an error of a trial that names the neighbour's traffic as its cause.
var named = regexp.MustCompile(`\d+ (peers connected without|peers without|datagrams without) the trial's token|\d+ connections without a request are open`)

// A neighbour on the same network cannot change what a trial counts: either all is right and the trial
// reports what the neighbour sent, or the trial fails and its error says why.
func TestHostileNeighbour(t *testing.T) {
	s := drivertest.Provision(t, netns.Driver{}, "netns/colocated", nil)
	n := moveIn(t, s)
	for _, kind := range []string{"tcp_stream", "tcp_rr", "tcp_crr", "udp_stream", "udp_rr", "tcp_dns", "http", "udp_dns"} {
		datagram := strings.HasPrefix(kind, "udp")
		attacks := map[string]attack{"flood": flood, "hold": hold, "replay": replay, "fragments": fragments}
		if datagram {
			delete(attacks, "hold")
			attacks["spoof"] = spoof
		}
		old := n.earlier(t, s, kind)
		for name, a := range attacks {
			t.Run(kind+"/"+name, func(t *testing.T) {
				p := params(kind, "fedcba9876543210")
				n.sent.Store(0)
				before := s.Snapshot(t)
				trial := open(t, s, p)
				at := target{server: trial.Endpoints()[0], client: address(s, 0), datagram: datagram, old: old}
				stop := n.during(a, at, 2)
				for n.sent.Load() == 0 && t.Context().Err() == nil { // so that it comes before the client
					time.Sleep(time.Millisecond)
				}
				client, server, err := trial.Run(t.Context())
				stop()
				judge(t, kind, name, client, server, err)
				if most := peak(t, s.Ends[0].Server); most > maxMemory {
					t.Errorf("the server's agent took %d MiB; the neighbour sent %d", most>>20, n.sent.Load())
				}
				t.Logf("the neighbour sent %d; refused %d: %v; the server's agent took up to %d MiB", n.sent.Load(), refused(client, server), err, peak(t, s.Ends[0].Server)>>20)
				if err == nil {
					t.Logf("the path's proof: %v", s.Proof(t, before, []driver.Carried{driver.CarriedBy(client, server)}))
				}
			})
		}
	}
}

// judge checks what a trial beside the neighbour counted.
func judge(t *testing.T, kind, attack string, client, server traffic.Report, err error) {
	t.Helper()
	if err != nil {
		if !named.MatchString(err.Error()) {
			t.Errorf("the trial failed, and its error does not name the neighbour: %v", err)
		}
		return
	}
	if refused(client, server) == 0 && attack != "fragments" { // of which no datagram is complete
		t.Error("the trial does not report what the neighbour sent")
	}
	must.Equal(t, "", unequal(kind, client, server))
}

// refused is what runs report as foreign traffic.
func refused(client, server traffic.Report) (n int64) {
	for _, r := range []traffic.Report{client, server} {
		n += int64(r.Refused)
		if r.Datagrams != nil {
			n += *r.Datagrams.Foreign
		}
	}
	return n
}

// unequal returns how the counts of the two endpoints differ, empty if all that was sent arrived, or, of
// datagrams, if no more and nothing twice.
func unequal(kind string, client, server traffic.Report) string {
	if !strings.HasPrefix(kind, "udp") {
		if client.Sent != server.Received || server.Sent != client.Received || client.Sent == 0 || client.Connections != server.Connections {
			return fmt.Sprintf("the client sent %d and received %d bytes on %d connections, the server received %d and sent %d on %d",
				client.Sent, client.Received, client.Connections, server.Received, server.Sent, server.Connections)
		}
		return ""
	}
	c, d := client.Datagrams, server.Datagrams
	if c == nil || d == nil || len(c.Flows) != 1 || len(d.Flows) != 1 {
		return fmt.Sprintf("the datagrams are %+v and %+v", c, d)
	}
	sent, got := c.Flows[0], d.Flows[0]
	if got.Received > sent.Sent || got.ReceivedCounted > sent.SentCounted || got.Received == 0 || *d.Duplicates > 0 || *c.Duplicates > 0 || sent.Received > got.Sent {
		return fmt.Sprintf("the client sent %+v, the server received %+v, %d and %d twice", sent, got, *c.Duplicates, *d.Duplicates)
	}
	return ""
}

// earlier runs a trial without an attack and returns what the client sent.
func (n *neighbour) earlier(t *testing.T, s *drivertest.Setup, kind string) seen {
	t.Helper()
	trial := open(t, s, params(kind, "0123456789abcdef"))
	stop := n.watch(t, lab.VethName(0))
	client, server, err := trial.Run(t.Context())
	all := stop(trial.Endpoints()[0])
	if err != nil {
		t.Fatalf("%s without an attack: %v", kind, err)
	}
	if diff := unequal(kind, client, server); diff != "" || refused(client, server) > 0 {
		t.Errorf("%s without an attack: %s; refused %d", kind, diff, refused(client, server))
	}
	return all
}

func params(kind, token string) traffic.Params {
	p := drivertest.Params(kind)
	p.Token, p.Limit = token, 10*time.Second
	return p
}

// open opens the server's port of a trial.
func open(t *testing.T, s *drivertest.Setup, p traffic.Params) *agent.Trial {
	t.Helper()
	listen, dial := must.Get2(s.Path.Pairs[0].Server.Reach(false))(t)
	client, server := p, p
	client.Address, server.Address = dial.String(), listen.String()
	trial := must.Get(agent.Begin(t.Context(), s.Ends[0].Client, s.Ends[0].Server, client, server))(t)
	return trial
}

// address is the IPv4 address of a sandbox, by its number.
func address(s *drivertest.Setup, number int) netip.Addr {
	return s.Lab.Addresses(lab.NetA, 2+number)[0].Addr()
}

// peak is the most memory that an agent has had, in bytes.
func peak(t *testing.T, c *agent.Client) int64 {
	t.Helper()
	text := must.Get(os.ReadFile(filepath.Join("/proc", strconv.Itoa(c.Hello.PID), "status")))(t)
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		t.Fatal("no VmHWM")
	}
	kib := must.Get(strconv.ParseInt(fields[0], 10, 64))(t)
	return kib << 10
}
