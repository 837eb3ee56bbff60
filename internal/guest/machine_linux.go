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

// Spec describes a guest to boot.
type Spec struct {
	Run, Label string // for the machine's name
	Place      string // for people: host/sandbox
	Host       *linuxnet.NS
	Kernel     kernel.Kernel
	Accel      string // KVM or TCG
	Model      Model
	MAC        string
	Offload    bool // the adapter may pass on packets larger than the MTU
	Attach     Attachment
	Modules    []string // besides those of the port and of the adapter
	Optional   []string // modules that the kernel may lack
	Memory     int      // MiB; 0 for enough for an agent
	AddFiles   func(*initramfs.Archive) error

	earlyConsole bool // the kernel prints from its start

	// For tests with guests that fail.
	init        string
	frozen      bool
	bootTimeout time.Duration
}

// defaultMemory suffices for a kernel, this program twice, and socket buffers.
const defaultMemory = 512

func (s Spec) memory() int {
	if s.Memory > 0 {
		return s.Memory
	}
	return defaultMemory
}

// Machine is a running guest.
type Machine struct {
	Hello    Hello
	Accel    string
	BootTime time.Duration // from its start to its handshake
	User     string        // for people: the user of QEMU, and why it is that of this program if it is
	Sandbox  string        // for people: the filter of QEMU's system calls, and why there is none if so

	place  string
	qemu   *process.Process // its stdin and stdout are the serial port of the guest
	log    *console
	remote *remote
}

// Boot starts a guest and waits for its handshake. On error nothing remains except, if the guest
// printed anything, a file with its output, which the error names.
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
		return nil, &UnavailableError{err.Error() + "; use another kernel"}
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
	unpacked := direct(s)
	if unpacked != nil {
		defer unpacked.Close()
	}
	for c := confine(s.Run); ; {
		m, err := startMachine(ctx, program, s, c, initrd, unpacked)
		if err == nil {
			return m, nil
		}
		weaker, ok := c.relax(m, err)
		if !ok || ctx.Err() != nil {
			return nil, err
		}
		c = weaker
	}
}

// startMachine starts a guest in a confinement and waits for its handshake. unpacked is a kernel that can be
// started directly, nil if there is none. On error the machine has ended.
func startMachine(ctx context.Context, program string, s Spec, c confinement, initrd, unpacked *os.File) (*Machine, error) {
	m := &Machine{Accel: s.Accel, place: s.Place, User: c.userText(), Sandbox: c.sandboxText()}
	began := time.Now()
	if unpacked == nil {
		image, err := c.readable(s.Kernel.Image)
		if err != nil {
			return m, fmt.Errorf("start %s: %w", s.Place, err)
		}
		if image != nil {
			defer image.Close()
		}
		unpacked = image
	}
	if err := m.startQEMU(program, s, c, initrd, unpacked); err != nil {
		return m, fmt.Errorf("start %s: %w", s.Place, err)
	}
	if err := m.waitHandshake(ctx, s); err != nil {
		closed := m.Close()
		return m, errors.Join(m.explainBootError(s, err), closed)
	}
	m.BootTime = time.Since(began)
	return m, nil
}

// startQEMU starts QEMU, with the kernel in a file if there is one, else with the guest's image.
func (m *Machine) startQEMU(program string, s Spec, c confinement, initrd, inFile *os.File) error {
	printed, prints, err := os.Pipe()
	if err != nil {
		return err
	}
	defer prints.Close()
	if err := c.own(prints); err != nil {
		printed.Close()
		return err
	}
	image := s.Kernel.Image
	if inFile != nil {
		image = fdPath(kernelFD)
	}
	args := arguments(s, s.Accel, image)
	if c.sandbox {
		args = append(args, "-sandbox", sandboxArgument)
	}
	m.qemu = process.New("QEMU", program, args...)
	m.qemu.Stdin, m.qemu.Stdout = true, true
	if c.user != nil {
		m.qemu.Cmd.SysProcAttr.Credential, m.qemu.Cmd.Dir = c.user, "/"
	}
	m.qemu.Cmd.ExtraFiles = []*os.File{initrd, prints, inFile, s.Attach.File} // nil files are ignored
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

// silentError is the error of a guest that used CPU time and printed nothing.
type silentError struct{ used time.Duration }

func (e *silentError) Error() string {
	return fmt.Sprintf("a guest used %s of CPU time and printed nothing", e.used.Round(10*time.Millisecond))
}

// maxSilentCPUTime is how much CPU time a guest may use before its first output, if it prints from
// its start. A busy machine does not extend CPU time.
const maxSilentCPUTime = 1500 * time.Millisecond

// waitHandshake waits for the guest's hello message.
func (m *Machine) waitHandshake(ctx context.Context, s Spec) error {
	began, within := time.Now(), cmp.Or(s.bootTimeout, BootTimeout)
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for {
		select {
		case h := <-m.remote.hello:
			if h.Guest != Version {
				return fmt.Errorf("it uses protocol %d, this program uses %d", h.Guest, Version)
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
				return fmt.Errorf("the handshake timed out after %s", within)
			}
			if used, ok := cpuTime(m.qemu.PID()); ok && s.earlyConsole && used > maxSilentCPUTime && m.log.size() == 0 {
				return &silentError{used}
			}
		}
	}
}

// end returns how QEMU ended.
func (m *Machine) end() string {
	if said := m.qemu.LastLine(); said != "" {
		return fmt.Sprintf("QEMU ended (%s): %s", m.qemu.State(), strings.TrimPrefix(said, Emulator+": "))
	}
	if last := m.log.last(); last != "" {
		return fmt.Sprintf("the guest powered off; its last console output: %s", last)
	}
	return fmt.Sprintf("QEMU ended (%s)", m.qemu.State())
}

// noModel is part of QEMU's message for an unknown adapter.
const noModel = "is not a valid device model name"

// explainBootError adds the console output to the error of a guest that failed to boot.
func (m *Machine) explainBootError(s Spec, err error) error {
	if strings.Contains(m.qemu.StderrTail(), noModel) {
		return &UnavailableError{fmt.Sprintf("this QEMU has no network adapter %s (%s)", s.Model.Device, m.qemu.StderrTail())}
	}
	err = fmt.Errorf("boot %s (QEMU with %s, kernel %s): %w", s.Place, s.Accel, s.Kernel.Version, err)
	var silent *silentError
	if s.earlyConsole || errors.As(err, &silent) || m.log.size() == 0 {
		return err
	}
	if last := m.log.last(); last != "" && !strings.Contains(err.Error(), last) {
		err = fmt.Errorf("%w; its last console output: %s", err, last)
	}
	if path, kept := m.log.keep(s.Run, s.Label); kept == nil {
		err = fmt.Errorf("%w (full output: %s; tare gc removes it)", err, path)
	}
	return err
}

// PID returns the process id of QEMU.
func (m *Machine) PID() int { return m.qemu.PID() }

// Console returns the kept console output.
func (m *Machine) Console() string { return m.log.text() }

// Ended is closed when the machine has ended.
func (m *Machine) Ended() <-chan struct{} { return m.qemu.Done() }

// Close switches the machine off without a shutdown, because it has no persistent data. It may be
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
