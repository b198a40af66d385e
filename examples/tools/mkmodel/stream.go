package main

import (
	"context"
	"fmt"
	"runtime"

	"github.com/antigravity-go/antigravity/internal/format"
)

// pieceBytes is about how much data is made at a time; a piece is a whole number of blocks.
const pieceBytes = 1 << 20

// stream makes tensors and writes them in order. Pieces are made by several goroutines ahead of the writing, a few at a time, so that
// memory stays small. Their number does not change the file.
func stream(ctx context.Context, w *format.TensorWriter, tensors []planned, seed uint64, first int, done func(n int64)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ahead := runtime.GOMAXPROCS(0)
	pieces := make(chan chan []byte, ahead) // in the order of the file
	free := make(chan []byte, 2*ahead+2)    // buffers to use again
	failed := make(chan error, 1)
	go func() {
		defer close(pieces)
		for i := range tensors {
			if err := makePieces(ctx, &tensors[i], seed, first+i, pieces, free); err != nil {
				failed <- err
				return
			}
		}
	}()
	for i := range tensors {
		p := &tensors[i]
		if err := w.Begin(p.name); err != nil {
			return err
		}
		for left := p.bytes(); left > 0; {
			piece, ok := <-pieces
			if !ok {
				return <-failed
			}
			data := <-piece
			if _, err := w.Write(data); err != nil {
				return err
			}
			left -= int64(len(data))
			done(int64(len(data)))
			select {
			case free <- data[:0]:
			default:
			}
		}
	}
	return nil
}

// makePieces starts the making of one tensor's pieces, as fast as the channel takes them.
func makePieces(ctx context.Context, p *planned, seed uint64, index int, pieces chan<- chan []byte, free <-chan []byte) error {
	if p.content != nil {
		data, err := encode(p.dtype, p.content)
		if err != nil {
			return fmt.Errorf("tensor %s: %w", p.name, err)
		}
		ready := make(chan []byte, 1)
		ready <- data
		return send(ctx, pieces, ready)
	}
	fill, err := fillOf(p)
	if err != nil {
		return fmt.Errorf("tensor %s: %w", p.name, err)
	}
	block := int64(p.dtype.BlockBytes())
	size := max(pieceBytes/block, 1) * block
	number := 0
	for left := p.bytes(); left > 0; left -= size {
		piece, n := number, int(min(left, size))
		number++
		ready := make(chan []byte, 1)
		if err := send(ctx, pieces, ready); err != nil {
			return err
		}
		go func() {
			data := buffer(free, n)
			fill(data, newRandom(seed, index, piece))
			ready <- data
		}()
	}
	return nil
}

func send(ctx context.Context, pieces chan<- chan []byte, ready chan []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case pieces <- ready:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// buffer returns n bytes, from a free buffer if it is large enough.
func buffer(free <-chan []byte, n int) []byte {
	select {
	case b := <-free:
		if cap(b) >= n {
			return b[:n]
		}
	default:
	}
	return make([]byte, n, max(n, pieceBytes))
}
