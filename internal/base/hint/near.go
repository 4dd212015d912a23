package hint

import (
	"slices"
	"strings"
)

// Near asks whether a name was meant by a word that is none: "is it one-cpu? ". It returns "" where no name is near: the word begins a
// name, or differs from it by a letter, or by two if it is long.
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

// plain is a word without what people confuse.
func plain(word string) string { return strings.ReplaceAll(strings.ToLower(word), "_", "-") }

// distance is the number of letters that are to be added, left out, replaced or exchanged with the next one to make b of a (the
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
