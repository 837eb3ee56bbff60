package machine

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"tare/internal/lab"
	"tare/internal/runid"
)

// Command is the hidden subcommand of the copies on other machines: --run ID guard MARKER DIR
// holds the directory of a copy, --run ID claim MARKER keeps the run alive for another user, and
// --run ID dial MARKER SOCKET connects its stdio to a Unix socket. The id is there for people and for
// `tare gc`, which read it in /proc.
const Command = "machine"

// envDirectory names the directory of the copy to what is started from it.
const envDirectory = "TARE_MACHINE"

// lockName is the file that a guard has locked while it runs.
const lockName = "lock"

// guardHello is what a guard writes first.
type guardHello struct {
	SHA256 string `json:"sha256"` // of the program's file
	User   int    `json:"user"`   // number of the user
}

// silence is how long a guard waits for a sign of life before it takes the connection for dead:
// TCP alone notices after hours that a peer has vanished.
const silence = 4 * signOfLife

// followTimeout is how long a program on another machine goes on after its guard has ended. Its
// stdin has then ended too, so that it should end by itself, and first remove what it created.
const followTimeout = 10 * time.Second

// Main runs the subcommand with the arguments after its name.
func Main(args []string) error {
	if len(args) < 4 || args[0] != "--run" || !runid.IsID(args[1]) {
		return errors.New("only tare itself starts this subcommand, on another machine")
	}
	switch run, what, rest := args[1], args[2], args[3:]; {
	case what == "guard" && len(rest) == 2:
		return guard(os.Stdin, removeDead, run, rest[0], rest[1])
	case what == "claim" && len(rest) == 1:
		return claim(run, rest[0])
	case what == "dial" && len(rest) == 2:
		return relay(rest[0], rest[1])
	}
	return fmt.Errorf("unknown arguments %q", args)
}

// guard holds the directory of a copy until in ends, as the connection does, and then removes it with all else
// of the run that is left. Beside that tidy removes what dead runs have left next to it: a slow file system does not
// keep the guard from noticing the end.
func guard(in io.Reader, tidy func(dir string), run, marker, dir string) error {
	signal.Ignore(syscall.SIGHUP)
	unlock, err := lock(filepath.Join(dir, lockName))
	if err != nil {
		return fmt.Errorf("lock %s: %w", dir, err)
	}
	release, err := runid.Hold(run)
	if err != nil {
		return err
	}
	hash, err := hashSelf()
	if err != nil {
		return err
	}
	if err := greet(marker, guardHello{hash, os.Geteuid()}); err != nil {
		return err
	}
	go tidy(dir)
	awaitEnd(in)
	release()
	unlock() // whatever was started from the directory ends soon
	err = os.RemoveAll(dir)
	if os.PathSeparator == '\\' {
		err = nil // the program's own file cannot be removed: the command that started it does so
	}
	return errors.Join(err, removeRun(run))
}

// claim keeps the run alive for this user until the connection ends, and then removes what is left
// of it.
func claim(run, marker string) error {
	signal.Ignore(syscall.SIGHUP)
	release, err := runid.Hold(run)
	if err != nil {
		return err
	}
	if err := greet(marker, guardHello{User: os.Geteuid()}); err != nil {
		return err
	}
	awaitEnd(os.Stdin)
	release()
	return removeRun(run)
}

func greet(marker string, hello guardHello) error {
	text, err := json.Marshal(hello)
	if err != nil {
		return err
	}
	_, err = fmt.Printf("%s guard %s\n", marker, text)
	return err
}

// hashSelf returns the SHA-256 of the running program's file, in hex.
func hashSelf() (string, error) {
	path, err := self()
	if err != nil {
		return "", err
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, f); err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// awaitEnd returns when in ends, or brings nothing for so long that nobody is there any more.
func awaitEnd(in io.Reader) {
	signs := make(chan bool)
	go func() {
		defer close(signs)
		for buf := make([]byte, 64); ; {
			if _, err := in.Read(buf); err != nil {
				return
			}
			signs <- true
		}
	}()
	for {
		select {
		case _, ok := <-signs:
			if !ok {
				return
			}
		case <-time.After(silence):
			return
		}
	}
}

// removeRun waits until what was started for the run has ended, and removes what is left then.
func removeRun(run string) error {
	for until := time.Now().Add(followTimeout + 2*time.Second); ; time.Sleep(200 * time.Millisecond) {
		found, err := lab.Leftovers()
		if err != nil {
			return err
		}
		var errs []error
		left := 0
		for _, l := range found {
			if l.Run != run || l.Unmarked || lab.Foreign(l.Owner) {
				continue
			}
			left++
			if time.Now().After(until) {
				errs = append(errs, l.Remove())
			}
		}
		if left == 0 || time.Now().After(until) {
			return errors.Join(errs...)
		}
	}
}

// removeDead removes this user's directories of dead runs next to one: after the power failed, nobody
// removes them. A directory whose guard runs is locked.
func removeDead(dir string) {
	parent, err := os.OpenRoot(filepath.Dir(dir))
	if err != nil {
		return
	}
	defer parent.Close()
	all, err := parent.Open(".")
	if err != nil {
		return
	}
	defer all.Close()
	names, err := all.Readdirnames(-1)
	if err != nil {
		return
	}
	for _, name := range names {
		rest, ok := strings.CutPrefix(name, runid.Prefix)
		id, _, _ := strings.Cut(rest, "-")
		if ok && name != filepath.Base(dir) && runid.IsID(id) && strings.HasSuffix(name, directorySuffix) {
			removeIfDead(parent, name, id)
		}
	}
}

// removeIfDead removes a directory of the run unless its guard runs. Each of its files is reached through the
// open directory, so that nobody can put another one in its place.
func removeIfDead(parent *os.Root, name, run string) {
	dir, owner, err := lab.OpenMarked(parent, name, run)
	if err != nil {
		return
	}
	defer dir.Close()
	info, err := dir.Stat(".")
	if err != nil || owner != os.Geteuid() || time.Since(info.ModTime()) < copyTimeout() {
		return // one that is being filled has no lock yet
	}
	unlock, err := lockIn(dir, lockName)
	if err != nil {
		return
	}
	defer unlock()
	_ = lab.RemoveOpened(parent, dir, name) // the next guard, or gc, tries again
}

// Follow makes this program end when the guard of its copy has ended, for whatever reason. Without a
// guard, on the machine of the controller, it does nothing, whatever the environment has. main calls it first.
func Follow() error {
	dir := os.Getenv(envDirectory)
	if dir == "" || !startedFrom(dir) {
		return nil
	}
	// What this program starts ends with it.
	if err := os.Unsetenv(envDirectory); err != nil {
		return err
	}
	ended, err := awaitUnlock(filepath.Join(dir, lockName))
	if err != nil {
		return fmt.Errorf("the connection that started this program has ended: %w", err)
	}
	go func() {
		<-ended
		time.Sleep(followTimeout)
		os.Exit(1)
	}()
	return nil
}

// startedFrom reports whether this program's file is in a directory, or was until it was removed.
func startedFrom(dir string) bool {
	path, err := os.Executable()
	if err != nil {
		return false
	}
	if filepath.Dir(path) == filepath.Clean(dir) {
		return true
	}
	named, err := os.Stat(dir)
	own, other := os.Stat(filepath.Dir(path))
	return err == nil && other == nil && os.SameFile(named, own)
}
