package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"tare/internal/testkit/must"
)

const testRun = "0123abcd"

// scripted is an engine whose answers a test writes, by method and path without the version, such as "GET /info". What has no
// answer is found and empty.
type scripted struct {
	*Engine
	mu    sync.Mutex
	asked []string
}

func newScripted(t *testing.T, answers map[string]func(w http.ResponseWriter)) *scripted {
	t.Helper()
	s := &scripted{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request := r.Method + " " + strings.TrimPrefix(r.URL.Path, "/v"+MinAPI)
		s.mu.Lock()
		s.asked = append(s.asked, request)
		s.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		switch answer := answers[request]; {
		case answer != nil:
			answer(w)
		case r.Method == http.MethodDelete:
			w.WriteHeader(http.StatusNoContent)
		case strings.HasSuffix(request, "/json") || request == "GET /networks":
			_, _ = io.WriteString(w, "[]")
		default:
			_, _ = io.WriteString(w, "{}")
		}
	}))
	t.Cleanup(server.Close)
	s.Engine = must.Get(New("x", Local{}, client.WithHost("tcp://"+server.Listener.Addr().String()), client.WithAPIVersion(MinAPI)))(t)
	t.Cleanup(func() { _ = s.Disconnect() }) // it only has idle connections
	s.images.id = map[string]string{testRun: "image"}
	return s
}

// got reports whether the engine was asked.
func (s *scripted) got(request string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.asked, request)
}

// says answers with a text, and fails with one.
func says(text string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) { _, _ = io.WriteString(w, text) }
}

func fails(why string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = fmt.Fprintf(w, `{"message":%q}`, why)
	}
}

// labelled are the labels of an object of testRun.
func labelled(t *testing.T, part string) string {
	t.Helper()
	return string(must.Get(json.Marshal(labels(testRun, part)))(t))
}

// A list that an engine does not give keeps nothing that the others have, and is reported.
func TestListFails(t *testing.T) {
	const leaderless = "The swarm does not have a leader"
	for list, want := range map[string]string{"GET /containers/json": "list its containers", "GET /networks": "list its networks", "GET /images/json": "list its images", "GET /info": "get its Swarm state", "GET /services": "list its services"} {
		answers := map[string]func(http.ResponseWriter){
			"GET /info":            says(`{"Swarm":{"NodeID":"n","LocalNodeState":"active","ControlAvailable":true}}`),
			"GET /containers/json": says(`[{"Id":"c","Names":["/c"],"Labels":` + labelled(t, "client") + `}]`),
			"GET /networks":        says(`[{"Id":"n","Name":"n","Scope":"local","Labels":` + labelled(t, "network") + `}]`),
		}
		answers[list] = fails(leaderless)
		e := newScripted(t, answers)
		must.Fail(t, e.RemoveRun(t.Context(), testRun), "engine x: "+want+": "+leaderless)
		for lister, removal := range map[string]string{"GET /containers/json": "DELETE /containers/c", "GET /networks": "DELETE /networks/n"} {
			must.Equal(t, lister != list, e.got(removal))
		}
	}
}

// What an engine creates while ctx ends is removed, and nothing is created after that.
func TestCreatedWhileCancelled(t *testing.T) {
	node := func(e *scripted) SwarmNode {
		return SwarmNode{Engine: e.Engine, Addr: netip.MustParseAddr("192.0.2.1")}
	}
	for create, c := range map[string]struct {
		removal string
		do      func(context.Context, *scripted) error
	}{
		"POST /containers/create": {"DELETE /containers/made", func(ctx context.Context, e *scripted) error {
			_, err := e.Run(ctx, ContainerSpec{Run: testRun, Name: "c"})
			return err
		}},
		"POST /networks/create": {"DELETE /networks/made", func(ctx context.Context, e *scripted) error {
			_, err := e.CreateNetwork(ctx, NetworkSpec{Run: testRun, Name: "n"})
			return err
		}},
		"POST /services/create": {"DELETE /services/made", func(ctx context.Context, e *scripted) error {
			_, err := e.RunService(ctx, ServiceSpec{ContainerSpec: ContainerSpec{Run: testRun, Name: "s"}, Node: e.Engine})
			return err
		}},
		"POST /swarm/init": {"POST /swarm/leave", func(ctx context.Context, e *scripted) error { return NewSwarm(ctx, Pool{}, node(e)) }},
		"POST /swarm/join": {"POST /swarm/leave", func(ctx context.Context, e *scripted) error { return NewSwarm(ctx, Pool{}, node(e), node(e)) }},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		answers := map[string]func(http.ResponseWriter){
			create: func(w http.ResponseWriter) {
				cancel()
				time.Sleep(50 * time.Millisecond) // longer than a client needs to notice
				_, _ = io.WriteString(w, map[bool]string{true: `"made"`, false: `{"Id":"made","ID":"made"}`}[strings.HasSuffix(create, "init")])
			},
			"GET /info": says(`{"Swarm":{"NodeID":"n","LocalNodeState":"active","ControlAvailable":true}}`),
		}
		if create != "POST /swarm/init" {
			answers["POST /swarm/init"] = says(`"made"`)
		}
		e := newScripted(t, answers)
		if err := c.do(ctx, e); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", create, err)
		}
		must.EqualFor(t, create, true, e.got(c.removal))
		e.asked = nil
		if err := c.do(ctx, e); !errors.Is(err, context.Canceled) || e.got(create) {
			t.Errorf("%s after the end: %v, %v", create, err, e.asked)
		}
	}
}

// The record of a Swarm that an engine could not leave, or whose begin it does not tell, stays for the next gc.
func TestSwarmRecordStays(t *testing.T) {
	for name, c := range map[string]struct{ request, record string }{
		"not left": {"POST /swarm/leave", Name(testRun, partSwarm, "n")},
		"no begin": {"GET /swarm", Name(testRun, partSwarm)},
	} {
		answers := map[string]func(http.ResponseWriter){
			"GET /info":            says(`{"Swarm":{"NodeID":"n","LocalNodeState":"active","ControlAvailable":true}}`),
			"GET /services":        says("[]"),
			"GET /containers/json": says(`[{"Id":"record","Names":["/` + c.record + `"],"Labels":` + labelled(t, partSwarm) + `}]`),
		}
		for _, fail := range []bool{true, false} {
			if answers[c.request] = nil; fail {
				answers[c.request] = fails("The swarm does not have a leader")
			}
			e := newScripted(t, answers)
			must.EqualFor(t, name, fail, e.RemoveRun(t.Context(), testRun) != nil)
			must.EqualFor(t, name, !fail, e.got("DELETE /containers/record"))
		}
	}
}

// A node of a Swarm is recorded as soon as it has joined, before the nodes are ready.
func TestJoinedIsCalledAtOnce(t *testing.T) {
	var joined int
	e := newScripted(t, map[string]func(http.ResponseWriter){
		"POST /swarm/init": says(`"n"`),
		"GET /nodes":       fails("The swarm does not have a leader"),
	})
	node := SwarmNode{Engine: e.Engine, Addr: netip.MustParseAddr("192.0.2.1"), Joined: func(context.Context) error {
		must.True(t, !e.got("GET /nodes"), "called after the nodes were listed")
		joined++
		return nil
	}}
	must.Fail(t, NewSwarm(t.Context(), Pool{}, node, node), "list its nodes")
	must.Equal(t, 2, joined)
}

// An engine that goes on to join the Swarm of a run after it answered with an error leaves it; one that is in another Swarm does not.
func TestLateJoin(t *testing.T) {
	for through, leaves := range map[string]bool{"192.0.2.1:2377": true, "192.0.2.9:2377": false, "": false} {
		manager := newScripted(t, map[string]func(http.ResponseWriter){"POST /swarm/init": says(`"m"`), "GET /info": says(`{"Swarm":{"NodeID":"m","LocalNodeState":"active","ControlAvailable":true}}`)})
		worker := newScripted(t, map[string]func(http.ResponseWriter){
			"POST /swarm/join": fails("Timeout was reached before node joined."),
			"GET /info":        says(`{"Swarm":{"LocalNodeState":"pending","RemoteManagers":[{"NodeID":"","Addr":"` + through + `"}]}}`),
		})
		err := NewSwarm(t.Context(), Pool{}, SwarmNode{Engine: manager.Engine, Addr: netip.MustParseAddr("192.0.2.1")}, SwarmNode{Engine: worker.Engine, Addr: netip.MustParseAddr("192.0.2.2")})
		must.FailLine(t, through, err, "create a Swarm of 2 engines: ", "join it: Timeout was reached before node joined.")
		must.EqualFor(t, through, []bool{true, leaves}, []bool{manager.got("POST /swarm/leave"), worker.got("POST /swarm/leave")})
	}
}
