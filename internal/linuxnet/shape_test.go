//go:build linux

package linuxnet

import (
	"os"
	"sync"
	"testing"

	"github.com/vishvananda/netlink"

	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
)

func needNS(t *testing.T) *NS {
	t.Helper()
	testneed.NotShort(t)
	ns, err := NewNS("tare-test-linuxnet")
	if err != nil {
		testneed.Missing(t, testneed.Labs, err)
	}
	t.Cleanup(func() { ns.Close() })
	return ns
}

func TestLimit(t *testing.T) {
	ns := needNS(t)
	must.Do(t, ns.Links().Veth(Device{Name: "x0"}, ns, Device{Name: "x1"}))
	for _, rate := range []uint64{1e6, 1e9, 100e9} {
		must.Do(t, ns.Tuning().Limit("x0", rate, 1500))
		l := must.Get(ns.Links().link("x0"))(t)
		qs, err := ns.handle.QdiscList(l)
		must.Require(t, err == nil && len(qs) == 1, "%d qdiscs, %v", len(qs), err)
		tbf, ok := qs[0].(*netlink.Tbf)
		must.True(t, ok && tbf.Rate == rate/8, "asked for %d bit/s, got %+v", rate, qs[0])
	}
}

func TestErrorsNameWhatTheyAreAbout(t *testing.T) {
	ns := needNS(t)
	err := ns.Links().Up("nothing0")
	if want := "find nothing0 in namespace tare-test-linuxnet: Link not found"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// /proc/self refers to the main thread, which must not be left in another namespace.
func TestDoKeepsTheMainThread(t *testing.T) {
	ns := needNS(t)
	before := must.Get(os.Readlink("/proc/self/ns/net"))(t)
	var wg sync.WaitGroup
	for range 200 {
		wg.Go(func() {
			err := ns.Do(func() error {
				inside, err := os.Readlink("/proc/thread-self/ns/net")
				must.True(t, inside != before, "Do ran outside of the namespace")
				return err
			})
			must.True(t, err == nil, "%v", err)
		})
	}
	wg.Wait()
	must.EqualFor(t, "the main thread is in", before, must.Get(os.Readlink("/proc/self/ns/net"))(t))
}
