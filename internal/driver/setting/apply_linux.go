package setting

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"tare/internal/driver"
	"tare/internal/driver/pathspec"
	"tare/internal/linuxnet"
	"tare/internal/result"
)

// Apply applies the settings in with to a path that is complete, reads them back, and adds
// the counters and rules that prove them in every trial. Keys that are no settings, such as
// the parts of a mode, are ignored. Nothing outside the path's own namespaces is changed. It
// returns a *driver.Unsupported error if the kernel refuses a setting or uses another value.
func Apply(p *pathspec.Path, with map[string]string) error {
	a := &application{path: p, with: with}
	if err := a.findPlaces(); err != nil {
		return err
	}
	appliers := a.appliers()
	for _, s := range All() {
		value, requested := with[s.Name]
		if !requested {
			continue
		}
		if !s.Valid(value) {
			return fmt.Errorf("apply %s to %s: %q is not %s", s.Name, p.Mode, value, s.Values)
		}
		if err := appliers[s.Name](value); err != nil {
			return a.refused(s.Name, value, err)
		}
	}
	if err := a.check(); err != nil {
		return err
	}
	if len(a.readBacks) > 0 {
		p.AddReader(a.readBackCounters())
	}
	return nil
}

// application is what one call of Apply does.
type application struct {
	path      *pathspec.Path
	with      map[string]string
	places    []place
	readBacks []readBack
}

// place is a namespace of the path, with the names of the devices to which settings apply:
// those that are up, without a loopback device that is not on the path.
type place struct {
	pathspec.Place
	ns      *linuxnet.NS
	devices []string
	kinds   map[string]string // of all devices
	masters map[string]string // of all devices that have one
}

// readBack is how to read a setting back, by device or other object.
type readBack struct {
	setting string
	at      string
	want    map[string]string
	read    func() (map[string]string, error)
}

// findPlaces finds the namespaces of the path. Settings apply to nothing else.
func (a *application) findPlaces() error {
	for _, at := range a.path.Places() {
		s, ok := at.Stack.(pathspec.NamespaceStack)
		if !ok {
			continue
		}
		names, err := s.NS.Links().Devices()
		if err != nil {
			return err
		}
		kinds, err := s.NS.Links().Kinds()
		if err != nil {
			return err
		}
		masters, err := s.NS.Links().Ports()
		if err != nil {
			return err
		}
		w := place{Place: at, ns: s.NS, kinds: kinds, masters: masters}
		for _, name := range names {
			stats, err := s.NS.Links().Stats(name)
			if linuxnet.IsNoDevice(err) {
				continue // an engine has moved it to a container meanwhile
			}
			if err != nil {
				return err
			}
			if stats.Up && (name != loopback || a.onPath(at, name)) {
				w.devices = append(w.devices, name)
			}
		}
		a.places = append(a.places, w)
	}
	return nil
}

const loopback = "lo"

// onPath reports whether a device must carry traffic.
func (a *application) onPath(at pathspec.Place, device string) bool {
	return slices.ContainsFunc(a.path.DeviceRules(), func(r pathspec.DeviceRule) bool {
		return r.At.Stack == at.Stack && r.Device.Name == device && !r.Rule.Expect.OffPath()
	})
}

// appliers returns the function that applies each setting.
func (a *application) appliers() map[string]func(value string) error {
	o, c := offloads{a}, tracking{a, a.path.Translating()}
	return map[string]func(value string) error{
		nameTSO: o.tso, nameGSO: o.gso, nameChecksum: o.checksum, nameGSOMaxSize: o.packetSize, nameGRO: o.gro, nameThreaded: a.threaded,
		nameQueues: a.queues, nameRPS: a.rps, nameXPS: a.xps, nameQdisc: a.qdisc, nameQueueLen: a.queueLength,
		nameBridgeNF: a.bridgeNF, nameTracking: c.set, nameFill: c.fill,
	}
}

// unsupported returns the error that a setting is not available here.
func (a *application) unsupported(setting, value, format string, args ...any) error {
	return &driver.Unsupported{Mode: a.path.Mode, Reason: fmt.Sprintf("%s: %s: ", setting, value) + fmt.Sprintf(format, args...)}
}

// refused returns the error of a setting that could not be applied: unsupported if the
// kernel refused it, otherwise as it is.
func (a *application) refused(setting, value string, err error) error {
	if _, known := driver.AsUnsupported(err); known {
		return err
	}
	for _, errno := range []unix.Errno{unix.EOPNOTSUPP, unix.ENOTSUP, unix.EINVAL, unix.ENOENT, unix.ERANGE, unix.EPERM, unix.EACCES, unix.EROFS,
		unix.EPROTONOSUPPORT, unix.EAFNOSUPPORT, unix.ENOSPC, unix.E2BIG, unix.EOVERFLOW, unix.ENOSYS} {
		if errors.Is(err, errno) {
			return a.unsupported(setting, value, "the kernel refuses it: %v", err)
		}
	}
	return fmt.Errorf("apply %s: %s to %s: %w", setting, value, a.path.Mode, err)
}

// readBack has a setting read back once all are applied, and around every trial.
func (a *application) readBack(setting string, at place, want map[string]string, read func() (map[string]string, error)) {
	a.readBacks = append(a.readBacks, readBack{setting, at.At, want, read})
	a.path.AddRules(driver.Rule{Counter: changes(setting, at.At), Expect: driver.Unchanged})
}

// changes is the name of the counter of how often a setting was read back with another value.
func changes(setting, at string) string { return pathspec.CounterName(at, setting, "changes") }

// difference returns the first object, by name, of which the kernel has another value than
// the requested, and both values.
func (r readBack) difference() (object, want, got string, err error) {
	have, err := r.read()
	if err != nil {
		return "", "", "", err
	}
	for _, object := range slices.Sorted(maps.Keys(r.want)) {
		if have[object] != r.want[object] {
			return object, r.want[object], have[object], nil
		}
	}
	return "", "", "", nil
}

// check reads all settings back.
func (a *application) check() error {
	for _, r := range a.readBacks {
		object, want, got, err := r.difference()
		switch {
		case err != nil:
			return a.refused(r.setting, a.with[r.setting], err)
		case object != "":
			return a.unsupported(r.setting, a.with[r.setting], "requested %s of %s in %s, and the kernel has %s", want, object, r.at, got)
		}
	}
	return nil
}

// readBackCounters counts, for each setting and place, how often the setting was read back
// with another value. A setting that cannot be read any more counts as changed.
func (a *application) readBackCounters() pathspec.CounterReader {
	counts := driver.Counters{}
	return func(_ context.Context, into driver.Counters) error {
		for _, r := range a.readBacks {
			object, _, _, err := r.difference()
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			name := changes(r.setting, r.at)
			if object != "" || err != nil {
				counts[name]++
			}
			into[name] = counts[name]
		}
		return nil
	}
}

// readBackOnly is the proof of a setting that no counter shows.
const readBackOnly = "read back around every trial; no counter shows it"

// fact says what was set, where, and what proves it.
func (a *application) fact(setting, done string, at []string, proof string) {
	a.path.AddFacts(result.Fact{Name: "with " + setting, Value: fmt.Sprintf("%s at %s; %s", done, strings.Join(at, ", "), proof)})
}

// placeAt returns the place of a device's rule.
func (a *application) placeAt(at pathspec.Place) (place, bool) {
	i := slices.IndexFunc(a.places, func(w place) bool { return w.Stack == at.Stack })
	if i < 0 {
		return place{}, false
	}
	return a.places[i], true
}

// devices calls set for every device that pick accepts, and returns their names.
func (a *application) devices(pick func(w place, dev string) bool, set func(w place, dev string) error) (done []string, err error) {
	for _, w := range a.places {
		for _, dev := range w.devices {
			if !pick(w, dev) {
				continue
			}
			if err := set(w, dev); err != nil {
				return nil, err
			}
			done = append(done, w.At+"/"+dev)
		}
	}
	return done, nil
}

// readDevices has a setting of devices read back, each with the requested value.
func (a *application) readDevices(setting, want string, pick func(w place, dev string) bool, read func(w place, dev string) (string, error)) {
	for _, w := range a.places {
		expected := map[string]string{}
		for _, dev := range w.devices {
			if pick(w, dev) {
				expected[dev] = want
			}
		}
		if len(expected) == 0 {
			continue
		}
		a.readBack(setting, w, expected, func() (map[string]string, error) {
			got := map[string]string{}
			for dev := range expected {
				var err error
				if got[dev], err = read(w, dev); err != nil {
					return nil, err
				}
			}
			return got, nil
		})
	}
}

// readTable reads the counters of a setting's own nftables table. Where the table has been
// removed, the counters are missing, which voids a trial.
func (a *application) readTable(w place, table string, read func(counts map[string]linuxnet.Count, into driver.Counters)) {
	a.path.AddReader(func(_ context.Context, into driver.Counters) error {
		counts, err := w.ns.Rules().Counts(table)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		read(counts, into)
		return err
	})
}

// The devices to which a setting may apply.
func every(place, string) bool          { return true }
func isVeth(w place, dev string) bool   { return w.kinds[dev] == "veth" }
func isLink(w place, dev string) bool   { return w.kinds[dev] != "bridge" && dev != loopback }
func isBridge(w place, dev string) bool { return w.kinds[dev] == "bridge" }

// proof is how devices on the path show that a setting is in effect.
type proof struct {
	counter  string // its name beside the device's
	transmit bool   // it counts what the device sends, not what it receives
	pick     func(w place, dev string) bool
	stream   bool // one for each size bytes of a stream, not for each packet
	wraps    bool // the kernel's counter has 32 bits
	size     func(w place, dev string) (uint64, error)
	read     func(w place, dev string) (uint64, error)
}

// fixed is a size that all devices share.
func fixed(bytes uint64) func(place, string) (uint64, error) {
	return func(place, string) (uint64, error) { return bytes, nil }
}

// prove adds a counter and its rule to the devices on the path that the proof is for, in
// the directions in which they carry traffic. It returns their number.
func (a *application) prove(f proof) (devices int, err error) {
	for _, r := range a.path.DeviceRules() {
		w, ok := a.placeAt(r.At)
		dev := r.Device.Name
		if !ok || r.Transmit != f.transmit || !f.pick(w, dev) {
			continue
		}
		expect, ok := inEffect(r.Rule.Expect, f.stream)
		if !ok {
			continue
		}
		size, err := f.size(w, dev)
		if err != nil {
			return 0, err
		}
		counter := r.Counter(f.counter)
		a.path.AddRules(driver.Rule{Counter: counter, Expect: expect, Pair: r.Rule.Pair, OfClient: r.Rule.OfClient, Size: size})
		var last, sum uint64
		a.path.AddReader(func(_ context.Context, into driver.Counters) error {
			n, err := f.read(w, dev)
			if f.wraps {
				sum += uint64(uint32(n - last))
				last, n = n, sum
			}
			into[counter] = n
			return err
		})
		devices++
	}
	return devices, nil
}

// inEffect returns the expectation on packets, or on the bytes of streams, that belongs to
// one on bytes.
func inEffect(e driver.Expect, stream bool) (driver.Expect, bool) {
	switch e {
	case driver.Forward, driver.ForwardAtLeast:
		return map[bool]driver.Expect{false: driver.ForwardPackets, true: driver.ForwardStream}[stream], true
	case driver.Reverse, driver.ReverseAtLeast:
		return map[bool]driver.Expect{false: driver.ReversePackets, true: driver.ReverseStream}[stream], true
	case driver.Both, driver.BothAtLeast:
		return map[bool]driver.Expect{false: driver.BothPackets, true: driver.BothStream}[stream], true
	default:
		return 0, false
	}
}

// provenBy is the text of a fact on a proof by devices of the path.
func provenBy(devices int, what string) string {
	if devices == 0 {
		return readBackOnly
	}
	return fmt.Sprintf("proven by %s, on %d devices", what, devices)
}
