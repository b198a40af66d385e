package timeline

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/examples/internal/chrometrace"
	"github.com/antigravity-go/antigravity/llama"
)

// A trace has a track for each line of the picture. For example, of a model that computes one prompt with four threads it shows
//
//	passes             ▇ pass of prompts ▇  with its operations below it
//	thread 0, 1, …     the pieces of each operation that the thread computed
//	session 1          prompt, answer, and what the session does in between, such as choosing tokens

// show returns the process as a trace shows it, as two: one with a track for the passes and their operations and a track for each thread;
// and one with a track for each session, since there may be many.
func (p *Process) show() []chrometrace.Process {
	result := chrometrace.Process{Name: p.name, Counters: []chrometrace.Counter{p.rates()}}
	passes, beside := p.showPasses()
	result.Tracks = append(result.Tracks, passes)
	if len(beside.Spans) > 0 {
		result.Tracks = append(result.Tracks, beside)
	}
	for i := range p.record.Threads() {
		if track := p.showThread(i); len(track.Spans) > 0 {
			result.Tracks = append(result.Tracks, track)
		}
	}
	all := chrometrace.Process{Name: "sessions of " + p.name, Counters: p.caches()}
	sessions := p.showSessions()
	for _, n := range slices.Sorted(maps.Keys(sessions)) {
		all.Tracks = append(all.Tracks, chrometrace.Track{Name: fmt.Sprintf("session %d", n), Spans: sessions[n]})
	}
	return []chrometrace.Process{result, all}
}

// span makes a span; ok is false if it began before the Timeline did.
func (p *Process) span(name string, began time.Time, took time.Duration, args any) (s chrometrace.Span, ok bool) {
	at := p.timeline.since(began)
	return chrometrace.Span{Name: name, Began: at, Took: took, Args: args}, at >= 0
}

// The arguments of spans.
type (
	passArgs struct {
		Number   uint64 `json:"number"`
		Sessions int    `json:"sessions"`
		Answers  int    `json:"rows of answers"`
		Prompts  int    `json:"rows of prompts"`
		Error    string `json:"error,omitempty"`
	}
	shareArgs struct {
		Type   string `json:"type,omitempty"`
		Pieces int    `json:"pieces"`
		Of     int    `json:"of"`
	}
	operationArgs struct {
		Type string `json:"type,omitempty"`
	}
	stepArgs struct {
		Position int    `json:"position"`
		Tokens   int    `json:"tokens"`
		Pass     uint64 `json:"pass"`
		Slots    int    `json:"cache slots"`
		Bytes    int64  `json:"cache bytes"`
		Error    string `json:"error,omitempty"`
	}
	choiceArgs struct {
		Position int         `json:"position"`
		Token    llama.Token `json:"token"`
	}
	draftArgs struct {
		Proposed int `json:"proposed"`
		Computed int `json:"computed"`
	}
	evictionArgs struct {
		Reason string `json:"reason"`
		Token  int    `json:"token"`
		Target int    `json:"target slots"`
		Slots  int    `json:"slots given up"`
		Bytes  int64  `json:"bytes given up"`
	}
	moveArgs struct {
		Position int    `json:"position"`
		Bytes    int64  `json:"bytes"`
		Because  string `json:"because,omitempty"`
	}
)

// text returns an error's text, "" for nil.
func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// showPasses returns the track of the passes, each with its operations, and a track of the operations outside passes: those that a session
// computed for itself, perhaps while a pass was computed. An operation belongs to a pass if it lies within the pass and begins after the
// pass's operation before it has ended.
func (p *Process) showPasses() (passes, beside chrometrace.Track) {
	passes, beside = chrometrace.Track{Name: "passes"}, chrometrace.Track{Name: "operations beside passes", Flat: true}
	list := p.passes.all()
	for i := range list {
		pass := &list[i]
		if pass.Waited > 0 {
			if s, ok := p.span("wait for sessions", pass.Began.Add(-pass.Waited), pass.Waited, nil); ok {
				passes.Spans = append(passes.Spans, s)
			}
		}
		args := passArgs{pass.Number, pass.Steps, pass.Answers, pass.Prompts, text(pass.Err)}
		if s, ok := p.span(passName(pass), pass.Began, pass.Took, args); ok {
			passes.Spans = append(passes.Spans, s)
		}
	}
	operations := append(p.operations.all(), p.ofCaller()...)
	slices.SortStableFunc(operations, func(a, b Operation) int { return a.Began.Compare(b.Began) })
	names := map[backend.Phase]string{}
	at := 0             // the first pass that is not over when the operation begins
	var ended time.Time // the operation before, of the same pass
	for i := range operations {
		o := &operations[i]
		s, ok := p.span(phaseName(names, o.Phase), o.Began, o.Took, operationArgs{dtype(o.Phase)})
		if !ok {
			continue
		}
		over := o.Began.Add(o.Took)
		for at < len(list) && !list[at].Began.Add(list[at].Took).After(o.Began) {
			at++
		}
		if at < len(list) && !o.Began.Before(list[at].Began) && !over.After(list[at].Began.Add(list[at].Took)) && !o.Began.Before(ended) {
			passes.Spans = append(passes.Spans, s)
			ended = over
		} else {
			beside.Spans = append(beside.Spans, s)
		}
	}
	return passes, beside
}

// ofCaller stands in for a backend that does not report its calls. It returns thread 0's shares as operations: each from its first part's
// beginning to its last part's end, as far as parts of one operation follow each other.
func (p *Process) ofCaller() (list []Operation) {
	if p.operations.count() > 0 {
		return nil
	}
	for _, s := range p.record.Shares(0) {
		if n := len(list); n > 0 && list[n-1].Part != "" && list[n-1].Operation == s.Operation { // the part before the main part
			o := &list[n-1]
			o.Phase, o.Took = s.Phase, s.Began.Add(s.Took).Sub(o.Began)
			continue
		}
		list = append(list, Operation{s.Phase, s.Began, s.Took})
	}
	return list
}

// passName says what a pass computes, so that passes of different kinds have different colours.
func passName(p *llama.PassInfo) string {
	switch {
	case p.Prompts == 0:
		return "pass of answers"
	case p.Answers == 0:
		return "pass of prompts"
	}
	return "pass of answers and prompts"
}

// showThread returns the track of a thread. Thread 0 is whoever calls the backend, so several goroutines may be computing as it.
func (p *Process) showThread(n int) chrometrace.Track {
	track := chrometrace.Track{Name: fmt.Sprintf("thread %d", n), Flat: true}
	if n == 0 {
		track.Name = "thread 0, the caller"
	}
	names := map[backend.Phase]string{}
	for _, s := range p.record.Shares(n) {
		if span, ok := p.span(phaseName(names, s.Phase), s.Began, s.Took, shareArgs{dtype(s.Phase), s.Pieces, s.Of}); ok {
			track.Spans = append(track.Spans, span)
		}
	}
	return track
}

// phaseName names a phase by its operation, its part and its shape, in ASCII: some viewers show nothing else rightly. It looks among the names that were made before.
func phaseName(names map[backend.Phase]string, p backend.Phase) string {
	if name, ok := names[p]; ok {
		return name
	}
	name := cmp.Or(p.Operation, "task")
	if p.Part != "" {
		name += " " + p.Part
	}
	switch {
	case p.Rows > 0:
		name += " " + strconv.Itoa(p.Rows) + "x" + strconv.Itoa(p.Cols)
	case p.Cols > 0:
		name += " " + strconv.Itoa(p.Cols)
	}
	names[p] = name
	return name
}

// dtype names a phase's type, "" if that is not known.
func dtype(p backend.Phase) string {
	if p.DType == 0 {
		return ""
	}
	return p.DType.String()
}

// showSessions returns each session's spans.
func (p *Process) showSessions() map[uint64][]chrometrace.Span {
	sessions := map[uint64][]chrometrace.Span{}
	add := func(session uint64, name string, began time.Time, took time.Duration, args any) {
		if s, ok := p.span(name, began, took, args); ok {
			sessions[session] = append(sessions[session], s)
		}
	}
	for _, i := range p.steps.all() {
		name := "prompt"
		if i.Answer {
			name = "answer"
		}
		add(i.Session, name, i.Began, i.Took, stepArgs{i.Start, i.Rows, i.Pass, i.Slots, i.Bytes, text(i.Err)})
		if i.Waited > 0 {
			add(i.Session, "wait for a pass", i.Began, i.Waited, nil)
		}
	}
	for _, i := range p.choices.all() {
		name := "choose"
		switch {
		case i.End:
			name = "end"
		case i.Forced:
			name = "take the only token"
		case i.Ahead:
			name = "choose, computed ahead"
		}
		add(i.Session, name, i.Began, i.Took, choiceArgs{i.Position, i.Token})
		if i.Constraint > 0 {
			add(i.Session, "constraint", i.Began, i.Constraint, nil)
		}
	}
	for _, i := range p.drafts.all() {
		add(i.Session, "draft", i.Began, i.Took, draftArgs{i.Proposed, i.Computed})
	}
	for _, i := range p.evictions.all() {
		add(i.Session, "evict ("+i.Reason.String()+")", i.Began, i.Duration, evictionArgs{i.Reason.String(), i.Token, i.Target, i.Slots, i.Bytes})
	}
	for _, i := range p.moves.all() {
		add(i.Session, "move from "+i.From+" to "+i.To, i.Began, i.Duration, moveArgs{i.Position, i.Bytes, text(i.Because)})
	}
	return sessions
}

// rates returns the rows per second of each pass, the time included that it waited for sessions; 0 if the next one begins later than it
// would if there were always something to compute.
func (p *Process) rates() chrometrace.Counter {
	counter := chrometrace.Counter{Name: "rows per second"}
	add := func(at time.Duration, answers, prompts float64) {
		values := map[string]float64{"of answers": answers, "of prompts": prompts}
		counter.Samples = append(counter.Samples, chrometrace.Sample{At: at, Values: values})
	}
	var ended time.Duration // the pass before
	for _, i := range p.passes.all() {
		at, took := p.timeline.since(i.Began)-i.Waited, i.Waited+i.Took
		if at < 0 || took <= 0 {
			continue
		}
		if at-ended > took && len(counter.Samples) > 0 {
			add(ended, 0, 0)
		}
		add(at, float64(i.Answers)/took.Seconds(), float64(i.Prompts)/took.Seconds())
		ended = at + took
	}
	if len(counter.Samples) > 0 {
		add(ended, 0, 0)
	}
	return counter
}

// cache is how large a session's cache was at a moment.
type cache struct {
	at    time.Duration
	slots int
	bytes int64
}

// caches returns two counters for each session: of the slots and of the bytes of its cache.
func (p *Process) caches() (counters []chrometrace.Counter) {
	sizes := map[uint64][]cache{}
	add := func(session uint64, c cache) {
		if c.at >= 0 {
			sizes[session] = append(sizes[session], c)
		}
	}
	for _, i := range p.steps.all() {
		add(i.Session, cache{p.timeline.since(i.Began.Add(i.Took)), i.Slots, i.Bytes})
	}
	for _, i := range p.evictions.all() {
		add(i.Session, cache{p.timeline.since(i.Began.Add(i.Duration)), i.LeftSlots, i.LeftBytes})
	}
	for _, n := range slices.Sorted(maps.Keys(sizes)) {
		slices.SortStableFunc(sizes[n], func(a, b cache) int { return cmp.Compare(a.at, b.at) })
		slots := chrometrace.Counter{Name: fmt.Sprintf("cache slots, session %d", n)}
		bytes := chrometrace.Counter{Name: fmt.Sprintf("cache bytes, session %d", n)}
		for _, c := range sizes[n] {
			slots.Samples = append(slots.Samples, chrometrace.Sample{At: c.at, Values: map[string]int64{"slots": int64(c.slots)}})
			bytes.Samples = append(bytes.Samples, chrometrace.Sample{At: c.at, Values: map[string]int64{"bytes": c.bytes}})
		}
		counters = append(counters, slots, bytes)
	}
	return counters
}
