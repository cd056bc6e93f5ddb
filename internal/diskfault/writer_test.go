//go:build linux && amd64

package diskfault

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/store"
	"github.com/intentlog/intentlog/store/sqlitestore"
)

// The program under test is this test binary: with writeVariable in its environment
// it appends to a log and reports, on its standard output, what it was told.
const writeVariable = "DISKFAULT_WRITE" // "first batches path"

func TestMain(m *testing.M) {
	if job := os.Getenv(writeVariable); job != "" {
		write(job)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// The lines of a report, each written at once:
//
//	try N                 batch N is about to be appended
//	stored N OFFSET       its first event is at OFFSET
//	not stored N ERROR
//	unknown N ERROR
//	end ERROR             Open or Close failed, or nothing did
func write(job string) {
	part := strings.SplitN(job, " ", 3)
	first, _ := strconv.Atoi(part[0])
	count, _ := strconv.Atoi(part[1])
	st, err := sqlitestore.Open(part[2], nil)
	if err != nil {
		fmt.Printf("end %q\n", fmt.Sprint(err))
		return
	}
	for n := first; n < first+count; n++ {
		fmt.Println("try", n)
		at, err := st.Append(context.Background(), 0, batch(n))
		if err != nil {
			fmt.Printf("%s %d %q\n", store.OutcomeOf(err), n, err.Error())
			continue
		}
		fmt.Println("stored", n, at)
	}
	fmt.Printf("end %q\n", fmt.Sprint(st.Close()))
}

// batch is two events, every third time of more than a page.
func batch(n int) []intent.Event {
	size := 200
	if n%3 == 2 {
		size = 9000
	}
	events := make([]intent.Event, 2)
	for i := range events {
		job := intent.JobID(fmt.Sprintf("job-%d", n))
		events[i] = intent.Event{
			JobID: job, EventID: intent.NewEventID(job, 1, "0b9bb3d4-7d1b-4a6e-9df1-9a46b9c64e01", int32(i+1)),
			Attempt: 1, Step: int32(i + 1), Type: intent.ComputeStarted, EmittedAtMS: int64(n),
			Detail: strings.Repeat("x", size),
		}
	}
	return events
}

// report is what a log's writers were told, over all their lives.
type report struct {
	stored    map[int]int64 // batch to its offset
	notStored map[int]bool
	open      map[int]bool // unknown, or begun and never answered
}

// told reads the report that the file holds so far. A writer that goes on as if
// nothing had happened after an append that failed is a failure by itself.
func told(file string) (r report, err error) {
	r = report{stored: map[int]int64{}, notStored: map[int]bool{}, open: map[int]bool{}}
	text, err := os.ReadFile(file)
	if err != nil {
		return r, err
	}
	failed := false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		var n int
		var at int64
		switch {
		case strings.HasPrefix(line, "end"):
			failed = false
		case scan(line, "try %d", &n):
			r.open[n] = true
		case scan(line, "stored %d %d", &n, &at):
			delete(r.open, n)
			r.stored[n] = at
			if failed {
				return r, fmt.Errorf("batch %d was stored after an append that failed, without a new Open", n)
			}
		case scan(line, "not stored %d", &n):
			delete(r.open, n)
			r.notStored[n] = true
			failed = true
		case scan(line, "unknown %d", &n):
			if failed {
				return r, fmt.Errorf("batch %d was tried after an append that failed, without a new Open", n)
			}
			failed = true
		default:
			return r, fmt.Errorf("the writer said %q", line)
		}
	}
	return r, nil
}

func scan(line, format string, into ...any) bool {
	_, err := fmt.Sscanf(line, format, into...)
	return err == nil
}

// judge opens the log, now that no faults are left, and compares it with the report:
// all that was stored is there, nothing that was not stored is, what is unknown is
// there as a whole or not at all, and the log takes more.
func (r *report) judge(path string) (err error) {
	st, err := sqlitestore.Open(path, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	got, err := read(st)
	if err != nil {
		return err
	}
	at := map[int]int64{}
	for i := 0; i < len(got); i += 2 {
		n := int(got[i].EmittedAtMS)
		if _, twice := at[n]; twice {
			return fmt.Errorf("batch %d is there twice", n)
		}
		at[n] = int64(i)
		if i+1 == len(got) || got[i] != batch(n)[0] || got[i+1] != batch(n)[1] {
			return fmt.Errorf("batch %d at offset %d is torn or altered", n, i)
		}
		if _, stored := r.stored[n]; !stored && !r.open[n] {
			return fmt.Errorf("batch %d at offset %d was not stored", n, i)
		}
	}
	for n, offset := range r.stored {
		if got, there := at[n]; !there || got != offset {
			return fmt.Errorf("batch %d was acknowledged at offset %d, and is there: %t (%d)", n, offset, there, got)
		}
	}
	_, err = st.Append(context.Background(), 0, batch(1000))
	return err
}

func read(st store.Store) (events []intent.Event, err error) {
	ctx := context.Background()
	b, err := st.Bound(ctx, 0)
	if err != nil {
		return nil, err
	}
	return events, st.Read(ctx, 0, 0, b.End, func(r *store.Record) error {
		events = append(events, r.Event)
		return nil
	})
}

// stage is a log, its writers, and what they report.
type stage struct {
	dir    string // of the log
	path   string
	report string
}

func newStage(t *testing.T) *stage {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	s := &stage{dir: filepath.Join(dir, "d"), report: filepath.Join(dir, "report")}
	s.path = filepath.Join(s.dir, "log.db")
	require.NoError(t, os.Mkdir(s.dir, 0o700))
	return s
}

// life runs a writer of batches [first, first+count) under faults.
func (s *stage) life(t *testing.T, first, count int, each func(Op) Fault) []Op {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	out, err := os.OpenFile(s.report, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	defer out.Close()
	cmd := exec.Command(exe)
	cmd.Env = []string{fmt.Sprintf("%s=%d %d %s", writeVariable, first, count, s.path), "GORACE=atexit_sleep_ms=0"}
	cmd.Stdout, cmd.Stderr = out, out
	ops, err := Run(cmd, s.dir, each)
	require.NoError(t, err)
	return ops
}

func pass(Op) Fault { return Fault{} }

// traceable is the probe of a feature: whether processes can be traced here.
func traceable() error {
	_, err := Run(exec.Command("/bin/true"), "/nowhere", pass)
	if errors.Is(err, syscall.ENOENT) {
		return errors.New("there is no /bin/true to try it with")
	}
	return err
}
