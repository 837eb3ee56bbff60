package peers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
	"tare/internal/traffic"
	"tare/internal/traffic/http1"
	"tare/internal/traffic/workloads"
)

// bytesCodec leaves messages as they are.
type bytesCodec struct{}

func (bytesCodec) Name() string                  { return "proto" }
func (bytesCodec) Marshal(v any) ([]byte, error) { return *v.(*[]byte), nil }
func (bytesCodec) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = slices.Clone(data)
	return nil
}

const grpcToken, grpcAsked, grpcAnswered = "a token", 700, 3000

// trialService answers the calls of a trial, as tare's server does.
func trialService() *grpc.ServiceDesc {
	admit := func(ctx context.Context) error {
		md, _ := metadata.FromIncomingContext(ctx)
		if !slices.Equal(md.Get(http1.TagField), []string{http1.RequestTag(grpcToken)}) {
			return status.Error(codes.PermissionDenied, "not of the trial")
		}
		return nil
	}
	answered, out := metadata.Pairs(http1.TagField, http1.ResponseTag(grpcToken)), make([]byte, grpcAnswered)
	receive := func(in []byte, err error) error {
		if err == nil && len(in) != grpcAsked {
			return status.Errorf(codes.InvalidArgument, "a message of %d bytes", len(in))
		}
		return err
	}
	return &grpc.ServiceDesc{
		ServiceName: "tare.Trial",
		Methods: []grpc.MethodDesc{{MethodName: "Call", Handler: func(_ any, ctx context.Context, dec func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			var in []byte
			if err := admit(ctx); err != nil {
				return nil, err
			}
			err := dec(&in)
			if err = receive(in, err); err == nil {
				err = grpc.SetHeader(ctx, answered)
			}
			return &out, err
		}}},
		Streams: []grpc.StreamDesc{{StreamName: "Stream", ServerStreams: true, ClientStreams: true, Handler: func(_ any, s grpc.ServerStream) error {
			err := admit(s.Context())
			if err == nil {
				err = s.SetHeader(answered)
			}
			for err == nil {
				var in []byte
				if err = s.RecvMsg(&in); errors.Is(err, io.EOF) {
					return nil
				}
				if err = receive(in, err); err == nil {
					err = s.SendMsg(&out)
				}
			}
			return err
		}}},
	}
}

func grpcParams(streaming string) traffic.Params {
	return traffic.Params{
		Workload: study.Workload{Kind: "grpc", Flows: 2, Streams: 3, RequestSize: grpcAsked, ResponseSize: grpcAnswered, Streaming: streaming, SendBuffer: quantity.AutoBuffer(), ReceiveBuffer: quantity.AutoBuffer()},
		Address:  "127.0.0.1:0", Token: grpcToken, CPU: -1, Warmup: 10 * time.Millisecond, Duration: 100 * time.Millisecond,
	}
}

// The client of grpc is right about the server of google.golang.org/grpc.
func TestGRPCServerOfGoogle(t *testing.T) {
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	s := grpc.NewServer(grpc.ForceServerCodec(bytesCodec{}))
	s.RegisterService(trialService(), nil)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	defer func() {
		s.Stop()
		must.Do(t, <-served)
	}()
	for _, streaming := range []string{study.Off, study.Bidi} {
		p := grpcParams(streaming)
		p.Address = l.Addr().String()
		c := must.Get(must.Get(workloads.Named("grpc"))(t).Dial(t.Context(), p, nil))(must.Named(t, streaming))
		if c.Messages == 0 || c.Window.Failed > 0 || c.Connections != 2 || len(c.Notes) > 0 {
			t.Errorf("streaming %s: %d messages over %d connections, %d failed, %v", streaming, c.Messages, c.Connections, c.Window.Failed, c.Notes)
		}
		p.Token, p.Duration = "another", time.Minute
		_, err := must.Get(workloads.Named("grpc"))(t).Dial(t.Context(), p, nil)
		must.FailLine(t, streaming, err, `the answer is the status "7" of gRPC: "not of the trial"`)
	}
}

// The server of grpc answers the client of google.golang.org/grpc, in calls of one message and in those that go on.
func TestGRPCClientOfGoogle(t *testing.T) {
	for _, streaming := range []string{study.Off, study.Bidi} {
		t.Run(streaming, func(t *testing.T) {
			s := must.Get(must.Get(workloads.Named("grpc"))(t).Listen(grpcParams(streaming)))(t)
			peer, served := make(chan traffic.Report, 1), make(chan traffic.Report, 1)
			go func() {
				r, err := s.Serve(t.Context(), peer)
				if err != nil {
					t.Error(err)
				}
				served <- r
			}()
			conn := must.Get(grpc.NewClient(fmt.Sprintf("passthrough:///127.0.0.1:%d", s.Port()), grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.ForceCodec(bytesCodec{}))))(t)
			ctx := metadata.AppendToOutgoingContext(t.Context(), http1.TagField, http1.RequestTag(grpcToken))
			in, out := make([]byte, grpcAsked), []byte(nil)
			if streaming == study.Off {
				for range 10 {
					must.Do(t, conn.Invoke(ctx, "/tare.Trial/Call", &in, &out))
					must.Equal(t, grpcAnswered, len(out))
				}
			} else {
				call := must.Get(conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, "/tare.Trial/Stream"))(t)
				for range 10 {
					must.Do(t, call.SendMsg(&in), call.RecvMsg(&out))
					must.Equal(t, grpcAnswered, len(out))
				}
				must.Do(t, call.CloseSend())
				must.Equal(t, true, errors.Is(call.RecvMsg(&out), io.EOF))
			}
			must.Do(t, conn.Close())
			peer <- traffic.Report{}
			if r := <-served; r.Messages != 10 || r.Refused != 0 || r.Connections != 1 {
				t.Errorf("%d messages, %d refused, %d connections", r.Messages, r.Refused, r.Connections)
			}
		})
	}
}
