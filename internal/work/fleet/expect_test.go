package fleet

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/base/hint"
	"gorun/internal/files/input"
)

// A list of nodes is the value of --expect, or a file. A hostlist that makes too many names is refused before they are made.
func TestReadExpect(t *testing.T) {
	long := strings.Repeat("n", longestName)
	for text, want := range map[string]string{
		"n2,n1,n1":                            "n1 n2",
		"n[01-03]":                            "n01 n02 n03",
		"n[8-10]":                             "n10 n8 n9",
		"n[098-101]":                          "n098 n099 n100 n101",
		"n[1,3-5]":                            "n1 n3 n4 n5",
		"rack[1-2]n[01-02,4].c.org":           "rack1n01.c.org rack1n02.c.org rack1n4.c.org rack2n01.c.org rack2n02.c.org rack2n4.c.org",
		"n[1-2], login1 ,":                    "login1 n1 n2",
		"n[7]":                                "n7",
		"n[1-2][3-4]":                         "n13 n14 n23 n24",
		"[1-2]":                               "1 2",
		"node/n1,node/n2":                     "n1 n2",
		",n-1,a--b":                           "a--b n-1",
		long + ",n":                           "n " + long,
		long + "n,n":                          "error: it is no name of a node",
		"n[1-2,":                              "error: there is no ] after [",
		"n[]":                                 "error: \"\" in brackets is no number",
		"n[1,,2]":                             "error: \"\" in brackets is no number",
		"n[a-b]":                              "error: a-b in brackets is no number",
		"n[3-1]":                              "error: 3-1 in brackets is no number, and no range of numbers",
		"n[-1]":                               "error: -1 in brackets",
		"n[+1-2]":                             "error: +1-2 in brackets",
		"n[1-2-3]":                            "error: 1-2-3 in brackets",
		"n[1[2-3]]":                           "error: 1[2-3 in brackets",
		"n1],n2":                              "error: it is no name of a node",
		"n1,*":                                "error: it is no name of a node",
		"all,n1":                              "error: it is no name of a node",
		"n1 n2,n3":                            "error: it is no name of a node",
		"n[1-100001]":                         "error: there are more than 100000 names",
		"n[1-9223372036854775807]":            "error: there are more than 100000 names",
		"n[0-9223372036854775808]":            "error: 0-9223372036854775808 in brackets",
		"n[1-1000][1-1000]":                   "error: there are more than 100000 names",
		"n[1-50000],m[1-50000],x":             "error: there are more than 100000 names",
		"n[1-60000],m[1-60000]":               "error: there are more than 100000 names",
		"n[" + strings.Repeat("0", 300) + "]": "error: in brackets is no number",
		strings.Repeat("[1-2]", 1e5):          "error: there are more than 100000 names",
		strings.Repeat("[1]", 1e5):            "error: it is no name of a node",
	} {
		file := filepath.Join(t.TempDir(), "nodes.txt")
		require.NoError(t, os.WriteFile(file, []byte("# all\n\n  \n"+text+" # trailing\r\n#n[\n"), 0o666))
		for _, value := range []string{text, file} {
			if value == text && (!strings.ContainsAny(text, ",[") || strings.Contains(text, "/")) {
				continue // the name of a file
			}
			names, err := ReadExpect(t.Context(), input.Opener{}, value)
			if message, fails := strings.CutPrefix(want, "error: "); fails {
				require.ErrorContains(t, err, message, text)
				assert.NotEmpty(t, hint.Of(err), text)
				assert.Equal(t, value == file, strings.HasPrefix(err.Error(), "line 4: "), "%v", err)
				continue
			}
			require.NoError(t, err, text)
			assert.Equal(t, want, strings.Join(names, " "), text)
		}
	}
	_, err := ReadExpect(t.Context(), input.Opener{}, "./n[1-2]")
	require.ErrorIs(t, err, os.ErrNotExist, "with a slash, it is a file")
	wide := filepath.Join(t.TempDir(), "wide")
	require.NoError(t, os.WriteFile(wide, []byte(strings.Repeat("n1,", 1<<16)), 0o666))
	names, err := ReadExpect(t.Context(), input.Opener{}, wide)
	require.NoError(t, err)
	assert.Equal(t, []string{"n1"}, names, "a line may be long")
}

// Names that differ as short and full forms do are named, and nothing is joined.
func TestOtherForms(t *testing.T) {
	for name, c := range map[string]struct{ silent, unexpected, want string }{
		"short expected":   {"n1 n2", "n1.c.org n2.c.org", "n1 for n1.c.org, n2 for n2.c.org"},
		"full expected":    {"n1.c.org", "n1", "n1.c.org for n1"},
		"another case":     {"N1.c.org n2", "n1 N2", "N1.c.org for n1, n2 for N2"},
		"part of a domain": {"n1.c.org", "n1.c", "n1.c.org for n1.c"},
		"other domains":    {"n1.a.org", "n1.b.org", ""},
		"a longer name":    {"n1", "n10 n1-ib", ""},
		"addresses":        {"10.0.0.1", "10.0.0.2", ""},
		"nothing":          {"", "n1", ""},
	} {
		assert.Equal(t, c.want, strings.Join(otherForms(strings.Fields(c.silent), strings.Fields(c.unexpected)), ", "), name)
	}
	m := fleetOf(4, 3)
	o := options()
	o.Expect = []string{"n0", "n1", "n2.c.org", "n3"}
	j := judgeDir(t, m.write(t), o)
	assert.Equal(t, []string{
		"not in --expect, and so not judged: n2",
		"--expect seems to have other forms of these names: n2.c.org for n2. Give the names that the folders of the visits have",
	}, j.Warnings)
	assert.Equal(t, map[State]int{Judged: 3, Silent: 1, Unexpected: 1}, j.States)
}
