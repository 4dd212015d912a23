package metrics

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// line is a line of a page: a sample, in the text format of Prometheus or of OpenMetrics.
type line struct {
	name   []byte
	labels []label
	value  float64
	named  bool // its name and labels could be read
}

type label struct{ name, value []byte }

// read reads a line without the blanks around it. It skips the time of the sample and its exemplar.
func (l *line) read(text []byte) (err error) {
	*l = line{labels: l.labels[:0]}
	name, rest := cutName(text)
	if len(rest) > 0 && !isBlank(rest[0]) && rest[0] != '{' || len(name) > 0 && name[0] <= '9' {
		return errNoName
	}
	l.name, rest = name, trimBlanks(rest)
	if len(rest) > 0 && rest[0] == '{' {
		if rest, err = l.readLabels(rest[1:]); err != nil {
			return err
		}
	}
	if l.named = len(l.name) > 0; !l.named {
		return errNoName
	}
	value, rest := cutWord(rest)
	if l.value, err = parseNumber(value); err != nil {
		return fmt.Errorf("its value is %.40q", value)
	}
	if len(rest) > 0 && rest[0] != '#' {
		at, more := cutWord(rest)
		if _, err := parseNumber(at); err != nil {
			return fmt.Errorf("its time is %.40q", at)
		}
		rest = more
	}
	if len(rest) > 0 && rest[0] != '#' {
		return fmt.Errorf("its time is followed by %.40q", rest)
	}
	return nil
}

var errNoName = errors.New("it does not begin with a name")

// readLabels reads labels after their brace, and returns what follows them. The name of the series may be among them, in quotes.
func (l *line) readLabels(rest []byte) ([]byte, error) {
	for {
		rest = trimBlanks(rest)
		if len(rest) > 0 && rest[0] == '}' {
			return rest[1:], nil
		}
		name, after, quoted := cutQuoted(rest)
		if !quoted {
			name, after = cutName(rest)
		}
		after = trimBlanks(after)
		switch value, ok := bytes.CutPrefix(after, []byte{'='}); {
		case ok && len(name) > 0:
			of := label{name: name}
			if of.value, rest, ok = cutQuoted(trimBlanks(value)); !ok {
				return nil, fmt.Errorf("its label %s has no value in quotes", name)
			}
			l.labels = append(l.labels, of)
		case len(name) > 0 && len(l.name) == 0:
			l.name, rest = name, after
		default:
			return nil, errors.New("its labels do not end")
		}
		rest = trimBlanks(rest)
		if after, more := bytes.CutPrefix(rest, []byte{','}); more {
			rest = after
		} else if len(rest) == 0 || rest[0] != '}' {
			return nil, errors.New("its labels do not end")
		}
	}
}

// readType reads the line with the type of a name; false: it is none.
func readType(text []byte) (name []byte, kind string, ok bool) {
	for _, word := range []string{"#", "TYPE"} {
		var is []byte
		if is, text = cutWord(text); string(is) != word {
			return nil, "", false
		}
	}
	if name, text, ok = cutQuoted(text); !ok {
		name, text = cutWord(text)
	}
	return name, strings.ReplaceAll(strings.ToLower(string(trimBlanks(text))), "_", ""), true
}

// cutName returns the name that a text begins with, and the rest.
func cutName(text []byte) (name, rest []byte) {
	end := 0
	for end < len(text) && isNamed(text[end]) {
		end++
	}
	return text[:end], text[end:]
}

func isNamed(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == ':'
}

// cutWord returns the word that a text begins with, and what follows it and the blanks after it.
func cutWord(text []byte) (word, rest []byte) {
	text = trimBlanks(text)
	end := 0
	for end < len(text) && !isBlank(text[end]) {
		end++
	}
	return text[:end], trimBlanks(text[end:])
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

func trimBlanks(text []byte) []byte {
	for len(text) > 0 && isBlank(text[0]) {
		text = text[1:]
	}
	return text
}

// cutQuoted returns the text in quotes that a text begins with, and the rest; false: it begins with none.
func cutQuoted(text []byte) (inside, rest []byte, ok bool) {
	if len(text) == 0 || text[0] != '"' {
		return nil, text, false
	}
	escaped := false
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			escaped = true
			i++
		case '"':
			if inside = text[1:i]; escaped {
				inside = []byte(escapes.Replace(string(inside)))
			}
			return inside, text[i+1:], true
		}
	}
	return nil, text, false
}

var escapes = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n")

// parseNumber reads a number, NaN and the infinities.
func parseNumber(text []byte) (float64, error) {
	if bytes.ContainsAny(text, "pP_") { // Go's numbers, not those of a page
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseFloat(string(text), 64)
}
