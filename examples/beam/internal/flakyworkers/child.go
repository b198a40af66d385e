package flakyworkers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/harness"
	fnpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/fnexecution_v1"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/util/grpcx"
)

// Process is a child that was started.
type Process interface {
	// Kill ends the child without warning. It returns at once and may be called often.
	Kill()
	// Wait returns when the child has ended, and why it did. It is called once.
	Wait() error
}

// Starter starts a child: a Beam worker with this ID. All of its services (control, data, state, logging) are at this address. The child
// must end when the context does.
type Starter func(ctx context.Context, id, address string) (Process, error)

// Program returns a Starter of processes: a program with these arguments, and those that put a Go program which calls beam.Init into
// Beam's worker mode.
func Program(path string, arguments ...string) Starter {
	return func(ctx context.Context, id, address string) (Process, error) {
		p := &program{cmd: exec.CommandContext(ctx, path, append(append([]string(nil), arguments...),
			"--worker", "--id="+id, "--logging_endpoint="+address, "--control_endpoint="+address)...)}
		p.cmd.Stderr, p.cmd.WaitDelay = &p.said, time.Second
		if err := p.cmd.Start(); err != nil {
			return nil, err
		}
		return p, nil
	}
}

type program struct {
	cmd  *exec.Cmd
	said tailBuffer
}

func (p *program) Kill() { p.cmd.Process.Kill() } // an error means that it has ended, and Wait says so, too

func (p *program) Wait() error {
	p.cmd.Wait() // the state says the same as its error, and it is there, too, if the program ended well
	state := p.cmd.ProcessState
	if said := strings.TrimSpace(p.said.String()); said != "" {
		return fmt.Errorf("process %d: %v; it said last: %s", state.Pid(), state, said)
	}
	return fmt.Errorf("process %d: %v", state.Pid(), state)
}

// tailBuffer keeps the last kilobytes that are written to it.
type tailBuffer struct{ bytes.Buffer }

func (t *tailBuffer) Write(p []byte) (int, error) {
	const most = 4 << 10
	t.Buffer.Write(p)
	if n := t.Len(); n > most {
		t.Next(n - most)
	}
	return len(p), nil
}

// Harness starts children in this process, as Beam's loopback environment does. Killing one breaks its streams; Beam's harness may then
// panic when a bundle under way ends in that moment, so plant Kill only if children are processes.
func Harness(ctx context.Context, id, address string) (Process, error) {
	ctx, cancel := context.WithCancel(grpcx.WriteWorkerID(ctx, id))
	h := &inProcess{cancel: cancel, ended: make(chan error, 1)}
	go func() { h.ended <- harness.MainWithOptions(ctx, address, address, harness.Options{}) }()
	return h, nil
}

type inProcess struct {
	cancel context.CancelFunc
	ended  chan error
}

func (h *inProcess) Kill() { h.cancel() }

func (h *inProcess) Wait() error {
	defer h.cancel()
	if err := <-h.ended; err != nil {
		return err
	}
	return errors.New("the harness ended")
}

// child is one of a worker's children. All of it but the queues is guarded by the worker's lock.
type child struct {
	id        string
	process   Process
	connected bool // it has opened a stream
	// dead says that the child was killed, or has ended. It gets no more work then, and what it says is not heard. Its attempts are
	// given to others when it has ended.
	dead     bool
	attempts map[string]*attempt // those under way, by their instruction ID
	// asked has the instructions other than bundles, by their ID. Each is called once, with the answer, or nil when the child has ended.
	asked map[string]func(*fnpb.InstructionResponse)

	control *queue[*fnpb.InstructionRequest]
	data    *queue[*fnpb.Elements]
	state   *queue[*fnpb.StateResponse]
}

// sendInstruction sends an instruction that is no bundle.
func (c *child) sendInstruction(request *fnpb.InstructionRequest, then func(*fnpb.InstructionResponse)) {
	c.asked[request.GetInstructionId()] = then
	c.control.put(request)
}

// kill ends the child; what follows from that is done when it has ended.
func (c *child) kill() {
	c.dead = true
	c.process.Kill()
}

// startTimeout is how long a child may take until it opens a stream.
const startTimeout = 2 * time.Minute

// startChildren starts children until the worker has as many as it should, or as many as it may.
func (w *worker) startChildren() {
	living := 0
	for _, c := range w.children {
		if !c.dead {
			living++
		}
	}
	for ; living < w.options.Children && !w.stopping; living++ {
		if w.options.NoReplacement && w.started >= w.options.Children {
			return
		}
		w.started++
		c := &child{
			id: fmt.Sprintf("%s.%d", w.id, w.started), attempts: map[string]*attempt{}, asked: map[string]func(*fnpb.InstructionResponse){},
			control: newQueue[*fnpb.InstructionRequest](), data: newQueue[*fnpb.Elements](), state: newQueue[*fnpb.StateResponse](),
		}
		process, err := w.options.Start(w.ctx, c.id, w.address)
		if err != nil {
			w.notStarted = err
			return
		}
		c.process = process
		w.children[c.id] = c
		w.counts.started.Add(1)
		w.running.Go(func() { w.childEnded(c, process.Wait()) })
		time.AfterFunc(startTimeout, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			if !c.connected {
				c.kill()
			}
		})
	}
}

// childEnded deals with the end of a child: its attempts have failed.
func (w *worker) childEnded(c *child, why error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c.dead = true
	delete(w.children, c.id)
	if w.stopping {
		return
	}
	w.counts.died.Add(1)
	for id, then := range c.asked {
		delete(c.asked, id)
		then(nil)
	}
	for _, a := range c.attempts {
		w.attemptFailed(a, fmt.Sprintf("its worker died: %v", why))
	}
}
