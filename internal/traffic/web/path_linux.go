package web

import "tare/internal/traffic/socket"

func fastest() path {
	return path{name: "fast", net: socket.Fast{}, request: requestHTTPFast, serve: serveHTTPFast}
}
