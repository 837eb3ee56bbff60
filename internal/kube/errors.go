package kube

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func isNotFound(err error) bool { return apierrors.IsNotFound(err) }
func isExisting(err error) bool { return apierrors.IsAlreadyExists(err) }

// isAway reports whether an error is that of an API server that restarts: it does not answer, or
// not yet with all of its parts.
func isAway(err error) bool {
	if err == nil || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	return errors.Is(kindOf(err), ErrUnreachable) || apierrors.IsForbidden(err) && strings.Contains(err.Error(), "not yet ready to handle request")
}

// isUnreached reports whether an exec stream was not even begun, because the API server or the
// kubelet behind it does not accept connections, has just started and knows no pod, or cannot ask
// the API server who may do what ("Authorization error").
func isUnreached(err error) bool {
	if err == nil {
		return false
	}
	var op *net.OpError
	if errors.As(err, &op) && (op.Op == "dial" || op.Op == "proxyconnect") {
		return true
	}
	return slices.ContainsFunc([]string{"error dialing backend", "connection refused", "pod does not exist", "container not found", "Authorization error"}, func(part string) bool { return strings.Contains(err.Error(), part) })
}

// The categories of a cluster's errors, for errors.Is.
var (
	ErrUnauthorized = errors.New("the cluster does not accept the credentials: the token or certificate has expired or was revoked; log in again (kubectl auth whoami shows who you are)")
	ErrForbidden    = errors.New("the user may not; ask for a role that allows it")
	ErrPodSecurity  = errors.New("Pod Security refuses the pod; label the namespace pod-security.kubernetes.io/enforce=privileged, or leave out the host network with --no-hostnet")
	ErrNamespace    = errors.New("there is no such namespace; create it, or name another with --namespace")
	ErrQuota        = errors.New("a quota of the namespace refuses it; raise the quota, set limits for the mode, or use another namespace")
	ErrAdmission    = errors.New("an admission policy of the cluster refuses it; ask who administers it, or use another namespace")
	ErrUnreachable  = errors.New("the API server does not answer; check the address in the kubeconfig, the network, VPN and proxy")
	ErrCertificate  = errors.New("the API server's certificate is not trusted; check certificate-authority in the kubeconfig")
	ErrCredentials  = errors.New("the credential plugin of the kubeconfig failed; run it by hand, or log in again")
)

// longestError bounds what is repeated of an answer of the cluster.
const longestError = 1000

// Error is an error of a cluster: what was attempted, and what the cluster answered.
type Error struct {
	What  string // create pod client
	Where string // the context
	Kind  error  // one of the categories, or nil
	Err   error
}

func (e *Error) Error() string {
	text := fmt.Sprintf("%s on cluster %s: %s", e.What, e.Where, shorten(e.Err.Error(), longestError))
	if e.Kind != nil {
		text += "; " + e.Kind.Error()
	}
	return text
}

// Unwrap returns the category and the cause.
func (e *Error) Unwrap() []error {
	if e.Kind == nil {
		return []error{e.Err}
	}
	return []error{e.Kind, e.Err}
}

// fail returns the error of an attempt.
func (c *client) fail(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	var already *Error
	if errors.As(err, &already) {
		return err
	}
	return &Error{What: fmt.Sprintf(format, args...), Where: c.Context, Kind: kindOf(err), Err: err}
}

// kindOf returns the category of an error. The API has one code for all refusals, so the
// texts of the admission plugins, which are part of its tests, distinguish them.
func kindOf(err error) error {
	text := err.Error()
	var unknown x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	var host x509.HostnameError
	var verify *tls.CertificateVerificationError
	var transport *url.Error
	var op *net.OpError
	var silent *silentError
	switch {
	case errors.Is(err, context.Canceled):
		return nil
	case strings.Contains(text, "getting credentials:"):
		return ErrCredentials
	case apierrors.IsUnauthorized(err):
		return ErrUnauthorized
	case isNotFound(err) && strings.HasPrefix(text, "namespaces "):
		return ErrNamespace
	case apierrors.IsForbidden(err) && strings.Contains(text, "violates PodSecurity"):
		return ErrPodSecurity
	case apierrors.IsForbidden(err) && (strings.Contains(text, "exceeded quota") || strings.Contains(text, "failed quota") || strings.Contains(text, "maximum cpu usage") || strings.Contains(text, "maximum memory usage")):
		return ErrQuota
	case apierrors.IsForbidden(err) && strings.Contains(text, " cannot "):
		return ErrForbidden
	case apierrors.IsForbidden(err), strings.Contains(text, "admission webhook"), strings.Contains(text, "ValidatingAdmissionPolicy"):
		return ErrAdmission
	case errors.As(err, &unknown), errors.As(err, &invalid), errors.As(err, &host), errors.As(err, &verify):
		return ErrCertificate
	case errors.As(err, &op), errors.As(err, &transport), errors.As(err, &silent), errors.Is(err, context.DeadlineExceeded), apierrors.IsServiceUnavailable(err), apierrors.IsServerTimeout(err):
		return ErrUnreachable
	}
	return nil
}
