//go:build amd64 || arm64

package confine

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWhatIsPackedComesOutAsItWas(t *testing.T) {
	want := wrapping{
		Policy: Policy{Write: []string{"/a", "/b\xc4\xe3\xff", ""}, Layers: []Layer{{Path: "p", Work: "中"}}, Size: -1, Proxy: true},
		Order:  Order{Path: "/bin/\xff", Fds: []int{1, 1 << 40}, Guard: []Guard{{Root: "r", Kind: ReadOnly}}, Limits: Limits{Disk: 1 << 60}},
	}
	packed := pack(want)
	var got wrapping
	if err := unpack(packed, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for n := range packed {
		if unpack(packed[:n], new(wrapping)) == nil {
			t.Errorf("%d bytes of %d are taken", n, len(packed))
		}
	}
	if unpack(append(packed, 0), new(wrapping)) == nil {
		t.Error("a byte too many is taken")
	}
	if err := unpack(pack(hello{Fault: fault{Text: "\xff"}}), new(hello)); err != nil {
		t.Error(err)
	}
}
