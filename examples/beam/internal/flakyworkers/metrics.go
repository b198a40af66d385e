package flakyworkers

import (
	"bytes"
	"strconv"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/coder"
	fnpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/fnexecution_v1"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	"google.golang.org/protobuf/proto"
)

// name returns what distinguishes a metric from others: all of it but the payload.
func name(info *pipepb.MonitoringInfo) (named *pipepb.MonitoringInfo, key string) {
	named = &pipepb.MonitoringInfo{Urn: info.GetUrn(), Type: info.GetType(), Labels: info.GetLabels()}
	marshalled, err := proto.MarshalOptions{Deterministic: true}.Marshal(named)
	if err != nil {
		panic(err) // it came by protobuf, so it can be marshalled
	}
	return named, string(marshalled)
}

// merge returns the metrics of a bundle from those of its pieces: sums are added, distributions merged, and of others the last stays.
func merge(pieces [][]*pipepb.MonitoringInfo) []*pipepb.MonitoringInfo {
	if len(pieces) == 1 {
		return pieces[0]
	}
	var all []*pipepb.MonitoringInfo
	at := map[string]int{}
	for _, infos := range pieces {
		for _, info := range infos {
			named, key := name(info)
			i, ok := at[key]
			if !ok {
				at[key] = len(all)
				named.Payload = info.GetPayload()
				all = append(all, named)
				continue
			}
			all[i].Payload = mergePayloads(info.GetType(), all[i].GetPayload(), info.GetPayload())
		}
	}
	return all
}

func mergePayloads(kind string, a, b []byte) []byte {
	x, y := varints(a), varints(b)
	switch {
	case kind == "beam:metrics:sum_int64:v1" && len(x) == 1 && len(y) == 1:
		return encoded(x[0] + y[0])
	case kind == "beam:metrics:distribution_int64:v1" && len(x) == 4 && len(y) == 4: // number, sum, least, greatest
		return encoded(x[0]+y[0], x[1]+y[1], min(x[2], y[2]), max(x[3], y[3]))
	}
	return b
}

func varints(payload []byte) (numbers []int64) {
	for r := bytes.NewReader(payload); r.Len() > 0; {
		n, err := coder.DecodeVarInt(r)
		if err != nil {
			return nil
		}
		numbers = append(numbers, n)
	}
	return numbers
}

func encoded(numbers ...int64) []byte {
	var payload bytes.Buffer
	for _, n := range numbers {
		coder.EncodeVarInt(n, &payload) // to memory, so it does not fail
	}
	return payload.Bytes()
}

// shortIDs gives metrics the short names by which prism wants them, and nothing else. Each child has short names of its own, so the worker
// asks children for long names (it does not say that its runner can take short ones) and shortens them here.
type shortIDs struct {
	byInfo map[string]string                 // a marshalled MonitoringInfo without payload → its short name
	infos  map[string]*pipepb.MonitoringInfo // the inverse
}

func newShortIDs() shortIDs {
	return shortIDs{byInfo: map[string]string{}, infos: map[string]*pipepb.MonitoringInfo{}}
}

// shorten returns the payloads under the metrics' short names.
func (s *shortIDs) shorten(infos []*pipepb.MonitoringInfo) map[string][]byte {
	payloads := make(map[string][]byte, len(infos))
	for _, info := range infos {
		named, key := name(info)
		short, ok := s.byInfo[key]
		if !ok {
			short = strconv.Itoa(len(s.infos))
			s.byInfo[key], s.infos[short] = short, named
		}
		payloads[short] = info.GetPayload()
	}
	return payloads
}

// expand answers prism's question what short names mean.
func (s *shortIDs) expand(request *fnpb.MonitoringInfosMetadataRequest) *fnpb.MonitoringInfosMetadataResponse {
	known := make(map[string]*pipepb.MonitoringInfo)
	for _, short := range request.GetMonitoringInfoId() {
		if info, ok := s.infos[short]; ok {
			known[short] = info
		}
	}
	return &fnpb.MonitoringInfosMetadataResponse{MonitoringInfo: known}
}
