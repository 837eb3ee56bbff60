package http1

import (
	"strconv"
)

// Field is one header field.
type Field struct{ Name, Value string }

// Request is the head of a request.
type Request struct {
	Method, Target, Host string
	Fields               []Field
	Body                 int64 // bytes of the body, 0 for none
}

// Append appends the head to b. The body follows it.
func (q Request) Append(b []byte) []byte {
	b = append(b, q.Method...)
	b = append(b, ' ')
	b = append(b, q.Target...)
	b = append(b, " HTTP/1.1\r\n"...)
	b = appendField(b, "Host", q.Host)
	b = appendFields(b, q.Fields)
	if q.Body > 0 {
		b = appendLength(b, q.Body)
	}
	return append(b, "\r\n"...)
}

// Response is the head of a response.
type Response struct {
	Status int
	Fields []Field
	Body   int64 // bytes of the body
	Close  bool  // the connection ends after the body
}

// Append appends the head to b. The body follows it.
func (s Response) Append(b []byte) []byte {
	b = append(b, "HTTP/1.1 "...)
	b = append(b, Status(s.Status)...)
	b = append(b, "\r\n"...)
	b = appendFields(b, s.Fields)
	if s.Close {
		b = appendField(b, "Connection", "close")
	}
	b = appendLength(b, s.Body)
	return append(b, "\r\n"...)
}

// Continue is the interim response that asks for the body of a request that expects it (RFC 9110, 10.1.1).
const Continue = "HTTP/1.1 100 Continue\r\n\r\n"

func appendField(b []byte, name, value string) []byte {
	b = append(b, name...)
	b = append(b, ": "...)
	b = append(b, value...)
	return append(b, "\r\n"...)
}

func appendFields(b []byte, all []Field) []byte {
	for _, f := range all {
		b = appendField(b, f.Name, f.Value)
	}
	return b
}

func appendLength(b []byte, n int64) []byte {
	b = append(b, "Content-Length: "...)
	b = strconv.AppendInt(b, n, 10)
	return append(b, "\r\n"...)
}
