package hint

import (
	"slices"
	"strings"
)

// Near returns a question about an unknown word, with the names that may have been meant: "is it one-cpu? ". It returns "" if no name is
// near. A name is near if the word is the beginning of it, or differs from it by one letter, or by two if the word is long.
func Near(word string, names []string) string {
	const short, long, most = 3, 8, 3 // letters; names
	word = plain(word)
	if len(word) < short || len(word) > mostShown {
		return ""
	}
	far := 1
	if len(word) >= long {
		far = 2
	}
	var near []string
	for _, name := range names {
		differ := distance(word, plain(name))
		if strings.HasPrefix(plain(name), word) {
			differ = min(differ, 1)
		}
		if differ < far {
			far, near = differ, nil // only the nearest
		}
		if differ <= far && !slices.Contains(near, name) {
			near = append(near, name)
		}
	}
	if len(near) == 0 || len(near) > most {
		return ""
	}
	return "is it " + strings.Join(near, " or ") + "? "
}

// plain returns a word in the one spelling for what people confuse: capitals, and the underscore.
func plain(word string) string { return strings.ReplaceAll(strings.ToLower(word), "_", "-") }

// distance returns the number of letters to be added, removed, replaced or exchanged with the next one to turn a into b (the
// restricted edit distance of Damerau and Levenshtein).
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
