package machine

import (
	"cmp"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"tare/internal/printable"
)

// Error says why a machine cannot be used, and how to fix it, on one line.
type Error struct {
	Machine string // its name
	Address Address
	Tried   string // what was attempted, such as "log in to"
	Reason  string
	Fix     string
	// Temporary reports that the same may work later: nobody answers, or the connection broke.
	Temporary bool
}

func (e *Error) Error() string {
	return fmt.Sprintf("cannot %s machine %s (%s): %s; %s", e.Tried, e.Machine, e.Address, e.Reason, e.Fix)
}

// problem returns an error with cleaned texts.
func (r *remote) problem(tried, reason, fix string) *Error {
	return &Error{Machine: r.name, Address: r.ssh.address, Tried: tried, Reason: oneLine(reason), Fix: fix}
}

// maxReason is the length of a text from the other side in an error, in columns.
const maxReason = 300

// oneLine cleans a text from the other side.
func oneLine(text string) string {
	return printable.Cut(strings.Join(strings.Fields(printable.Clean(text)), " "), maxReason)
}

// symptom is a text that ssh writes, and what it means.
type symptom struct {
	text, reason, fix string // reason is empty for the text's own line; HAND, HOST and USER stand for those of the address
	temporary         bool
}

// symptoms are in the order in which they are looked for: a later one may follow from an earlier.
func symptoms() []symptom {
	return []symptom{
		{text: "REMOTE HOST IDENTIFICATION HAS CHANGED", reason: "its host key is not the known one",
			fix: "if the machine was installed again, remove the old key with ssh-keygen -R HOST and log in once with HAND; otherwise somebody answers in its place"},
		{text: "Host key for", reason: "its host key is not the known one", fix: "compare the keys; ssh-keygen -R HOST removes the known one"},
		{text: "host key is known for", reason: "its host key is unknown", fix: "log in once with HAND and compare the fingerprint"},
		{text: "Host key verification failed", reason: "its host key is unknown", fix: "log in once with HAND and compare the fingerprint"},
		{text: "no matching host key type", fix: "make this work: HAND true"},
		{text: "Too many authentication failures", fix: "name the key with IdentityFile and IdentitiesOnly yes in the configuration of ssh"},
		{text: "Permission denied (", reason: "it refused the login: no key of yours is accepted", fix: "make HAND true work without a prompt: add your key to the agent (ssh-add) and to that user's authorized_keys (ssh-copy-id)"},
		{text: "Permission denied, please try again", reason: "it asks for a password", fix: "make HAND true work without a prompt: log in with a key (ssh-copy-id)"},
		{text: "Could not resolve hostname", reason: "the name cannot be resolved", fix: "correct the name, or define it as a Host in the configuration of ssh"},
		{text: "Connection refused", reason: "no ssh server listens there (connection refused)", fix: "start it (sudo systemctl start ssh), or name its port: ssh://HOST:PORT", temporary: true},
		{text: "Connection timed out", reason: "no answer", fix: "check that the machine is up and that its firewall accepts ssh", temporary: true},
		{text: "No route to host", reason: "there is no route to it, or its firewall rejects ssh", fix: "check that the machine is up, its address and its firewall", temporary: true},
		{text: "Network is unreachable", reason: "this machine has no route to it", fix: "check its address and the routes of this machine", temporary: true},
		{text: "Bad configuration option", fix: "correct the configuration of ssh"},
		{text: "Can't open user config file", fix: "correct the name of ssh's configuration file"},
		{text: "kex_exchange_identification", reason: "it closed the connection before the login", fix: "check that this is the port of an ssh server, and its limits (MaxStartups, fail2ban)", temporary: true},
		{text: "Timeout, server", reason: "the connection was lost: no answer any more", fix: "check the network and the machine", temporary: true},
		{text: "Connection closed by", reason: "it closed the connection", fix: "make this work: HAND true", temporary: true},
		{text: "Connection reset by", reason: "it reset the connection", fix: "make this work: HAND true", temporary: true},
		{text: "Broken pipe", reason: "the connection was lost", fix: "check the network and the machine", temporary: true},
	}
}

// explain returns the error for an ssh that ended with status 255 or did not start. words are its
// stderr.
func (r *remote) explain(tried, words string, err error) *Error {
	fill := strings.NewReplacer("HAND", r.ssh.byHand(), "HOST", r.ssh.address.Host)
	if errors.Is(err, exec.ErrNotFound) {
		return r.problem(tried, "the ssh program was not found", "install an ssh client, such as Debian's openssh-client")
	}
	for _, s := range symptoms() {
		if line := lineWith(words, s.text); line != "" {
			e := r.problem(tried, cmp.Or(s.reason, line), fill.Replace(s.fix))
			e.Temporary = s.temporary
			return e
		}
	}
	reason := lastLine(words)
	if reason == "" && err != nil {
		reason = err.Error()
	}
	return r.problem(tried, cmp.Or(reason, "ssh ended without a reason"), fill.Replace("make this work: HAND true"))
}

// lineWith returns the first line that contains part, "" if there is none.
func lineWith(words, part string) string {
	for line := range strings.Lines(words) {
		if strings.Contains(line, part) {
			return line
		}
	}
	return ""
}

// lastLine returns the last line that is not blank.
func lastLine(words string) string {
	words = strings.TrimSpace(words)
	return words[strings.LastIndexByte(words, '\n')+1:]
}
