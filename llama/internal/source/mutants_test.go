package source_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/eviction"
	"github.com/antigravity-go/antigravity/internal/cost"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/parallel"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/internal/llamatest"
	"github.com/antigravity-go/antigravity/tensor"
)

// The mutants are small models in every format, type and shape, which are changed in parsed form, so that most of them get past
// the first check of a parser: types, ranks, dimensions, orders, offsets, sizes, counts, names, values. A mutant is a function
// of its seed. Each is loaded, and if that works it answers a message. What must hold:
//
//   - nothing panics, on any goroutine;
//   - at its peak the memory is no more than eight times the file and 64 MB;
//   - it takes less than two seconds of one processor.
//
// `go test -run Mutants` tries some hundreds, and as many more as the variable ANTIGRAVITY_MUTANTS says, in processes of their own.
var (
	mutantSeed  = flag.Uint64("mutant", 0, "the one mutant that TestMutants tries")
	mutantShare = flag.String("mutant-share", "", "used by TestMutants itself: first seed, number of seeds, and the file that holds the present seed")
)

const (
	mutantMemory  = 64 << 20
	mutantFactor  = 8
	mutantSeconds = 2.0
	slowMachine   = 5 // in the ordinary test only what hangs on any machine is an error
)

// ordinaryMutants is how many mutants are tried in the ordinary test.
var ordinaryMutants = effort.Of(150, 400, 400)

func TestMutants(t *testing.T) {
	effort.Turn(t, 8)
	switch {
	case *mutantShare != "":
		mutantsShare(t, *mutantShare)
		return
	case *mutantSeed != 0:
		if err := tryMutant(*mutantSeed, mutantSeconds); err != nil {
			t.Fatal(err)
		}
		return
	}
	loaded, patience := 0, slowMachine*mutantSeconds
	for seed := range uint64(ordinaryMutants) {
		was := mutantsLoaded.Load()
		if err := tryMutant(seed, patience); err != nil {
			t.Errorf("%v\ntry it again with: go test ./llama/internal/source -run 'TestMutants$' -mutant %d", err, seed)
		}
		loaded += int(mutantsLoaded.Load() - was)
	}
	t.Logf("%d of %d mutants were loaded", loaded, ordinaryMutants)
	if loaded < ordinaryMutants/10 {
		t.Errorf("only %d of %d mutants were loaded: what comes after loading is not tested", loaded, ordinaryMutants)
	}
	if n, _ := strconv.ParseUint(os.Getenv("ANTIGRAVITY_MUTANTS"), 10, 64); n > 0 {
		manyMutants(t, uint64(ordinaryMutants), n)
	}
}

// FuzzMutants is for the fuzzer, which chooses seeds without end.
func FuzzMutants(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) {
		if err := tryMutant(seed, slowMachine*mutantSeconds); err != nil {
			t.Fatal(err)
		}
	})
}

// mutantsLoaded counts the mutants that were loaded.
var mutantsLoaded atomic.Int64

// tryMutant makes, loads and uses a mutant, within a number of seconds of a processor. The error is what must not happen.
func tryMutant(seed uint64, patience float64) error {
	r := rand.New(rand.NewPCG(seed, 0x6d7574616e74))
	files, name := fstest.MapFS{}, "."
	size := 0
	if r.IntN(5) < 3 {
		data := ggufMutant(r)
		name, size = pick(r, "m.gguf", "sha256-0123"), len(data)
		files[name] = &fstest.MapFile{Data: data}
	} else {
		for name, data := range folderMutant(r) {
			files[name] = &fstest.MapFile{Data: data}
			size += len(data)
		}
	}
	limit := int64(mutantFactor*size + mutantMemory)
	use := mutantUse{
		weights: pick(r, 0, 0, 0, 0, tensor.F32, tensor.F16, tensor.BF16, tensor.Q4_0, tensor.Q4_1, tensor.Q8_0),
		kv:      pick(r, 0, 0, 0, tensor.F32, tensor.Q8_0, tensor.Q4_0),
		policy:  pick(r, "", "", "", "sliding", "snapkv", "h2o"),
	}
	before, seconds := heapAllocated(), cost.Seconds()
	resident, peak := residentMemory()
	err := useMutant(files, name, use)
	// The bytes allocated in all and the bytes that became resident are together no less than the peak.
	if quick := heapAllocated() - before + peak() - resident; err == nil && quick > limit {
		var used int64
		if used, err = peakOf(func() error { return useMutant(files, name, use) }); err == nil && used > limit {
			err = fmt.Errorf("it takes %d bytes for files of %d", used, size)
		}
	} else if took := cost.Seconds() - seconds; err == nil && took > patience {
		err = fmt.Errorf("it takes %.1f seconds", took)
	}
	if err != nil {
		return fmt.Errorf("mutant %d (%s, %d bytes): %w", seed, name, size, err)
	}
	return nil
}

// heapAllocated returns the bytes that were ever allocated on the heap.
func heapAllocated() int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}

// mutantUse is the use that a test makes of a mutant.
type mutantUse struct {
	weights, kv tensor.DType
	policy      string // of eviction; "": no policy
}

// useMutant loads a model and lets it answer. Errors are expected: only a panic is returned.
func useMutant(files fstest.MapFS, name string, use mutantUse) (failure error) {
	defer func() {
		if v := recover(); v != nil {
			failure = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		}
	}()
	var panicked *parallel.PanicError
	note := func(err error) bool {
		if errors.As(err, &panicked) {
			failure = fmt.Errorf("%w\n%s", err, panicked.Stack)
		}
		return err != nil
	}
	device := cpu.New(1)
	defer device.Close()
	m, err := llama.LoadFS(context.Background(), files, name, &llama.LoadOptions{Backend: device, Threads: 1, Weights: use.weights})
	if note(err) {
		for line := range strings.Lines(err.Error()) {
			if failure == nil && strings.Count(line, "llama: ") > 1 {
				failure = fmt.Errorf("the message stutters: %s", line)
			}
		}
		return failure
	}
	mutantsLoaded.Add(1)
	defer m.Close()
	c := m.Config()
	prompt := m.Tokenizer().Encode("Hello, wörld <|eot_id|> 123 세계")
	if rendered, err := m.Tokenizer().Template(llamatest.User("Hello <|eot_id|>"), llama.TemplateOptions{}); !note(err) {
		prompt = append(prompt, rendered...)
	}
	m.Tokenizer().Decode(prompt...)
	for i := range 20 {
		prompt = append(prompt, llama.Token(i*7919%c.VocabSize))
	}
	o := &llama.SessionOptions{KV: use.kv}
	if use.policy != "" {
		if o.Eviction, err = eviction.ByName(use.policy, eviction.Options{Budget: 16}); err != nil {
			return err
		}
	}
	s, err := m.NewSession(o)
	if note(err) {
		return failure
	}
	defer s.Close()
	prompt = prompt[:min(len(prompt), 40, max(s.Capacity()-1, 1))]
	for _, err := range s.Generate(context.Background(), prompt, llama.Params{MaxTokens: 2}) {
		note(err)
	}
	for range 2 { // Generate ends early where random weights make no numbers
		note(s.Prefill(context.Background(), prompt[:1]))
	}
	m.MemoryUsage()
	return failure
}

// manyMutants tries seeds in several processes, each of one thread and with bounded memory, so that what would take the machine's
// memory ends a child and not the tests.
func manyMutants(t *testing.T, first, n uint64) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const share = 2000 // seeds of one process
	var next, done, failures atomic.Uint64
	next.Store(first)
	var children sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		children.Go(func() {
			for {
				from := next.Add(share) - share
				if from >= first+n || failures.Load() > 20 {
					return
				}
				for end := min(from+share, first+n); from < end; {
					stopped := mutantsChild(t, self, from, end-from, &failures)
					done.Add(stopped - from)
					from = stopped
				}
				if d := done.Load(); d/20000 != (d-share)/20000 {
					fmt.Fprintf(os.Stderr, "%d of %d mutants, %d failures\n", d, n, failures.Load())
				}
			}
		})
	}
	children.Wait()
	t.Logf("%d mutants, %d failures", done.Load(), failures.Load())
}

// mutantsChild tries n seeds in a process, and returns the seed with which to go on: the one after a seed that ended it.
func mutantsChild(t *testing.T, self string, first, n uint64, failures *atomic.Uint64) (next uint64) {
	at := filepath.Join(t.TempDir(), fmt.Sprint(first))
	child := exec.Command(self, "-test.run", "^TestMutants$", "-test.v", "-mutant-share", fmt.Sprintf("%d,%d,%s", first, n, at))
	child.Env = append(os.Environ(), "GOMAXPROCS=1", "ANTIGRAVITY_MUTANTS=")
	output, err := child.CombinedOutput()
	for lines := bufio.NewScanner(strings.NewReader(string(output))); lines.Scan(); {
		if seed, ok := strings.CutPrefix(lines.Text(), "MUTANT "); ok {
			failures.Add(1)
			t.Errorf("mutant %s failed; try it again with -mutant", seed)
		}
	}
	raw, _ := os.ReadFile(at)
	if len(raw) == 8 {
		next = binary.LittleEndian.Uint64(raw) + 1
	}
	if err != nil && next < first+n || next < first {
		failures.Add(1)
		t.Errorf("the process of mutant %d ended: %v\n%s", max(next, 1)-1, err, output[max(len(output)-6000, 0):])
		return max(next, first+1)
	} else if err != nil {
		t.Errorf("%s", output[max(len(output)-6000, 0):])
	}
	return first + n
}

// mutantsShare is what a child does.
func mutantsShare(t *testing.T, share string) {
	var first, n uint64
	var at string
	if _, err := fmt.Sscanf(strings.ReplaceAll(share, ",", " "), "%d %d %s", &first, &n, &at); err != nil {
		t.Fatal(err)
	}
	limitMemory(6 << 30)
	// What hangs in Go code ends the child, with the stacks of all goroutines.
	var began atomic.Uint64 // in milliseconds of the processor
	go func() {
		for range time.Tick(time.Second) {
			if took := cost.Seconds() - float64(began.Load())/1000; took > 10*mutantSeconds {
				debug.SetTraceback("all")
				panic(fmt.Sprintf("a mutant has taken %.0f seconds of the processor", took))
			}
		}
	}()
	file, err := os.Create(at)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for seed := first; seed < first+n; seed++ {
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], seed)
		if _, err := file.WriteAt(word[:], 0); err != nil {
			t.Fatal(err)
		}
		began.Store(uint64(1000 * cost.Seconds()))
		if err := tryMutant(seed, mutantSeconds); err != nil {
			fmt.Printf("MUTANT %d\n", seed)
			t.Error(err)
		}
	}
}
