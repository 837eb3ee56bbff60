package engine

import "github.com/moby/moby/client/pkg/versions"

// GatewayAPI returns the first version of the API whose engines have a gateway mode of bridge
// networks: routed since Docker 27, the others since 28 (release notes of Docker Engine).
func GatewayAPI(mode string) string {
	if mode == "routed" || mode == "nat" {
		return "1.46"
	}
	return "1.48"
}

// KnowsGateway reports whether the engine has a gateway mode of bridge networks. Older engines accept
// the option and ignore it.
func (e *Engine) KnowsGateway(mode string) bool {
	return versions.GreaterThanOrEqualTo(e.Versions.API, GatewayAPI(mode))
}
