//go:build linux

package linuxnet_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"tare/internal/linuxnet"
	"tare/internal/testkit/must"
	"tare/internal/testkit/nstest"
	"tare/internal/testkit/testneed"
)

func TestMain(m *testing.M) {
	nstest.Enter()
	m.Run()
}

// Rules that drop are found with their counters; rules that only look like it are not.
func TestDropRules(t *testing.T) {
	testneed.NotShort(t)
	if err := linuxnet.Try(); err != nil {
		testneed.Missing(t, testneed.Labs, err)
	}
	if _, err := exec.LookPath("nft"); err != nil {
		testneed.Missing(t, testneed.NFT, err)
	}
	ns := must.Get(linuxnet.NewNS("tare-droprules"))(t)
	defer ns.Close()
	nft := exec.Command("nft", "-f", "-")
	nft.Stdin = strings.NewReader(`table ip t {
	counter named { packets 7 bytes 700 }
	chain c {
		type filter hook input priority 0; policy accept;
		udp dport 1 counter packets 5 bytes 500 drop
		udp dport 2 counter packets 6 bytes 600 accept
		counter packets 8 bytes 800 udp dport 3 drop
		udp dport 4 counter name named drop
		udp dport 5 drop
		udp dport 6 counter packets 9 bytes 900 reject
	}
}
`)
	must.Do(t, ns.Start(nft))
	must.Do(t, nft.Wait())
	rules := must.Get(ns.Rules().DropRules())(t)
	var counts []uint64
	for _, r := range rules {
		must.True(t, strings.HasPrefix(r.Where, "ip t c "), "a rule at %q", r.Where)
		if r.Counted {
			counts = append(counts, r.Packets)
		}
	}
	must.True(t, len(rules) == 5 && slices.Equal(counts, []uint64{5, 7, 9}), "rules %+v: want five that drop, of which three have counted 5, 7 and 9 packets that they dropped", rules)
}

// The root queueing discipline includes the drops of its children.
func TestQdiscDrops(t *testing.T) {
	testneed.NotShort(t)
	if err := linuxnet.Try(); err != nil {
		testneed.Missing(t, testneed.Labs, err)
	}
	ns := must.Get(linuxnet.NewNS("tare-qdiscs"))(t)
	defer ns.Close()
	must.Do(t, ns.Links().Veth(linuxnet.Device{Name: "one"}, ns, linuxnet.Device{Name: "two"}))
	must.Do(t, ns.Tuning().Limit("one", 1e6, 1500))
	found := must.Get(ns.Tuning().QdiscDrops())(t)
	i := slices.IndexFunc(found, func(q linuxnet.QdiscDrops) bool { return q.Device == "one" })
	must.True(t, i >= 0 && found[i].Kind == "tbf" && found[i].Drops == 0 && !slices.ContainsFunc(found[i+1:], func(q linuxnet.QdiscDrops) bool { return q.Device == "one" }),
		"found %+v, want one tbf of the device one that has dropped nothing", found)
	kinds := must.Get(ns.Links().Kinds())(t)
	must.EqualFor(t, "the kind of one", "veth", kinds["one"])
}
