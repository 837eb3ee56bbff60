package cni

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/containernetworking/cni/libcni"
	types100 "github.com/containernetworking/cni/pkg/types/100"
)

// comm is the process's name in the process table.
const comm = "tare-cni"

// The requests.
const (
	opOpen   = "open"   // prepares the mounts and reads the conflist: the first request
	opAdd    = "add"    // connects a sandbox; what a failed ADD has left is deleted
	opDelete = "delete" // disconnects a sandbox
	opCancel = "cancel" // ends the running plugin; it has no reply of its own
)

// request is a line on stdin.
type request struct {
	Op string

	// Of opOpen.
	Conflist []byte            `json:",omitempty"`
	Dirs     []string          `json:",omitempty"` // of the plugins
	State    []string          `json:",omitempty"` // directories of state besides those of CNI
	Files    map[string]string `json:",omitempty"` // to be created below /run, by path
	Limit    time.Duration     `json:",omitempty"` // of one plugin

	// Of opAdd and opDelete.
	ID           string         `json:",omitempty"` // of the sandbox
	Namespace    string         `json:",omitempty"` // its network namespace, a path below /proc of the caller
	Capabilities map[string]any `json:",omitempty"`
}

// reply is a line on stdout.
type reply struct {
	Error   string           `json:",omitempty"` // one line
	Result  *types100.Result `json:",omitempty"` // of opAdd
	Plugins []string         `json:",omitempty"` // of opOpen: type, path and version of each plugin
	Took    []pluginTime     `json:",omitempty"` // of opAdd and opDelete: each plugin, in the order in which they ran
}

// Serve executes plugins on the host in whose network namespace it was started, as the first
// process of a PID namespace and in a mount namespace of its own. It answers requests on
// stdin. When stdin is closed it deletes what it has added and returns: with it end all
// processes that plugins have left and all state in files.
func Serve(stdin io.Reader, stdout io.Writer) error {
	if os.Getpid() != 1 {
		return errors.New("this is an internal subcommand that tare starts for the plugins of a host")
	}
	if err := os.WriteFile("/proc/self/comm", []byte(comm), 0); err != nil {
		return fmt.Errorf("set the process name: %w", err)
	}
	s := server{requests: make(chan request)}
	ctx, end := context.WithCancelCause(context.Background())
	go s.read(stdin, end)
	out := json.NewEncoder(stdout)
	for r := range s.requests {
		var answer reply
		s.exec.took = nil
		if err := s.serve(ctx, r, &answer); err != nil {
			answer.Error = oneLine(err.Error())
		}
		answer.Took = s.exec.took
		if err := out.Encode(answer); err != nil {
			break
		}
	}
	return s.deleteAll()
}

// server executes plugins.
type server struct {
	requests chan request
	mounts   mounts
	list     *libcni.NetworkConfigList
	cni      *libcni.CNIConfig
	exec     executor
	attached []*libcni.RuntimeConf
}

// errClosed is the reason why a plugin is ended when stdin is closed.
var errClosed = errors.New("the run has ended")

// read reads the requests. end cancels what is running.
func (s *server) read(stdin io.Reader, end context.CancelCauseFunc) {
	defer close(s.requests)
	in := bufio.NewReader(stdin)
	for {
		line, err := in.ReadBytes('\n')
		var r request
		if err == nil {
			err = json.Unmarshal(line, &r)
		}
		if err != nil || r.Op == opCancel {
			end(errClosed)
			if err != nil {
				return
			}
			continue
		}
		s.requests <- r
	}
}

func (s *server) serve(ctx context.Context, r request, into *reply) (err error) {
	switch r.Op {
	case opOpen:
		into.Plugins, err = s.open(ctx, r)
	case opAdd:
		into.Result, err = s.add(ctx, r)
	case opDelete:
		err = s.delete(r.ID)
	default:
		err = fmt.Errorf("unknown request %q", r.Op)
	}
	return err
}

// open prepares the host for its plugins and returns a description of each plugin.
func (s *server) open(ctx context.Context, r request) (plugins []string, err error) {
	if s.mounts, err = mountPrivate(r.State, r.Dirs, r.Files); err != nil {
		return nil, err
	}
	s.exec = executor{limit: r.Limit}
	s.cni = libcni.NewCNIConfigWithCacheDir(r.Dirs, cacheDir, &s.exec)
	if s.list, err = libcni.NetworkConfFromBytes(r.Conflist); err != nil {
		return nil, err
	}
	for _, p := range s.list.Plugins {
		path, err := s.exec.FindInPath(p.Network.Type, r.Dirs)
		if err != nil {
			return nil, err
		}
		plugins = append(plugins, strings.TrimSpace(path+" "+s.exec.about(ctx, path, os.Environ())))
	}
	return plugins, nil
}

// add connects a sandbox. If a plugin fails, those before it have left something: the
// specification requires DEL then, too.
func (s *server) add(ctx context.Context, r request) (*types100.Result, error) {
	if s.cni == nil {
		return nil, errors.New("add before open")
	}
	at, err := s.mounts.namespace(r.ID, r.Namespace)
	if err != nil {
		return nil, err
	}
	rt := &libcni.RuntimeConf{ContainerID: r.ID, NetNS: at, IfName: ifName, CapabilityArgs: r.Capabilities, Args: [][2]string{{"IgnoreUnknown", "1"}}}
	s.attached = append(s.attached, rt)
	result, err := s.cni.AddNetworkList(ctx, s.list, rt)
	if err != nil {
		if left := s.delete(r.ID); left != nil && !samePlugin(err, left) {
			err = fmt.Errorf("%w; the DEL after it failed, too: %w", err, left)
		}
		return nil, err
	}
	return types100.NewResultFromResult(result)
}

// samePlugin reports whether a plugin failed alike in ADD and in DEL, so that one of the errors
// tells all.
func samePlugin(add, del error) bool {
	return strings.Replace(add.Error(), "failed (add)", "failed (delete)", 1) == del.Error()
}

// delete disconnects a sandbox, whatever became of the run. A plugin that fails does not keep the
// others from running.
func (s *server) delete(id string) error {
	i := slices.IndexFunc(s.attached, func(rt *libcni.RuntimeConf) bool { return rt.ContainerID == id })
	if i < 0 {
		return nil
	}
	rt := s.attached[i]
	s.attached = slices.Delete(s.attached, i, i+1)
	return s.cni.DelNetworkList(context.Background(), s.list, rt)
}

// deleteAll disconnects all sandboxes, the last first.
func (s *server) deleteAll() error {
	var errs []error
	for len(s.attached) > 0 {
		errs = append(errs, s.delete(s.attached[len(s.attached)-1].ContainerID))
	}
	return errors.Join(errs...)
}
