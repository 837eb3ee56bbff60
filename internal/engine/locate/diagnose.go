package locate

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/cli/cli/connhelper"

	"tare/internal/engine"
)

// diagnose turns the failure to speak to an engine into a line that says why and
// what to do about it.
func (s source) diagnose(ctx context.Context, err error) error {
	u := &engine.Unavailable{Engine: s.name, Tried: s.host}
	scheme, rest, _ := strings.Cut(s.host, "://")
	switch {
	case strings.Contains(strings.ToLower(err.Error()), "minimum supported api version"): // in the client's words and the engine's
		u.Reason = oneLine(err.Error())
		u.Fix = "tare speaks API " + engine.MinAPI + " and newer: upgrade that engine to Docker 19.03 or newer, and unset DOCKER_API_VERSION"
	case scheme == "ssh":
		u.Reason, u.Fix = explainSSH(ctx, s.host, err)
	case scheme == "unix":
		u.Reason, u.Fix = explainSocket(ctx, rest, err)
		_, stat := os.Lstat(rest)
		u.NotFound = errors.Is(stat, fs.ErrNotExist)
	case explainTLS(u, s, err):
	default:
		u.Reason, u.Fix = explainNetwork(ctx, s, err)
	}
	// The time limit says more than what it cut short.
	if ctx.Err() != nil && scheme != "unix" {
		u.Reason = context.Cause(ctx).Error()
	}
	return u
}

// explainSocket asks the kernel again what is wrong with a socket: the client
// keeps its error number to itself.
func explainSocket(ctx context.Context, path string, err error) (why, mend string) {
	conn, dial := redial(ctx, "unix", path)
	if dial == nil {
		_ = conn.Close()
		return explainAnswer(err)
	}
	elsewhere := "name another engine: docker context ls shows those there are"
	switch info, stat := os.Stat(path); {
	case errors.Is(dial, fs.ErrPermission):
		return "permission denied", "run tare as root, or join the socket's group: sudo usermod -aG docker $USER, and log in again"
	case errors.Is(dial, fs.ErrNotExist):
		return "there is no such socket: no engine runs here, or it listens elsewhere", "start one: sudo systemctl start docker, or " + elsewhere
	case stat == nil && info.Mode()&fs.ModeSocket == 0:
		return "that is no socket", elsewhere
	case errors.Is(dial, syscall.ECONNREFUSED):
		return "no engine listens on that socket", "start it: sudo systemctl start docker, or " + elsewhere
	}
	return oneLine(dial.Error()), "docker version tells whether the engine answers"
}

// redial dials once more, also where the first time has taken all there was.
func redial(ctx context.Context, network, address string) (net.Conn, error) {
	return (&net.Dialer{Timeout: 2 * time.Second}).DialContext(context.WithoutCancel(ctx), network, address)
}

// explainAnswer is what is wrong where something listens.
func explainAnswer(err error) (why, mend string) {
	if errdefs.IsNotFound(err) {
		return "what answers there is no Docker Engine", "name an engine's address: docker context ls shows those there are"
	}
	return oneLine(err.Error()), "docker version tells whether the engine answers, and its log why it does not: sudo journalctl -u docker"
}

// explainSSH takes what ssh or the docker command at its other end have said last.
func explainSSH(ctx context.Context, target string, err error) (why, mend string) {
	_, host, _ := strings.Cut(target, "://")
	host, _, _ = strings.Cut(host, "/")
	if errors.Is(err, exec.ErrNotFound) {
		return "there is no ssh command", "install an ssh client, such as Debian's openssh-client"
	}
	words := sshLastLine(err)
	if words == "" {
		// It ended before the request was written, and the words were lost.
		if words = sshLastLine(sshError(ctx, target)); words == "" {
			words = err.Error()
		}
	}
	if name, port, ok := strings.Cut(host, ":"); ok {
		host = "-p " + port + " " + name
	}
	mend = "this must work without asking anything: ssh " + host + " docker version"
	if strings.Contains(words, "permission denied while trying to connect") {
		mend = "let that user use the engine, on that machine: sudo usermod -aG docker USER"
	}
	return oneLine(words), mend
}

// sshLastLine are those of the command at this end of an ssh connection.
func sshLastLine(err error) string {
	if err == nil {
		return ""
	}
	_, words, _ := strings.Cut(err.Error(), "stderr=")
	return strings.TrimSpace(words)
}

// sshError opens an ssh connection, says nothing and returns how it ends. One that
// works does not end.
func sshError(ctx context.Context, target string) error {
	helper, err := connhelper.GetConnectionHelper(target)
	if err != nil || helper == nil {
		return err
	}
	conn, err := helper.Dialer(ctx, "", "")
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() {
		_, err := conn.Read(make([]byte, 1))
		ended <- err
	}()
	select {
	case err = <-ended:
	case <-time.After(dialTimeout):
	case <-ctx.Done():
	}
	_ = conn.Close() // only its end was of interest
	return err
}

// explainTLS recognises what can be wrong with TLS on either side.
func explainTLS(u *engine.Unavailable, s source, err error) bool {
	text := err.Error()
	where := "DOCKER_CERT_PATH (now " + certDir() + ")"
	if s.context != "" {
		where = "the context: docker context update " + s.context + " --docker host=" + s.host + ",ca=FILE,cert=FILE,key=FILE"
	}
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var record tls.RecordHeaderError
	var alert tls.AlertError
	switch {
	case strings.Contains(text, "HTTP request to an HTTPS server"), strings.Contains(text, "TLS-enabled daemon without TLS"):
		u.Reason, u.Fix = "TLS refused: the engine wants TLS and it was spoken to without", "set DOCKER_TLS_VERIFY=1 and DOCKER_CERT_PATH=DIR (ca.pem, cert.pem, key.pem), or make a context with them"
	case errors.As(err, &record), strings.Contains(text, "HTTP response to HTTPS client"):
		u.Reason, u.Fix = "TLS refused: the engine speaks none on that port", "unset DOCKER_TLS_VERIFY and DOCKER_TLS, or name the port with TLS, usually 2376"
	case errors.As(err, &authority):
		u.Reason, u.Fix = "TLS refused: the engine's certificate is not signed by the CA that is asked for", "put the engine's CA into ca.pem of "+where
	case errors.As(err, &name):
		u.Reason, u.Fix = "TLS refused: "+oneLine(name.Error()), "use a name that the engine's certificate holds"
	case errors.As(err, &invalid):
		u.Reason, u.Fix = "TLS refused: "+oneLine(invalid.Error()), "renew that certificate, and look at both machines' clocks"
	case errors.As(err, &alert), strings.Contains(text, "remote error: tls:"):
		u.Reason, u.Fix = "TLS refused: the engine does not accept the client's certificate", "put a certificate signed by the engine's CA into cert.pem and key.pem of "+where
		if errors.As(err, &alert) {
			u.Reason += " (" + alert.Error() + ")"
		}
	default:
		return false
	}
	return true
}

func certDir() string {
	if dir := os.Getenv(envCerts); dir != "" {
		return dir
	}
	return configDir()
}

// explainNetwork is what keeps an engine elsewhere from being reached. The client
// keeps the reason to itself, so the kernel is asked again.
func explainNetwork(ctx context.Context, s source, err error) (why, mend string) {
	_, address, _ := strings.Cut(s.host, "://")
	address, _, _ = strings.Cut(address, "/")
	conn, dial := redial(ctx, "tcp", address)
	if dial == nil {
		_ = conn.Close()
		return explainAnswer(err)
	}
	why, mend = oneLine(dial.Error()), "name an address and port that dockerd has as -H tcp://..., and let it through the firewall"
	var unknown *net.DNSError
	var timeout net.Error
	switch {
	case errors.As(dial, &unknown):
		return "the name " + unknown.Name + " is not known", "write the address, or look at /etc/hosts and DNS"
	case errors.Is(dial, syscall.ECONNREFUSED):
		return "connection refused: nothing listens on that port", mend
	case errors.As(dial, &timeout) && timeout.Timeout():
		return "no answer: the connection timed out", mend
	}
	return why, mend
}

// unavailable is an engine that cannot be used, with the reason on one line.
func unavailable(name, tried, why, mend string) *engine.Unavailable {
	return &engine.Unavailable{Engine: name, Tried: tried, Reason: oneLine(why), Fix: mend}
}

// oneLine makes one line of a text, and not a long one.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > 300 {
		text = string(r[:300]) + "..."
	}
	return text
}
