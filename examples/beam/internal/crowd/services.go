package crowd

import (
	"context"
	"fmt"

	fnpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/fnexecution_v1"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/util/grpcx"
)

// services is the runner's side of the Fn API, for the children of a worker. Children say who they are in the metadata of each call.
// One that ends a stream is killed: a worker without it is of no use, and what is done about dead ones is all that is needed.
type services struct {
	fnpb.UnimplementedBeamFnControlServer
	fnpb.UnimplementedBeamFnDataServer
	fnpb.UnimplementedBeamFnStateServer
	fnpb.UnimplementedBeamFnLoggingServer

	*worker
}

// caller returns the child that makes a call.
func (s *services) caller(ctx context.Context) (*child, error) {
	id, err := grpcx.ReadWorkerID(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.children[id]
	if !ok || c.dead {
		return nil, fmt.Errorf("no child %q lives", id)
	}
	c.connected = true
	return c, nil
}

// talk converses with a child until the stream ends, and with it the child.
func talk[S, R any, T interface {
	stream[S, R]
	Context() context.Context
}](s *services, stream T, out func(*child) *queue[S], take func(*child, R)) error {
	c, err := s.caller(stream.Context())
	if err != nil {
		return err
	}
	err = converse[S, R](s.ctx, &s.running, stream, out(c), func(m R) { take(c, m) })
	s.mu.Lock()
	c.kill()
	s.mu.Unlock()
	return err
}

func (s *services) Control(stream fnpb.BeamFnControl_ControlServer) error {
	return talk(s, stream, func(c *child) *queue[*fnpb.InstructionRequest] { return c.control }, s.responded)
}

func (s *services) Data(stream fnpb.BeamFnData_DataServer) error {
	return talk(s, stream, func(c *child) *queue[*fnpb.Elements] { return c.data }, s.put)
}

func (s *services) State(stream fnpb.BeamFnState_StateServer) error {
	return talk(s, stream, func(c *child) *queue[*fnpb.StateResponse] { return c.state }, s.requested)
}

func (s *services) Logging(stream fnpb.BeamFnLogging_LoggingServer) error {
	for {
		entries, err := stream.Recv()
		if err != nil {
			return nil // what a child logs last may be lost
		}
		s.log.put(entries)
	}
}

func (s *services) GetProcessBundleDescriptor(_ context.Context, r *fnpb.GetProcessBundleDescriptorRequest) (*fnpb.ProcessBundleDescriptor, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, ok := s.descriptors[r.GetProcessBundleDescriptorId()]
	if !ok {
		return nil, fmt.Errorf("no bundle descriptor %q", r.GetProcessBundleDescriptorId())
	}
	return d.message, nil
}
