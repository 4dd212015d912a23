package shell

import (
	"errors"
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"gorun/internal/base/hint"
)

// Split returns the words of a simple command, as a POSIX shell reads them (POSIX.1-2024, XCU 2.3), without running a
// shell. Syntax that needs a shell is an error that names it: a pipe, a redirection, a variable, a pattern of file
// names.
func Split(line string) ([]string, error) {
	if err := CheckText(line); err != nil {
		return nil, err
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(line), "")
	if parse := new(syntax.ParseError); errors.As(err, parse) { // in a shell too
		return nil, hint.With(errors.New(parse.Text), `a character that is meant as text is quoted: \" or "it's"`)
	}
	if err != nil {
		return nil, err
	}
	if len(file.Stmts) == 0 {
		return nil, errors.New("it has no words")
	}
	statement := file.Stmts[0]
	call, simple := statement.Cmd.(*syntax.CallExpr)
	switch {
	case !simple:
		return nil, needsShell(line, statement)
	case len(file.Stmts) > 1:
		return nil, needsShell(line, file)
	case len(statement.Redirs) > 0:
		return nil, needsShell(line, statement.Redirs[0])
	case statement.Background, statement.Negated:
		return nil, needsShell(line, statement)
	case len(call.Assigns) > 0:
		return nil, hint.With(needsShell(line, call.Assigns[0]), byShell+", or use env(1): env NAME=VALUE COMMAND")
	}
	words := make([]string, len(call.Args))
	for i, word := range call.Args {
		if words[i], err = literal(line, word.Parts, false); err != nil {
			return nil, err
		}
	}
	return words, nil
}

// literal returns the text of the parts of a word.
func literal(line string, parts []syntax.WordPart, quoted bool) (string, error) {
	var text strings.Builder
	for _, part := range parts {
		switch part := part.(type) {
		case *syntax.Lit:
			unescaped, pattern := unescape(part.Value, quoted)
			if pattern {
				return "", needsShell(line, part)
			}
			text.WriteString(unescaped)
		case *syntax.SglQuoted:
			text.WriteString(part.Value)
		case *syntax.DblQuoted:
			inner, err := literal(line, part.Parts, true)
			if err != nil {
				return "", err
			}
			text.WriteString(inner)
		default:
			return "", needsShell(line, part)
		}
	}
	return text.String(), nil
}

// unescape removes the backslashes that quote a character, and reports whether a character that is not quoted would make a
// shell look for files. Between double quotes a backslash quotes few characters (POSIX.1-2024, XCU 2.2.3).
func unescape(value string, quoted bool) (text string, pattern bool) {
	var out strings.Builder
	for i := 0; i < len(value); i++ {
		c := value[i]
		switch {
		case c == '\\' && i+1 < len(value) && (!quoted || strings.IndexByte("$`\"\\\n", value[i+1]) >= 0):
			i++
			if value[i] != '\n' { // which joins two lines
				out.WriteByte(value[i])
			}
			continue
		case quoted:
		case c == '*', c == '?', c == '[' && strings.Contains(value[i:], "]"), c == '~' && i == 0:
			pattern = true
		}
		out.WriteByte(c)
	}
	return out.String(), pattern
}

const byShell = "add --shell to have it run by sh -c"

// needsShell is the error of a line with a part that only a shell understands.
func needsShell(line string, part syntax.Node) error {
	from, to := int(part.Pos().Offset()), int(part.End().Offset())
	err := fmt.Errorf("%q needs a shell", strings.TrimSpace(line[min(from, len(line)):min(to, len(line))]))
	return hint.With(err, byShell+"; in quotes, it is text")
}
