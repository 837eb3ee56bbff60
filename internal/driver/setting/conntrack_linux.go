package setting

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"tare/internal/driver"
	"tare/internal/driver/pathspec"
	"tare/internal/linuxnet"
)

// trackTable is the nftables table with the rules of tracking.
const trackTable = "tare-tracking"

// tracking applies whether connections are tracked, and how many entries their table has.
type tracking struct {
	*application
	// translates are the places where a rule of the mode matches the first packet of each
	// connection, as those of address translation do.
	translates map[string]bool
}

// set has the kernel track the connections of every namespace with an IP stack on the
// path, or exempts all packets there.
func (a tracking) set(value string) error {
	var done []string
	for _, w := range a.places {
		routes, err := a.routes(w)
		if err != nil {
			return err
		}
		if !routes {
			continue
		}
		if value == on {
			err = a.track(w)
		} else {
			err = a.untrack(w)
		}
		if err != nil {
			return err
		}
		done = append(done, w.At)
	}
	if len(done) == 0 {
		return a.unsupported(nameTracking, value, "no namespace of the path has an IP stack on it")
	}
	text := "proven by the packets that begin a tracked connection"
	if value == off {
		text = "proven by the packets that are exempt, and none that is tracked"
	}
	a.fact(nameTracking, value, done, text)
	return nil
}

// routes reports whether packets of the path pass the IP hooks of a namespace: those of an
// endpoint and of a router. One that only bridges has no part in it.
func (a tracking) routes(w place) (bool, error) {
	for _, p := range a.path.Pairs() {
		if p.Client.Stack == w.At || p.Server.Stack == w.At {
			return true, nil
		}
	}
	forwards, err := w.ns.ReadSysctl("net/ipv4/ip_forward")
	return forwards == "1", err
}

// connections is the rule that a counter of a place sees the connections of the pair that it is an endpoint of, or of
// all pairs if it is of no pair or of several.
func (a tracking) connections(w place, counter string) driver.Rule {
	of := driver.Rule{Counter: counter, Expect: driver.Connections}
	all := of
	for i, p := range a.path.Pairs() {
		if p.Client.Stack != w.At && p.Server.Stack != w.At {
			continue
		}
		if of.Pair != pathspec.AllPairs {
			return all
		}
		of.Pair = i + 1
	}
	return of
}

// track proves connection tracking by the first packet of each connection.
func (a tracking) track(w place) error {
	if err := w.ns.Rules().TrackAll(trackTable); err != nil {
		return err
	}
	counter := pathspec.CounterName(w.At, nameTracking, "new_packets")
	a.path.AddRules(a.connections(w, counter))
	a.readTable(w, trackTable, func(counts map[string]linuxnet.Count, into driver.Counters) {
		into[counter] = counts[linuxnet.CountNew].Packets
	})
	return nil
}

// untrack is refused where the path needs connection tracking. Packets on loopback stay
// tracked unless the path uses it: the addresses of an engine's DNS server are translated
// there.
func (a tracking) untrack(w place) error {
	needs, err := a.needsTracking(w)
	if err != nil {
		return err
	}
	if needs != "" {
		return a.unsupported(nameTracking, off, "%s in %s, which needs connection tracking", needs, w.At)
	}
	except := loopback
	if a.onPath(w.Place, loopback) {
		except = ""
	}
	if err := w.ns.Rules().UntrackAll(trackTable, except); err != nil {
		return err
	}
	exempt, tracked := pathspec.CounterName(w.At, nameTracking, "untracked_packets"), pathspec.CounterName(w.At, nameTracking, "tracked_packets")
	a.path.AddRules(a.connections(w, exempt), driver.Rule{Counter: tracked, Expect: driver.NoMatch})
	a.readTable(w, trackTable, func(counts map[string]linuxnet.Count, into driver.Counters) {
		into[exempt], into[tracked] = counts[linuxnet.CountUntracked].Packets, counts[linuxnet.CountAny].Packets
	})
	return nil
}

// needsTracking returns what needs connection tracking on the path, empty if nothing does.
func (a tracking) needsTracking(w place) (string, error) {
	if a.translates[w.At] {
		return "rules of the mode, such as address translation, match each connection", nil
	}
	endpoint := slices.ContainsFunc(a.path.Pairs(), func(p driver.Pair) bool { return p.Client.Stack == w.At || p.Server.Stack == w.At })
	if endpoint {
		return "", nil
	}
	filters, err := w.ns.Rules().Filters()
	if err == nil && slices.ContainsFunc(filters, func(f linuxnet.Filter) bool { return f.Hook == "forward" && f.Drops }) {
		return "packets that belong to no connection are dropped", nil
	}
	return "", err
}

// fill adds entries to the connection tracking tables, and again each time these are
// flushed.
func (a tracking) fill(value string) error {
	n, err := strconv.Atoi(value)
	if err != nil {
		return err
	}
	var done []place
	for _, w := range a.places {
		tracks, err := a.tracks(w)
		if err != nil {
			return err
		}
		if !tracks {
			continue
		}
		if err := a.checkSpace(w, n); err != nil {
			return err
		}
		if err := w.ns.Rules().FillConntrack(n); err != nil {
			return err
		}
		done = append(done, w)
		a.readBack(nameFill, w, map[string]string{"entries": fmt.Sprintf("%d or more", n)}, func() (map[string]string, error) { return filled(w, n) })
	}
	if len(done) == 0 {
		return a.unsupported(nameFill, value, "nothing on the path tracks connections; add tracking: on")
	}
	a.path.AfterFlush(func(context.Context) error { return refill(done, n) })
	var at []string
	for _, w := range done {
		at = append(at, w.At)
	}
	a.fact(nameFill, value, at, "the number of entries is read back around every trial")
	return nil
}

// tracks reports whether connections are tracked in a namespace.
func (a tracking) tracks(w place) (bool, error) {
	routes, err := a.routes(w)
	if err != nil || !routes || a.with[nameTracking] == on {
		return routes, err
	}
	return w.ns.Rules().Translates()
}

// entries returns how many entries the namespace has, and at most.
func entries(w place) (driver.ConnTrack, error) {
	t, tracks, err := pathspec.NamespaceStack{NS: w.ns}.ReadTracked(context.Background())
	if err == nil && !tracks {
		err = fmt.Errorf("read the connection tracking of %s: the kernel does not tell its size", w.At)
	}
	return t, err
}

// checkSpace returns an error if the table has no room. Its maximum belongs to the machine,
// so it is not changed.
func (a tracking) checkSpace(w place, n int) error {
	t, err := entries(w)
	if err != nil {
		return err
	}
	if most := t.Max - t.Max/10; uint64(n) > most {
		return a.unsupported(nameFill, strconv.Itoa(n), "the table of %s has room for %d entries, by net.netfilter.nf_conntrack_max, a setting of the whole machine; use %d or less", w.At, t.Max, most)
	}
	return nil
}

func filled(w place, n int) (map[string]string, error) {
	t, err := entries(w)
	text := strconv.FormatUint(t.Count, 10)
	if t.Count >= uint64(n) {
		text = fmt.Sprintf("%d or more", n)
	}
	return map[string]string{"entries": text}, err
}

// refill adds the entries where a flush has removed them.
func refill(at []place, n int) error {
	for _, w := range at {
		t, err := entries(w)
		if err == nil && t.Count < uint64(n) {
			err = w.ns.Rules().FillConntrack(n)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
