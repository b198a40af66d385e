package flakyworkers

import (
	"fmt"

	fnpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/fnexecution_v1"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	"google.golang.org/protobuf/proto"
)

// descriptor says what bundles of one kind are: which transforms a child applies to which input. It does not change once it is made.
type descriptor struct {
	message *fnpb.ProcessBundleDescriptor // for children: the addresses in it are the worker's
	// streams is how many streams of output (collections and families of timers) a child ends before a bundle is complete.
	streams int
	// whole says that a bundle must not be cut: its transforms have state or timers, which keys that stand together share.
	whole bool
	// input finds the ends of a bundle's input elements; it is nil if their coder is not known, which makes bundles unsplittable.
	input skip
}

// describe makes a descriptor of prism's message, which it takes over: the address becomes the one at which children reach the worker.
func describe(message *fnpb.ProcessBundleDescriptor, address string) (*descriptor, error) {
	d := &descriptor{message: message}
	service := &pipepb.ApiServiceDescriptor{Url: address}
	if message.StateApiServiceDescriptor != nil {
		message.StateApiServiceDescriptor = service
	}
	if message.TimerApiServiceDescriptor != nil {
		message.TimerApiServiceDescriptor = service
	}
	for id, transform := range message.GetTransforms() {
		spec := transform.GetSpec()
		switch spec.GetUrn() {
		case "beam:runner:source:v1", "beam:runner:sink:v1":
			var port fnpb.RemoteGrpcPort
			if err := proto.Unmarshal(spec.GetPayload(), &port); err != nil {
				return nil, fmt.Errorf("reading the port of transform %q: %w", id, err)
			}
			port.ApiServiceDescriptor = service
			payload, err := proto.Marshal(&port)
			if err != nil {
				return nil, fmt.Errorf("writing the port of transform %q: %w", id, err)
			}
			spec.Payload = payload
			if spec.GetUrn() == "beam:runner:sink:v1" {
				d.streams++
			} else if input, err := skipper(port.GetCoderId(), message.GetCoders()); err == nil {
				d.input = input
			}
		case "beam:transform:pardo:v1":
			var pardo pipepb.ParDoPayload
			if err := proto.Unmarshal(spec.GetPayload(), &pardo); err != nil {
				return nil, fmt.Errorf("reading the timers of transform %q: %w", id, err)
			}
			d.streams += len(pardo.GetTimerFamilySpecs())
			d.whole = d.whole || len(pardo.GetTimerFamilySpecs())+len(pardo.GetStateSpecs()) > 0
		}
	}
	return d, nil
}
