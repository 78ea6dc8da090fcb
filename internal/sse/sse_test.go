package sse_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"oneloop/internal/sse"

	"github.com/google/go-cmp/cmp"
)

type event struct {
	Name, Data string
	Cut        bool
}

func read(r io.Reader, max int) (events []event, err error) {
	sr := sse.NewReader(r, max)
	for {
		e, err := sr.Next()
		if err != nil {
			return events, err
		}
		events = append(events, event{e.Name, string(e.Data), e.Cut})
	}
}

func TestEveryKindOfFramingIsRead(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     []event
	}{
		{"line feeds", "event: a\ndata: 1\n\ndata: 2\n\n", []event{{"a", "1", false}, {"", "2", false}}},
		{"CRLF", "event: a\r\ndata: 1\r\n\r\ndata: 2\r\n\r\n", []event{{"a", "1", false}, {"", "2", false}}},
		{"CR", "event: a\rdata: 1\r\rdata: 2\r\r", []event{{"a", "1", false}, {"", "2", false}}},
		{"mixed ends", "data: 1\r\n\ndata: 2\n\r\ndata: 3\r\r\n", []event{{"", "1", false}, {"", "2", false}, {"", "3", false}}},
		{"byte-order mark", "\xef\xbb\xbfdata: 1\n\n", []event{{"", "1", false}}},
		{"comments and unknown fields", ": hi\n\n:\nid: 7\nretry: 3\nfoo\ndata: 1\n: x\n\n", []event{{"", "1", false}}},
		{"an event without data", "event: ping\n\ndata: 1\n\n", []event{{"", "1", false}}},
		{"several data lines", "data: a\ndata:  b\ndata\ndata:c\n\ndata: d\n\n", []event{{"", "a\n b\n\nc", false}, {"", "d", false}}},
		{"padding", "data: {}   \n\n", []event{{"", "{}   ", false}}},
		{"blank lines first", "\n\n\r\ndata: 1\n\n", []event{{"", "1", false}}},
		{"no blank line at the end", "data: 1\n\nevent: b\ndata: 2\n", []event{{"", "1", false}, {"b", "2", true}}},
		{"cut inside a line", "data: 1\n\ndata: 2", []event{{"", "1", false}, {"", "2", true}}},
		{"cut inside a name", "data: 1\n\nda", []event{{"", "1", false}}},
		{"nothing", "", nil},
	} {
		for split, r := range map[string]io.Reader{
			"whole":         strings.NewReader(c.in),
			"byte by byte":  iotest.OneByteReader(strings.NewReader(c.in)),
			"EOF with data": iotest.DataErrReader(strings.NewReader(c.in)),
		} {
			got, err := read(r, 1<<20)
			if err != io.EOF {
				t.Errorf("%s, %s: error %v", c.name, split, err)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("%s, %s:\n%s", c.name, split, d)
			}
		}
	}
}

func TestLongLinesArriveWholeBetweenShortOnes(t *testing.T) {
	var in strings.Builder
	var want []event
	for i, n := range []int{10, 70_000, 3, 32 << 10, 1_100_000, 31 << 10, 5_000_000, 1} {
		data := strings.Repeat(fmt.Sprint(i), n)
		fmt.Fprintf(&in, "event: e%d\ndata: %s\n\n", i, data)
		want = append(want, event{fmt.Sprint("e", i), data, false})
	}
	got, err := read(iotest.HalfReader(strings.NewReader(in.String())), 8<<20)
	if err != io.EOF {
		t.Error(err)
	}
	if len(got) != len(want) {
		t.Fatalf("%d events, want %d", len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("event %d: %q with %d bytes, want %q with %d", i, got[i].Name, len(got[i].Data), want[i].Name, len(want[i].Data))
		}
	}
}

func TestALineOverTheCapIsAClearError(t *testing.T) {
	in := "data: 1\n\ndata: " + strings.Repeat("x", 3<<20)
	got, err := read(strings.NewReader(in), 2<<20)
	var long *sse.TooLongError
	if !errors.As(err, &long) || err.Error() != "an event of the stream has more than 2 MiB" {
		t.Errorf("error %v", err)
	}
	if len(got) != 1 {
		t.Errorf("%d events before it", len(got))
	}
}

func TestCommentsWithoutEndNeedNoMemory(t *testing.T) {
	in := io.MultiReader(strings.NewReader(strings.Repeat(": still here\n", 1<<20)), strings.NewReader("data: 1\n\n"))
	got, err := read(in, 64<<10)
	if err != io.EOF || len(got) != 1 {
		t.Errorf("%d events, error %v", len(got), err)
	}
}

func TestAnErrorOfTheConnectionComesAfterWhatArrivedBefore(t *testing.T) {
	broken := errors.New("broken")
	got, err := read(io.MultiReader(strings.NewReader("data: 1\n\ndata: 2"), iotest.ErrReader(broken)), 1<<20)
	if err != broken {
		t.Errorf("error %v", err)
	}
	if d := cmp.Diff([]event{{"", "1", false}, {"", "2", true}}, got); d != "" {
		t.Error(d)
	}
}

func FuzzEventsDoNotDependOnHowTheBytesAreSplit(f *testing.F) {
	f.Add("event: a\r\ndata: 1\r\n\r\n: c\rdata: 2\rdata: 3\r\r", 3)
	f.Add("\xef\xbb\xbfdata: x\n\ndata: y", 1)
	f.Fuzz(func(t *testing.T, in string, n int) {
		whole, err1 := read(strings.NewReader(in), 1<<20)
		parts, err2 := read(&splitReader{in, n}, 1<<20)
		if err1 != io.EOF || err2 != io.EOF {
			t.Fatalf("errors %v and %v", err1, err2)
		}
		if d := cmp.Diff(whole, parts); d != "" {
			t.Error(d)
		}
	})
}

// splitReader gives n bytes at a time, then fewer, in turn.
type splitReader struct {
	rest string
	n    int
}

func (r *splitReader) Read(p []byte) (int, error) {
	if r.rest == "" {
		return 0, io.EOF
	}
	k := min(len(r.rest), len(p), 1+max(r.n, -r.n, 0)%7)
	copy(p, r.rest[:k])
	r.rest = r.rest[k:]
	r.n++
	return k, nil
}

func BenchmarkNext(b *testing.B) {
	in := strings.Repeat("event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"hello there\"}}\n\n", 1000)
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		r := sse.NewReader(strings.NewReader(in), 1<<20)
		for {
			if _, err := r.Next(); err != nil {
				break
			}
		}
	}
}
