package backend

// Call is an operation with the memory of its call, for who runs one again and again with other operands: Run allocates nothing.
//
//	var attend backend.Call[backend.Attend, *backend.Attend]
//	err := attend.Run(b, backend.Attend{Q: q, Out: out, Runs: runs})
//
// The zero value is ready. A Call is not safe for concurrent use.
type Call[T any, P interface {
	*T
	Op
}] struct {
	op   T
	list [1]Op
}

// Run runs an operation, and keeps no reference to its operands.
func (c *Call[T, P]) Run(b Backend, op T) error {
	c.op, c.list[0] = op, P(&c.op)
	err := b.Run(c.list[:]...)
	var none T
	c.op = none
	return err
}
