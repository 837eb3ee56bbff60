// Package http2 is one end of a connection in HTTP/2 (RFC 9113) with its header compression (RFC 7541): what it reads and
// what it is to send next, in pieces of any size and within bounds. Header blocks of messages that are sent repeatedly are
// encoded once, and a block that is received again is not decoded again. It knows nothing of sockets, clocks and trials.
package http2

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// Preface is what a client sends first (RFC 9113, 3.4).
const Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// The bounds of what is received.
const (
	// MaxFrame is the largest payload of a frame in bytes, the default of SETTINGS_MAX_FRAME_SIZE.
	MaxFrame = 16 << 10
	// MaxBlock is the largest header block as it is encoded.
	MaxBlock = 16 << 10
	// MaxFields is the largest sum of a header block's fields, each with 32 bytes on top (RFC 9113, 6.5.2).
	MaxFields = 16 << 10
	// maxContinuations is how many frames may continue a header block.
	maxContinuations = 16
	// maxInterim is how many interim responses may come before a response.
	maxInterim = 100
	// maxIdle is how many frames in a row may carry nothing: pings, settings, priorities, empty data, unknown ones.
	maxIdle = 1000
	// maxResets is how many streams a client may reset, besides one for each that was answered.
	maxResets = 100
	// maxOutput is how much may wait to be sent besides bodies, of a peer that asks and does not read, in bytes.
	maxOutput = 1 << 20
)

// The windows of what is received, in bytes: of a stream, and of a connection. Bodies are discarded as they arrive, so they
// bound nothing but what may be on the way.
const (
	StreamWindow     = 4 << 20
	ConnectionWindow = 16 << 20
)

// The types of frames (RFC 9113, 6).
const (
	frameData = iota
	frameHeaders
	framePriority
	frameReset
	frameSettings
	framePushPromise
	framePing
	frameGoAway
	frameWindowUpdate
	frameContinuation
)

// The flags of frames.
const (
	flagEndStream  = 0x1
	flagAck        = 0x1
	flagEndHeaders = 0x4
	flagPadded     = 0x8
	flagPriority   = 0x20
)

// The settings (RFC 9113, 6.5.2).
const (
	settingTableSize     = 1
	settingEnablePush    = 2
	settingMaxStreams    = 3
	settingInitialWindow = 4
	settingMaxFrame      = 5
	settingMaxFields     = 6
)

// The initial values of settings, and the bounds of windows and frames.
const (
	initialWindow = 1<<16 - 1
	tableSize     = 4096
	maxWindow     = 1<<31 - 1
	largestFrame  = 1<<24 - 1
)

// headerSize is the length of a frame's header.
const headerSize = 9

// Code is an error code (RFC 9113, 7).
type Code uint32

// The codes that are used by name.
const (
	NoError          Code = 0
	ProtocolError    Code = 1
	FlowControlError Code = 3
	StreamClosed     Code = 5
	FrameSizeError   Code = 6
	RefusedStream    Code = 7
	Cancel           Code = 8
	CompressionError Code = 9
	EnhanceYourCalm  Code = 11
)

// String returns the name of the code in RFC 9113.
func (c Code) String() string {
	names := [...]string{"NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED", "FRAME_SIZE_ERROR",
		"REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM", "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED"}
	if int(c) < len(names) {
		return names[c]
	}
	return fmt.Sprintf("error code %d", uint32(c))
}

// ErrNotHTTP2 means that the peer speaks another protocol.
var ErrNotHTTP2 = errors.New("it does not speak HTTP/2")

// Error is what the peer sent that HTTP/2 does not allow, or that exceeds a bound. It is one line. The connection ends with it.
type Error struct {
	Code Code
	Text string
	// Other is set if the peer speaks another protocol: the error then is ErrNotHTTP2.
	Other bool
}

func (e *Error) Error() string { return e.Text }

// Is makes the error of another protocol ErrNotHTTP2.
func (e *Error) Is(target error) bool { return e.Other && target == ErrNotHTTP2 } //nolint:errorlint // Is is what errors.Is calls

func bad(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Text: fmt.Sprintf(format, args...)}
}

// ResetError is why a stream has no message: the peer reset it, or its message is malformed. The connection goes on.
type ResetError struct {
	Code Code
	// Ours is what is wrong with its message, "" if the peer has reset it.
	Ours string
}

func (e *ResetError) Error() string {
	if e.Ours != "" {
		return e.Ours
	}
	return "the peer reset the stream: " + e.Code.String()
}

// GoneError is why a stream has no message if the peer ends the connection (GOAWAY).
type GoneError struct {
	Code Code
	// Text is what the peer says of it, of at most 100 bytes.
	Text string
}

func (e *GoneError) Error() string {
	text := "the peer ended the connection: " + e.Code.String()
	if e.Text != "" {
		text += fmt.Sprintf(" (%q)", e.Text)
	}
	return text
}

// otherProtocol returns an error that says what a peer speaks whose first bytes are start, nil if these may be HTTP/2.
func otherProtocol(start []byte, server bool) *Error {
	text := string(start)
	what := ""
	switch {
	case server && strings.HasPrefix(Preface, text[:min(len(text), len(Preface))]):
		return nil
	case strings.HasPrefix(text, "HTTP"):
		what = "it answers in HTTP/1"
	case len(text) >= 2 && text[0] >= 0x14 && text[0] <= 0x17 && text[1] == 3:
		what = "it sent a TLS record"
	case strings.HasPrefix(text, "SSH-"):
		what = "it is an SSH server"
	case server && strings.Contains(text, " "):
		what = "it sent no preface but a request of another protocol"
	case !server && len(text) < 4, !server && start[3] == frameSettings:
		return nil
	default:
		what = fmt.Sprintf("it starts with %q", start[:min(len(start), 24)])
	}
	return &Error{Code: ProtocolError, Text: fmt.Sprintf("%v: %s", ErrNotHTTP2, what), Other: true}
}

// frameHeader is the header of a frame (RFC 9113, 4.1).
type frameHeader struct {
	length int
	kind   byte
	flags  byte
	stream uint32
}

func (f frameHeader) has(flag byte) bool { return f.flags&flag != 0 }

func parseFrameHeader(b []byte) frameHeader {
	return frameHeader{int(b[0])<<16 | int(b[1])<<8 | int(b[2]), b[3], b[4], binary.BigEndian.Uint32(b[5:]) & (1<<31 - 1)}
}

func appendFrameHeader(b []byte, length int, kind, flags byte, stream uint32) []byte {
	b = append(b, byte(length>>16), byte(length>>8), byte(length), kind, flags)
	return binary.BigEndian.AppendUint32(b, stream)
}

func appendSetting(b []byte, id uint16, value uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16(b, id), value)
}

func appendWindowUpdate(b []byte, stream uint32, by int64) []byte {
	b = appendFrameHeader(b, 4, frameWindowUpdate, 0, stream)
	return binary.BigEndian.AppendUint32(b, uint32(by))
}

func appendReset(b []byte, stream uint32, code Code) []byte {
	b = appendFrameHeader(b, 4, frameReset, 0, stream)
	return binary.BigEndian.AppendUint32(b, uint32(code))
}
