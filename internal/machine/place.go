package machine

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"tare/internal/process"
	"tare/internal/runid"
)

// directoryPrefix begins the names of a run's directories. The end of the name says what it is.
func directoryPrefix(run string) string { return runid.Prefix + run + "-" }

const directorySuffix = "-machine"

// placeScript runs on the other side in sh, in the first channel of a connection. Its arguments are
// the run's id, the marker and a random text. It reports the system, reads how large the program
// is, in bytes and KiB, looks for a directory that takes and executes it, stores what follows on
// stdin there, and starts it as the guard. When the guard ends, it removes the directory, even if
// the guard was killed. On Windows cmd gets no further than to the first "||", where it ends. It has
// no quote, backslash, exclamation mark or line break: see posix.
func placeScript() string {
	return strings.Join([]string{
		`LC_ALL=C`, `export LC_ALL`, `umask 077`,
		`echo "$2 system $(uname -s) $(uname -m)"`,
		`read -r n k || exit 1`,
		`p=`,
		`for t in "${TMPDIR:-}" /tmp /var/tmp "${XDG_CACHE_HOME:-$HOME/.cache}" "$HOME" /dev/shm; do case "$t" in /*) ;; *) continue ;; esac`,
		`p=$t/tare-$1-$3-machine`,
		`e=$(mkdir "$p" 2>&1) || { echo "$2 refused $t: ${e##*: }"; p=; continue; }`,
		`{ echo exit 0 >"$p/x" && chmod 700 "$p/x"; } 2>/dev/null || { rm -rf "$p"; echo "$2 refused $t: no space left"; p=; continue; }`,
		`"$p/x" 2>/dev/null || { rm -rf "$p"; echo "$2 refused $t: programs there may not be executed (noexec)"; p=; continue; }`,
		`f=$(df -Pk "$p" 2>/dev/null | { read -r h; read -r a b c f g; echo "$f"; })`,
		`if [ "$f" -lt "$k" ] 2>/dev/null; then rm -rf "$p"; echo "$2 refused $t: $f of $k KiB free"; p=; continue; fi`,
		`rm -f "$p/x"; break; done`,
		`[ -n "$p" ] || { echo "$2 nowhere"; exit 0; }`,
		`ls -di "$p" | { read -r i f; echo "tare $1 $i"; } >"$p/.tare-run"`,
		`echo "$2 directory $p"`,
		`head -c "$n" >"$p/tare" && chmod 700 "$p/tare" && "$p/tare" machine --run "$1" guard "$2" "$p"`,
		`s=$?`, `rm -rf "$p"`, `exit "$s"`,
	}, "; ")
}

// far is what is known of the other side after the login.
type far struct {
	system System
	user   int // number of the user
}

// lines reads what the other side writes for this program, and drops all else: a login may write
// any text first.
type lines struct {
	r      *bufio.Reader
	marker string
	count  int             // lines for this program
	noise  strings.Builder // the beginning of what was dropped
}

// The limits of what the other side may write: the length and the number of lines for this program, how much
// is dropped before the next of them, and how much of that is kept for a message.
const (
	maxLine  = 8 << 10
	maxLines = 100
	maxNoise = 256 << 10
	keptText = 1 << 10
)

func newLines(r io.Reader, marker string) *lines {
	return &lines{r: bufio.NewReaderSize(r, maxLine), marker: marker}
}

// next returns the first word and the rest of the next line for this program.
func (l *lines) next() (word, rest string, err error) {
	for dropped := 0; dropped < maxNoise; {
		line, err := l.r.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			l.keep(line)
			return "", "", err
		}
		// What the shell wrote before may have had no line break.
		_, text, ok := strings.Cut(string(line), l.marker)
		if ok {
			if l.count++; l.count > maxLines {
				return "", "", floodError(fmt.Sprintf("it wrote more than %d lines, which this program does not", maxLines))
			}
			word, rest, _ = strings.Cut(strings.TrimSpace(text), " ")
			return word, rest, nil
		}
		dropped += len(line)
		l.keep(line)
	}
	return "", "", floodError(fmt.Sprintf("the login wrote more than %d KiB of text", maxNoise>>10))
}

// floodError reports that the other side wrote too much. It may still do.
type floodError string

func (e floodError) Error() string { return string(e) }

// awaitExit waits for the exit of p, unless err says that it goes on writing.
func awaitExit(ctx context.Context, p *process.Process, err error) {
	if _, flood := errors.AsType[floodError](err); flood {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, killTimeout())
	defer cancel()
	_ = p.Wait(ctx)
}

func (l *lines) keep(line []byte) {
	l.noise.Write(line[:min(len(line), max(0, keptText-l.noise.Len()))])
}

// within calls fn, which reads from or writes to p, and kills p when ctx ends.
func within(ctx context.Context, p *process.Process, fn func() error) error {
	stop := context.AfterFunc(ctx, func() { _ = p.Kill() })
	defer stop()
	err := fn()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// place logs in, places this program and starts it as the guard.
func (r *remote) place(ctx context.Context, c *connection) (far, error) {
	word := rand.Text()
	command, err := quoteAll([]string{"sh", "-c", placeScript(), "tare", r.run, c.marker, word})
	if err != nil {
		return far{}, err
	}
	if c.first, err = c.ssh.first(command); err != nil {
		c.first = nil
		return far{}, r.explain("log in to", "", err)
	}
	out := newLines(c.first, c.marker)
	system, err := r.login(ctx, c.first, out)
	if err != nil {
		if !ranNothing(c.first) {
			return far{}, err
		}
		// The login works, and what answers has no sh.
		found, other := r.placeOnWindows(ctx, c, word)
		if errors.Is(other, errNoWindows) {
			return far{}, err
		}
		return found, other
	}
	return r.copyProgram(ctx, c, out, system)
}

// login waits for the report of the system.
func (r *remote) login(ctx context.Context, p *process.Process, out *lines) (s System, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, loginTimeout(), fmt.Errorf("the login did not finish within %s", loginTimeout()))
	defer cancel()
	var rest string
	err = within(ctx, p, func() (err error) {
		_, rest, err = out.next()
		return err
	})
	if err == nil {
		return systemOf(rest), nil
	}
	if ctx.Err() != nil {
		e := r.problem("log in to", err.Error(), "make this work without a prompt: "+r.ssh.byHand()+" true")
		e.Temporary = true
		return s, e
	}
	return s, r.noAnswer(ctx, p, out, err)
}

// sshFailed is the exit status of ssh for errors of its own.
const sshFailed = 255

// noAnswer explains a login that did not run the command.
func (r *remote) noAnswer(ctx context.Context, p *process.Process, out *lines, err error) error {
	awaitExit(ctx, p, err)
	if p.ExitReason() == "" || p.Cmd.ProcessState.ExitCode() == sshFailed || p.Cmd.ProcessState.ExitCode() < 0 {
		return r.explain("log in to", p.StderrTail(), err)
	}
	said := oneLine(strings.TrimSpace(out.noise.String() + " " + p.StderrTail()))
	if said == "" {
		said = "nothing"
	}
	return r.problem("use", "the login works, but another command was run there, or none ("+p.State()+"); it wrote: "+said,
		"allow this user to run commands: no ForceCommand, no command= in authorized_keys, and a shell that is not nologin")
}

// ranNothing reports whether the login worked and the command failed.
func ranNothing(p *process.Process) bool {
	return p.ExitReason() != "" && p.Cmd.ProcessState.ExitCode() > 0 && p.Cmd.ProcessState.ExitCode() != sshFailed
}

// systemOf reads the output of uname -s and uname -m.
func systemOf(text string) System {
	kernel, processor, _ := strings.Cut(strings.ToLower(text), " ")
	switch {
	case strings.HasPrefix(kernel, "mingw"), strings.HasPrefix(kernel, "msys"), strings.HasPrefix(kernel, "cygwin"):
		kernel = windowsOS
	}
	return System{identifier(kernel), identifier(archOf(processor))}
}

// identifier returns a name that may be a part of a file's name: the other side chooses it.
func identifier(name string) string {
	if name == "" || len(name) > 32 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
		return "unknown"
	}
	return name
}

// archOf translates a name of a processor to Go's.
func archOf(name string) string {
	name = strings.ToLower(strings.TrimSpace(name))
	switch {
	case name == "x86_64":
		return "amd64"
	case name == "aarch64", name == "armv8l":
		return "arm64"
	case strings.HasPrefix(name, "arm") && name != "arm64":
		return "arm"
	case name == "x86", len(name) == 4 && name[0] == 'i' && strings.HasSuffix(name, "86"):
		return "386"
	}
	return name
}

// copyProgram sends this program and waits for its first words there.
func (r *remote) copyProgram(ctx context.Context, c *connection, out *lines, s System) (far, error) {
	f, size, err := r.open(s)
	if err != nil {
		return far{}, err
	}
	defer f.Close()
	ctx, cancel := context.WithTimeoutCause(ctx, copyTimeout(), fmt.Errorf("the copy of this program did not finish within %s", copyTimeout()))
	defer cancel()
	hash := sha256.New()
	var refused []string
	var hello guardHello
	err = within(ctx, c.first, func() error {
		if _, err := fmt.Fprintf(c.first, "%d %d\n", size, size>>10+1); err != nil {
			return err
		}
		for {
			word, rest, err := out.next()
			switch {
			case err != nil:
				return err
			case word == "refused":
				refused = append(refused, rest)
			case word == "nowhere":
				return errNowhere
			case word == "directory":
				c.shell, c.program = posix{rest}, rest+"/tare"
				if _, err := quoteAll([]string{c.program}); err != nil {
					return err
				}
				if _, err := io.Copy(c.first, io.TeeReader(f, hash)); err != nil {
					return err
				}
			case word == "guard":
				return json.Unmarshal([]byte(rest), &hello)
			}
		}
	})
	switch {
	case err == nil && hello.SHA256 != hex.EncodeToString(hash.Sum(nil)):
		return far{}, r.problem("place tare on", "the copy in "+c.program+" is not what was sent", "check the disk of that machine")
	case err == nil:
		return far{s, hello.User}, nil
	case ctx.Err() != nil:
		return far{}, r.problem("place tare on", err.Error(), "check the network and the machine")
	case errors.Is(err, errNowhere):
		return far{}, r.problem("place tare on", "no directory takes a program of "+strconv.FormatInt(size>>20+1, 10)+" MiB ("+strings.Join(refused, "; ")+")",
			"set TMPDIR for that user to a directory with space from which programs may be executed, or free some")
	}
	return far{}, r.noCopy(ctx, c, s, err)
}

// errNowhere reports that no directory of the other side takes the program.
var errNowhere = errors.New("no directory takes the program")

// noCopy explains why the program did not start on the other side.
func (r *remote) noCopy(ctx context.Context, c *connection, s System, err error) error {
	awaitExit(ctx, c.first, err)
	words := c.first.StderrTail()
	if c.first.ExitReason() == "" || c.first.Cmd.ProcessState.ExitCode() == sshFailed || c.first.Cmd.ProcessState.ExitCode() < 0 {
		return r.explain("place tare on", words, err)
	}
	fix := "check that " + c.program + " may be executed there"
	switch lower := strings.ToLower(words); {
	case strings.Contains(lower, "no space left"), strings.Contains(lower, "quota"):
		fix = "free some space there, or set TMPDIR for that user to a directory with more"
	case strings.Contains(lower, "exec format"), strings.Contains(lower, "cannot execute"), strings.Contains(lower, "syntax error"):
		fix = "check that this program for " + s.String() + " is one: " + r.source(s)
	}
	return r.problem("place tare on", "it did not start there: "+oneLine(words)+" ("+c.first.State()+")", fix)
}

// open opens this program for a system, and returns its size.
func (r *remote) open(s System) (*os.File, int64, error) {
	path := r.source(s)
	if path == "" {
		e := r.problem("place tare on", "the machine is "+s.String()+", and there is no tare for it here",
			"put "+BinaryName(s)+" of the same version next to this program, or into a directory that "+EnvBinaries+" names")
		return nil, 0, e
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, fmt.Errorf("read this program for machine %s: %w", r.name, err)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, 0, fmt.Errorf("read this program for machine %s: %w", r.name, err)
	}
	return f, info.Size(), nil
}
