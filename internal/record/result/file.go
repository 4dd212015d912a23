package result

import (
	"fmt"
	"time"
)

// File is a file that defines what samples measure: a program that is started, or a file that the words of a command name.
type File struct {
	Name     string `json:"name"`               // as the command has it
	Path     string `json:"path"`               // without symbolic links
	Program  bool   `json:"program,omitempty"`  // it is what is started: a run does not continue with another one
	SHA256   string `json:"sha256,omitempty"`   // absent: it could not be read
	Modified string `json:"modified,omitempty"` // RFC 3339, UTC
}

// Is reports whether both are the same file of a command, whatever they hold.
func (f File) Is(other File) bool { return f.Name == other.Name && f.Program == other.Program }

// Differs reports whether it is known that two hold something else.
func (f File) Differs(other File) bool {
	return f.SHA256 != other.SHA256 && f.SHA256 != "" && other.SHA256 != ""
}

// Since says that a file has changed since it was another one: "./p2 has changed: modified 2025-01-31 …, and before 2025-01-30 …".
func (f File) Since(before File) string {
	moved := f.Path != before.Path
	date := func(f File) string {
		at, err := time.Parse(time.RFC3339, f.Modified)
		if err != nil {
			return "at an unknown time"
		}
		text := at.UTC().Format("2006-01-02 15:04:05 UTC")
		if moved {
			text += " (" + f.Path + ")"
		}
		return text
	}
	return fmt.Sprintf("%s has changed: modified %s, and before %s", f.Name, date(f), date(before))
}

// FilesAtEnd returns the files of a run as its last sample had them, and a warning about each that had changed before a sample.
func (r *Run) FilesAtEnd() (files []File, warnings []Warning) {
	files = append(files, r.Files...)
	for _, s := range r.Samples.Each() {
		for _, is := range s.Files {
			for i, was := range files {
				if !is.Is(was) {
					continue
				}
				files[i] = is
				warnings = append(warnings, Warning{
					Code:    "file-changed",
					Message: fmt.Sprintf("before sample %d, %s", s.Index, is.Since(was)),
					Hint:    "the samples from before and after are judged together; another --out begins a run of its own",
				})
			}
		}
	}
	return files, warnings
}
