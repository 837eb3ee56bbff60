package guest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"tare/internal/guest/initramfs"
	"tare/internal/guest/kernel"
	"tare/internal/guest/mux"
	"tare/internal/linuxnet"
	"tare/internal/process"
)

// Spec is a guest to boot.
type Spec struct {
	Run, Label string // for the machine's name
	Place      string // for people: host/sandbox
	Host       *linuxnet.NS
	Kernel     kernel.Kernel
	Accel      string // KVM or TCG
	Model      Model
	MAC        string
	Offload    bool // the adapter may hand on packets larger than the MTU
	Attach     Attachment
	Modules    []string // beside those of the port and of the adapter
	Optional   []string // those of which it is no matter whether the kernel has them
	Memory     int      // MiB; 0 for enough for an agent
	AddFiles   func(*initramfs.Archive) error

	earlyConsole bool // the kernel, from its first steps on

	// Of guests that are to go wrong.
	init        string
	frozen      bool
	bootTimeout time.Duration
}

// defaultMemory is for a kernel, this program twice, and what sockets hold.
const defaultMemory = 512

func (s Spec) memory() int {
	if s.Memory > 0 {
		return s.Memory
	}
	return defaultMemory
}

// Machine is a guest that runs.
type Machine struct {
	Hello    Hello
	Accel    string
	BootTime time.Duration // from its start to its hello

	place  string
	qemu   *process.Process // its stdin and stdout are the way into the guest
	log    *console
	remote *remote
}

// Boot starts a guest and waits until it says hello. On error nothing is left but, where
// a guest ran, what it printed, in a file that the error names.
func Boot(ctx context.Context, s Spec) (*Machine, error) {
	program, err := qemu()
	if err != nil {
		return nil, err
	}
	want := append(portModules(), s.Modules...)
	if s.Attach.Netdev != "" {
		want = append(want, s.Model.Module)
	}
	modules, err := s.Kernel.Load(want, s.Optional)
	var none *kernel.NoModuleError
	if errors.As(err, &none) {
		return nil, &UnavailableError{err.Error() + ": name another kernel"}
	}
	if err != nil {
		return nil, err
	}
	initrd, err := image(modules, s.AddFiles)
	if errors.Is(err, initramfs.ErrDynamic) {
		return nil, &UnavailableError{err.Error()}
	}
	if err != nil {
		return nil, err
	}
	defer initrd.Close()
	m := &Machine{Accel: s.Accel, place: s.Place}
	began := time.Now()
	direct := direct(s)
	if direct != nil {
		defer direct.Close()
	}
	if err := m.startQEMU(program, s, initrd, direct); err != nil {
		return nil, fmt.Errorf("start %s: %w", s.Place, err)
	}
	if err := m.waitHandshake(ctx, s); err != nil {
		closed := m.Close()
		return nil, errors.Join(m.explainBootError(s, err), closed)
	}
	m.BootTime = time.Since(began)
	return m, nil
}

// startQEMU starts QEMU, with a kernel that can be started directly if there is one.
func (m *Machine) startQEMU(program string, s Spec, initrd, direct *os.File) error {
	printed, prints, err := os.Pipe()
	if err != nil {
		return err
	}
	defer prints.Close()
	image := s.Kernel.Image
	if direct != nil {
		image = fdPath(kernelFD)
	}
	m.qemu = process.New("QEMU", program, arguments(s, s.Accel, image)...)
	m.qemu.Stdin, m.qemu.Stdout = true, true
	m.qemu.Cmd.ExtraFiles = []*os.File{initrd, prints, direct, s.Attach.File} // those that are nil are closed there
	m.qemu.Cmd.Env = []string{"PATH=/usr/bin:/bin", "TMPDIR=" + os.TempDir()}
	m.log = newConsole(printed)
	if err := m.qemu.StartTied(s.Host.Do); err != nil {
		return err
	}
	m.remote = newRemote(mux.New(m.qemu, m.qemu), s.Place)
	go func() {
		<-m.qemu.Done()
		m.log.wait()
		m.remote.end(errors.New(m.end()))
	}()
	return nil
}

// silentError is a guest that worked and printed nothing.
type silentError struct{ worked time.Duration }

func (e *silentError) Error() string {
	return fmt.Sprintf("a guest worked for %s and printed nothing", e.worked.Round(10*time.Millisecond))
}

// maxSilentCPUTime is how much CPU time a guest may take for its first words where it is to
// talk from the beginning. It is CPU time, which a busy machine does not stretch.
const maxSilentCPUTime = 1500 * time.Millisecond

// waitHandshake waits for the guest's hello.
func (m *Machine) waitHandshake(ctx context.Context, s Spec) error {
	began, within := time.Now(), cmp.Or(s.bootTimeout, BootTimeout)
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for {
		select {
		case h := <-m.remote.hello:
			if h.Guest != Version {
				return fmt.Errorf("it speaks protocol %d, this program %d", h.Guest, Version)
			}
			m.Hello = h
			return nil
		case <-m.qemu.Done():
			m.log.wait()
			return errors.New(m.end())
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-look.C:
			if waited := runDelay(m.qemu.PID()); time.Since(began)-waited > within {
				return fmt.Errorf("it said no hello within %s", within)
			}
			if worked, ok := cpuTime(m.qemu.PID()); ok && s.earlyConsole && worked > maxSilentCPUTime && m.log.size() == 0 {
				return &silentError{worked}
			}
		}
	}
}

// end is how QEMU ended.
func (m *Machine) end() string {
	if said := m.qemu.LastLine(); said != "" {
		return fmt.Sprintf("QEMU ended (%s): %s", m.qemu.State(), strings.TrimPrefix(said, Emulator+": "))
	}
	if last := m.log.last(); last != "" {
		return fmt.Sprintf("the guest ended; its console said last: %s", last)
	}
	return fmt.Sprintf("QEMU ended (%s)", m.qemu.State())
}

// noModel is in QEMU's answer to an adapter that it has not got.
const noModel = "is not a valid device model name"

// explainBootError says what a guest that did not come up has left to know.
func (m *Machine) explainBootError(s Spec, err error) error {
	if strings.Contains(m.qemu.StderrTail(), noModel) {
		return &UnavailableError{fmt.Sprintf("this QEMU has no network adapter %s (%s)", s.Model.Device, m.qemu.StderrTail())}
	}
	err = fmt.Errorf("boot %s (QEMU with %s, kernel %s): %w", s.Place, s.Accel, s.Kernel.Version, err)
	var dumb *silentError
	if s.earlyConsole || errors.As(err, &dumb) || m.log.size() == 0 {
		return err
	}
	if last := m.log.last(); last != "" && !strings.Contains(err.Error(), last) {
		err = fmt.Errorf("%w; its console said last: %s", err, last)
	}
	if path, kept := m.log.keep(s.Run, s.Label); kept == nil {
		err = fmt.Errorf("%w (all of it: %s)", err, path)
	}
	return err
}

// PID is QEMU's.
func (m *Machine) PID() int { return m.qemu.PID() }

// Console is what the guest has printed, as much as was kept.
func (m *Machine) Console() string { return m.log.text() }

// Ended is closed when the machine has ended.
func (m *Machine) Ended() <-chan struct{} { return m.qemu.Done() }

// Close switches the machine off. It keeps nothing, and so it is not asked. It may be
// called again.
func (m *Machine) Close() error {
	if m == nil {
		return nil
	}
	if err := m.qemu.Kill(); err != nil {
		return fmt.Errorf("end %s: %w", m.place, err)
	}
	return nil
}
