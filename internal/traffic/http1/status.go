package http1

import "strconv"

// The statuses that are used by name (RFC 9110, 15). Package net/http has them, too, but would make the agent a fifth larger.
const (
	StatusSwitchingProtocols = 101
	StatusOK                 = 200
	StatusNoContent          = 204
	StatusNotModified        = 304
	StatusBadRequest         = 400
	StatusForbidden          = 403
	StatusContentTooLarge    = 413
	StatusFieldsTooLarge     = 431
	StatusNotImplemented     = 501
	StatusUnsupportedVersion = 505
)

// TimeFormat is the format of a Date field, of a time in UTC.
const TimeFormat = "Mon, 02 Jan 2006 15:04:05 GMT"

// reasons are the reasons of statuses that servers and proxies commonly answer with.
//
//nolint:gochecknoglobals // immutable
var reasons = map[int]string{
	StatusOK: "OK", 201: "Created", 202: "Accepted", StatusNoContent: "No Content", 206: "Partial Content",
	301: "Moved Permanently", 302: "Found", 303: "See Other", StatusNotModified: "Not Modified", 307: "Temporary Redirect", 308: "Permanent Redirect",
	StatusBadRequest: "Bad Request", 401: "Unauthorized", StatusForbidden: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
	407: "Proxy Authentication Required", 408: "Request Timeout", 411: "Length Required", StatusContentTooLarge: "Request Entity Too Large",
	414: "Request URI Too Long", 421: "Misdirected Request", 426: "Upgrade Required", 429: "Too Many Requests",
	StatusFieldsTooLarge: "Request Header Fields Too Large", 500: "Internal Server Error", StatusNotImplemented: "Not Implemented",
	502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout", StatusUnsupportedVersion: "HTTP Version Not Supported",
}

// Status describes a status, such as "404 Not Found".
func Status(code int) string {
	text := strconv.Itoa(code)
	if reason := reasons[code]; reason != "" {
		text += " " + reason
	}
	return text
}
