//go:build opencl && (amd64 || arm64)

package opencl

import (
	"errors"
	"fmt"
	"os"

	"github.com/antigravity-go/antigravity/backend/opencl/internal/cl"
	"github.com/antigravity-go/antigravity/backend/opencl/internal/compiler"
)

// meetings lets all groups of a launch meet, as meet.cl describes, on devices that are known to run as many groups at once as they have
// compute units, if a trial has shown it. If a group has waited in vain, because another program has taken a part of the device, the
// next wait for the device returns an error, and from then on each operation is a launch of its own.
//
//	3 records by 132 groups    2 meetings: the count goes from 264 to 528, which is the next launch's first argument
type meetings struct {
	*queue
	groups  int
	program program // of meet.cl
	memory  *cl.Mem // how many groups have come, modulo 2^32, and whether one has given up
	came    uint32  // how many will have come when all that is enqueued has ended

	patience int
	unasked  bool // a launch has been enqueued since the device was asked for the latter
	lost     bool // groups have not met
}

// ErrNotMet is wrapped by errors of work that has to be done again, because its groups did not come together.
var ErrNotMet = errors.New("the groups of a launch did not come together")

// patience is how often a group looks whether the others have come before it gives up: some seconds. The trial has less.
const (
	patience      = 1 << 23
	trialPatience = 1 << 16
)

// chainVariable is the environment variable that makes each operation a launch of its own if it is "off".
const chainVariable = "ANTIGRAVITY_OPENCL_CHAIN"

// meetingsOf returns how groups meet on the queue's device, nil if they cannot, which it tries.
func meetingsOf(q *queue, o Options) (*meetings, error) {
	m := &meetings{queue: q, groups: o.chainGroups, patience: patience}
	if m.groups == 0 && isNVIDIA(q.device) && os.Getenv(chainVariable) != "off" {
		m.groups = q.device.Units
	}
	if m.groups <= 0 {
		return nil, nil
	}
	var err error
	if m.memory, err = q.alloc(8, false); err != nil {
		return nil, err
	}
	if err := q.context.Fill(m.memory, 0, 8); err != nil {
		return nil, q.fail("clear memory to meet in", err)
	}
	const times = 8
	m.program = meetProgram(q.device)
	kernel, err := q.kernel(m.program, "try_meeting")
	if err != nil {
		return nil, m.memory.Release() // an older device without the instructions
	}
	kernel.Mem(m.memory).Int(0).Int(times).Int(trialPatience)
	if err := q.run("try to meet", kernel, 256, m.groups, 1, 1); err != nil {
		return nil, err
	}
	m.came = uint32(times * m.groups)
	var words [8]byte
	if err := q.context.Read(m.memory, 0, words[:]); err != nil {
		return nil, q.fail("try to meet", err)
	}
	if words[4] != 0 {
		return nil, m.memory.Release()
	}
	q.context.After = m.check
	return m, nil
}

// meetProgram returns the program of meet.cl.
func meetProgram(d *cl.Device) program {
	return compiler.Of("common meet", "-DGROUP=256"+lastGroupOption(d))
}

// pass passes the memory to a kernel that meets a number of times, as its last arguments.
func (m *meetings) pass(k *cl.Kernel, times int) *cl.Kernel {
	k.Mem(m.memory).Int(int(int32(m.came))).Int(m.patience)
	m.came += uint32(times * m.groups)
	m.unasked = true
	return k
}

// check asks the device whether the groups of all launches have met, and returns an error if they have not. It is called when the device has
// been waited for. Largest need not ask: if groups have not met, what it finds is NaN.
func (m *meetings) check() error {
	if !m.unasked {
		return nil
	}
	m.unasked = false
	var state [4]byte
	if err := m.context.Read(m.memory, 4, state[:]); err != nil {
		return m.fail("ask whether groups have met", err)
	}
	if state == [4]byte{} {
		return nil
	}
	m.lost = true
	return fmt.Errorf("the last operations on %v: %w", m.device, ErrNotMet)
}

// release gives the memory up.
func (m *meetings) release() { m.memory.Release() }
