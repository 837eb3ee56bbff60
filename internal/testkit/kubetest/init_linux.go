package kubetest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/engine/private"
)

// initCommand is the hidden subcommand of the first process of a node, whose argument is the
// path of its initSpec.
const initCommand = "kube-node-init"

// initSpec is what a node's first process starts.
type initSpec struct {
	Hostname string
	Logs     string // directory of the logs
	// Sysctls are files below /proc/sys which are of the whole machine, with the value that a
	// kubelet requires: it finds that value and writes nothing.
	Sysctls map[string]string
	Steps   []step
}

// step is a program of a node.
type step struct {
	Name string // of its log
	Args []string
	// After is a file without which it is not started.
	After string
	// Once means that the next step waits for its end. It is repeated until it succeeds. Any
	// other program is started again whenever it ends.
	Once bool
}

// endOfProgram begins the line of a program's log that tells of its end.
const endOfProgram = "ended:"

// restartDelay is the time between the end of a program and its next start.
const restartDelay = 200 * time.Millisecond

// initMain is the first process of a node, in PID, mount, UTS, IPC and network namespaces of its
// own. Each line of its stdin is the name of a program to kill, which then starts again. It ends
// with its stdin, and everything on the node with it.
func initMain(path string) error {
	if os.Getpid() != 1 {
		return errors.New("only the test bench starts this subcommand")
	}
	n := &node{ends: map[int]chan int{}, pids: map[string]int{}}
	go func() {
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			n.kill(lines.Text())
		}
		os.Exit(0)
	}()
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var spec initSpec
	if err := json.Unmarshal(raw, &spec); err != nil {
		return err
	}
	logs, err := os.OpenRoot(spec.Logs)
	if err != nil {
		return err
	}
	if err := unix.Sethostname([]byte(spec.Hostname)); err != nil {
		return err
	}
	if err := nodeMounts(spec.Sysctls); err != nil {
		return err
	}
	go n.start(spec.Steps, logs)
	return n.reap()
}

// nodeMounts isolates the node's files from the machine's.
func nodeMounts(sysctls map[string]string) error {
	if err := private.Isolate(); err != nil {
		return err
	}
	for _, dir := range []string{"/var/lib", "/var/log", "/etc", "/opt"} {
		if err := private.Layer(dir); err != nil {
			return err
		}
	}
	for name, value := range sysctls {
		file := filepath.Join("/run/sysctl", strings.ReplaceAll(name, "/", "."))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(value+"\n"), 0o600); err != nil {
			return err
		}
		at := filepath.Join("/proc/sys", name)
		if err := unix.Mount(file, at, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("mount on %s: %w", at, err)
		}
	}
	// A kubelet's volumes must appear in its containers.
	return unix.Mount("", "/", "", unix.MS_REC|unix.MS_SHARED, "")
}

// node is the processes of a node.
type node struct {
	mu   sync.Mutex
	ends map[int]chan int // by process id: receives its exit code
	pids map[string]int   // by the name of the step: its running program
}

// kill kills the running program of a step.
func (n *node) kill(step string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if pid := n.pids[step]; pid > 0 {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it exists until reap has removed it from here
	}
}

// reap waits for every process that ends on the node.
func (n *node) reap() error {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.ECHILD):
			time.Sleep(10 * time.Millisecond) // nothing was started yet, or all is started again
			continue
		case err != nil:
			return err
		}
		n.mu.Lock()
		if ended, ok := n.ends[pid]; ok {
			delete(n.ends, pid)
			maps.DeleteFunc(n.pids, func(_ string, of int) bool { return of == pid })
			ended <- status.ExitStatus()
		}
		n.mu.Unlock()
	}
}

// run starts a program and returns a channel that receives its exit code.
func (n *node) run(s step, log *os.File) (<-chan int, error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	n.mu.Lock() // the end of the program must find its entry
	defer n.mu.Unlock()
	p, err := os.StartProcess(s.Args[0], s.Args, &os.ProcAttr{Files: []*os.File{null, log, log}})
	if err != nil {
		return nil, err
	}
	ended := make(chan int, 1)
	n.ends[p.Pid], n.pids[s.Name] = ended, p.Pid
	return ended, p.Release()
}

// start runs the steps of a node.
func (n *node) start(steps []step, logs *os.Root) {
	for _, s := range steps {
		once := make(chan struct{})
		go n.keep(s, logs, once)
		if s.Once {
			<-once
		}
	}
}

// keep runs a program whenever it has ended, or until it has succeeded once.
func (n *node) keep(s step, logs *os.Root, once chan<- struct{}) {
	log, err := logs.OpenFile(s.Name+".log", os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	for s.After != "" {
		if _, err := os.Stat(s.After); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	for {
		ended, err := n.run(s, log)
		if err != nil {
			_, _ = fmt.Fprintf(log, "start %s: %v\n", s.Args[0], err) // nobody else could be told
			time.Sleep(restartDelay)
			continue
		}
		code := <-ended
		if code == 0 && s.Once {
			close(once)
			return
		}
		_, _ = fmt.Fprintf(log, "%s %s with status %d\n", endOfProgram, s.Name, code) // as above
		time.Sleep(restartDelay)
	}
}
