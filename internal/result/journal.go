package result

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"gorun/internal/hint"
	"gorun/internal/lazy"
)

// Line is one line of a journal (JSON Lines): exactly one of its fields is set. The first is the header, then come
// samples in the order in which they were taken, and a footer if the run ended normally. A run that is resumed after
// its footer writes another one when it ends again: the last one counts.
//
// As JSON a line ends with its checksum, the member "crc32": the CRC-32 of gzip, as eight digits, of the line without
// that member and without its end. Bash, sed, gzip and od compute the checksum of line 3:
//
//	printf %s "$(sed -n '3{s/,"crc32":"[^"]*"}$/}/p}' RUN.jsonl)" | gzip | tail -c 8 | od -A n -t x4 -N 4 --endian=little
type Line struct {
	Header *Run    `json:"header,omitempty"` // without samples
	Sample *Sample `json:"sample,omitempty"`
	Footer *Footer `json:"footer,omitempty"`
}

// MarshalJSON writes the line with its checksum.
func (l Line) MarshalJSON() ([]byte, error) {
	type plain Line
	text, err := json.Marshal(plain(l))
	if err != nil {
		return nil, err
	}
	sum := crc32.ChecksumIEEE(text)
	return fmt.Appendf(text[:len(text)-1], `,"crc32":"%08x"}`, sum), nil
}

// checksum matches the member of a line that holds its checksum, which has the same length in every line.
var checksum = lazy.Regexp(`,"crc32":"([0-9a-f]{8})"}$`)

// checksumLen is the length of what matches checksum.
const checksumLen = len(`,"crc32":"01234567"}`)

var errNoChecksum = errors.New("it has no checksum")

// verify compares a line, without its end, with its checksum.
func verify(text []byte) error {
	body := max(0, len(text)-checksumLen)
	has := checksum().FindSubmatch(text[body:])
	if has == nil {
		return errNoChecksum
	}
	sum := crc32.Update(crc32.ChecksumIEEE(text[:body]), crc32.IEEETable, []byte("}"))
	if want := fmt.Sprintf("%08x", sum); want != string(has[1]) {
		return fmt.Errorf("its checksum is %s, but that of its text is %s", has[1], want)
	}
	return nil
}

// Footer holds the results derived at the end of the run.
type Footer struct {
	Samples  int       `json:"samples"` // lines of samples before it
	Summary  *Summary  `json:"summary,omitempty"`
	Cells    []Cell    `json:"cells,omitempty"` // of a matrix, with their verdicts
	Findings []Finding `json:"findings"`
	Warnings []Warning `json:"warnings"`
	Partial  bool      `json:"partial"`
}

// Journal is a file of raw samples, with a line for each: a killed run loses at most the sample in progress, and a machine
// that crashes in addition those of the last syncEvery. While it is open, no other gorun can open it for writing.
type Journal struct {
	file    *os.File
	regular bool  // a regular file, unlike a pipe or a terminal, can be synced
	torn    bool  // the file ends with an incomplete line
	whole   int64 // bytes of the complete lines

	mu     sync.Mutex
	failed error       // error of the write after which nothing more is written
	synced time.Time   // when the last sync ended
	later  *time.Timer // syncs what was written since; nil: all is on the disk
}

// syncEvery is how long a line may not be on the disk yet: an fsync takes longer than a short sample.
const syncEvery = 100 * time.Millisecond

// ErrExists means that the journal's file is not empty.
var ErrExists = errors.New("holds an earlier run")

// ErrBusy means that another process has the journal open for writing.
var ErrBusy = errors.New("another gorun is writing to")

// CreateJournal makes a journal of a file that was opened for appending. The journal closes the file, also after an
// error. For a regular file that is not empty, the error wraps ErrExists or ErrBusy.
func CreateJournal(file *os.File) (*Journal, error) {
	size, regular, err := lock(file)
	if err == nil && size > 0 {
		err = fmt.Errorf("%s %w", file.Name(), ErrExists)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &Journal{file: file, regular: regular}, nil
}

// OpenJournal opens and reads the journal of a run to be resumed. Only the first Write changes the file: it cuts off an
// incomplete line. So a journal of an unexpected run can be closed unchanged. If another process writes to it, the
// error wraps ErrBusy.
func OpenJournal(path string) (*Journal, Recording, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return nil, Recording{}, err
	}
	_, regular, err := lock(file)
	if err == nil && !regular {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	var rec Recording
	if err == nil {
		if rec, err = ReadJournal(file); err != nil {
			err = fmt.Errorf("%s: %w", path, err)
		}
	}
	if err != nil {
		return nil, Recording{}, errors.Join(err, file.Close())
	}
	return &Journal{file: file, regular: true, torn: rec.Torn, whole: rec.Whole}, rec, nil
}

// lock locks a regular file for this process until it is closed (flock(2)), and returns its size. On a file system
// without locks it does not lock.
func lock(file *os.File) (size int64, regular bool, err error) {
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return 0, false, err
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = fmt.Errorf("%w %s", ErrBusy, file.Name())
		return 0, true, hint.With(err, "wait until it has ended, or give another file")
	}
	info, err = file.Stat() // again: another process may have written to it and ended before it was locked
	if err != nil {
		return 0, true, err
	}
	return info.Size(), true, nil
}

// Write appends a line. It waits until the line is on the disk, unless it is a sample's and the last wait ended less than
// syncEvery before. After a failure, which may have left a part of the line, it writes nothing more and returns the same
// error. A nil Journal discards lines.
func (j *Journal) Write(line Line) error {
	if j == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.failed != nil {
		return j.failed
	}
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	if j.failed = j.store(append(text, '\n')); j.failed != nil || !j.regular {
		return j.failed
	}
	if wait := syncEvery - time.Since(j.synced); line.Sample == nil || wait <= 0 {
		j.failed = j.sync()
	} else if j.later == nil {
		j.later = time.AfterFunc(wait, func() {
			j.mu.Lock()
			defer j.mu.Unlock()
			if j.later != nil {
				j.failed = cmp.Or(j.failed, j.sync())
			}
		})
	}
	return j.failed
}

func (j *Journal) sync() error {
	if j.later != nil {
		j.later.Stop()
		j.later = nil
	}
	err := j.file.Sync()
	j.synced = time.Now()
	return err
}

func (j *Journal) store(text []byte) error {
	if j.torn {
		if err := j.file.Truncate(j.whole); err != nil {
			return err
		}
		j.torn = false
	}
	_, err := j.file.Write(text)
	return err
}

// Lost returns an error if another program has removed or replaced the journal's file.
func (j *Journal) Lost() error {
	if j == nil || !j.regular {
		return nil
	}
	written, err := j.file.Stat()
	if err != nil {
		return err
	}
	if named, err := os.Stat(j.file.Name()); err == nil && os.SameFile(named, written) {
		return nil
	}
	return hint.With(fmt.Errorf("%s was removed or replaced during the run, and its samples with it", j.file.Name()),
		"leave the journal alone until the run has ended")
}

// Regular reports whether the journal can be read again, by --resume.
func (j *Journal) Regular() bool { return j != nil && j.regular }

// Close closes the file.
func (j *Journal) Close() error {
	if j == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	var err error
	if j.later != nil && j.failed == nil {
		err = j.sync()
	}
	return errors.Join(err, j.file.Close())
}

// Recording holds the contents of a journal.
type Recording struct {
	// Run is the header with the samples and the results of the last footer. It is partial unless it has ended with the
	// footer of a complete run.
	Run     *Run
	Footers []*Footer // in order
	Ended   bool      // the last footer is the last line
	Whole   int64     // bytes of the complete lines
	Lines   int       // number of complete lines
	Torn    bool      // a broken or incomplete last line was left out
}

// Footer returns the last footer; nil without one.
func (rec *Recording) Footer() *Footer {
	if len(rec.Footers) == 0 {
		return nil
	}
	return rec.Footers[len(rec.Footers)-1]
}

// SampleLine returns the line number of a sample, by its index.
func (rec *Recording) SampleLine(sample int) int {
	line := 2 + sample
	for _, f := range rec.Footers {
		if f.Samples <= sample {
			line++
		}
	}
	return line
}

// FooterLine returns the line number of a footer, by its index.
func (rec *Recording) FooterLine(footer int) int { return 2 + rec.Footers[footer].Samples + footer }

// ReadJournal reads a journal, also of a run that was killed or is in progress: its last line may be incomplete. For a
// broken line elsewhere, the error names its number.
func ReadJournal(r io.Reader) (Recording, error) {
	var rec Recording
	var broken error // of the line before
	var text []byte
	in := bufio.NewReaderSize(r, 1<<16)
	if err := another(in); err != nil {
		return Recording{}, err
	}
	for number := 1; ; number++ {
		var err error
		text, err = readLine(in, text[:0])
		if err != nil && err != io.EOF {
			return Recording{}, err
		}
		if len(text) == 0 {
			break
		}
		if broken != nil {
			return Recording{}, broken
		}
		if err == io.EOF {
			rec.Torn = true
			break
		}
		line := text[:len(text)-1]
		err = verify(line)
		if err != nil && !(errors.Is(err, errNoChecksum) && json.Valid(line)) {
			broken = fmt.Errorf("line %d is broken: %w", number, err)
			continue
		}
		if err = rec.add(line, err); err != nil {
			return Recording{}, fmt.Errorf("line %d: %w", number, err)
		}
		rec.Whole += int64(len(text))
		rec.Lines = number
	}
	rec.Torn = rec.Torn || broken != nil
	if rec.Run == nil {
		err := errors.New("it contains no complete line of a journal")
		if broken != nil {
			err = fmt.Errorf("%w: %w", err, broken)
		}
		return Recording{}, hint.With(err, noJournal)
	}
	rec.Ended = rec.Ended && !rec.Torn
	rec.Run.Partial = !rec.Ended || rec.Footer().Partial
	return rec, nil
}

// ReadHeader reads only the header of the journal in a regular file. It does not wait for the writer of a FIFO.
func ReadHeader(path string) (*Run, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	in := bufio.NewReaderSize(file, 1<<16)
	if err := another(in); err != nil {
		return nil, err
	}
	text, err := readLine(in, nil)
	if err != nil {
		return nil, err
	}
	var rec Recording
	line := text[:len(text)-1]
	if err := rec.add(line, verify(line)); err != nil {
		return nil, err
	}
	return rec.Run, nil
}

// forms lists how other kinds of files begin.
var forms = []struct{ magic, is, way string }{
	{"\x1f\x8b", "it is compressed by gzip", "decompress it: gzip -dc FILE >run.jsonl"},
	{"\x28\xb5\x2f\xfd", "it is compressed by zstd", "decompress it: zstd -dc FILE >run.jsonl"},
	{"\xfd7zXZ\x00", "it is compressed by xz", "decompress it: xz -dc FILE >run.jsonl"},
	{"BZh", "it is compressed by bzip2", "decompress it: bzip2 -dc FILE >run.jsonl"},
	{"PK\x03\x04", "it is a zip archive", "take the journal out of it: unzip FILE"},
	{"\xef\xbb\xbf", "it begins with a byte order mark", "another program saved it: " + asWritten},
	{"\xff\xfe", "it is UTF-16", "another program saved it: " + asWritten},
	{"[", "it is a JSON list", noJournal},
}

// headerStart is the beginning of every journal.
const headerStart = `{"header":{`

// another returns an error that names the kind of a file whose first line is not that of a journal.
func another(in *bufio.Reader) error {
	head, err := in.Peek(1 << 16)
	if err != nil && err != io.EOF {
		return err
	}
	if len(head) == 0 {
		return hint.With(errors.New("it is empty"), noJournal)
	}
	line, _, _ := bytes.Cut(head, []byte("\n"))
	is, way := "it is a text of another kind", noJournal
	known := slices.IndexFunc(forms, func(f struct{ magic, is, way string }) bool {
		return bytes.HasPrefix(head, []byte(f.magic))
	})
	switch {
	case known >= 0:
		is, way = forms[known].is, forms[known].way
	case bytes.HasSuffix(line, []byte("}\r")):
		is, way = "its lines end in CR LF", "another program saved it: "+asWritten
	case checksum().Match(line), bytes.HasPrefix(head, []byte(headerStart)), strings.HasPrefix(headerStart, string(head)):
		return nil // or a broken line, which has its own error
	case bytes.HasPrefix(head, []byte(`{"sample":`)), bytes.HasPrefix(head, []byte(`{"footer":`)):
		return nil
	case bytes.HasPrefix(bytes.TrimSpace(head), []byte("{")):
		is, way = "it is a JSON document", "give the journal that --out wrote; what --format json printed is for gorun report"
	case bytes.IndexByte(head, 0) >= 0 || !utf8.Valid(head[:max(0, len(head)-utf8.UTFMax)]):
		is = "it is a binary file"
	}
	return hint.With(fmt.Errorf("line 1 does not begin a journal: %s", is), way)
}

// inWords rewords an error of package json for a reader of journals.
func inWords(err error) error {
	var invalid *json.UnmarshalTypeError
	if !errors.As(err, &invalid) {
		return errors.New("it is not the JSON of a journal")
	}
	names := map[string]string{"string": "a text", "array": "a list", "object": "an object", "bool": "true or false"}
	is := cmp.Or(names[invalid.Value], invalid.Value) // or "number 1e999"
	want := ""
	switch invalid.Type.Kind() {
	case reflect.Bool:
		want = "true or false"
	case reflect.String:
		want = "a text"
	case reflect.Slice, reflect.Array:
		want = "a list"
	case reflect.Struct, reflect.Map, reflect.Pointer:
		want = "an object"
	case reflect.Float32, reflect.Float64:
		want = "a number that fits"
	default:
		want = "a whole number that fits"
	}
	return fmt.Errorf("%s is %s instead of %s", cmp.Or(invalid.Field, "the line"), is, want)
}

const noJournal = "give a file that --out wrote; a file that is cut off in its first line has no samples"

// readLine appends a line of any length, with its newline, to buf. At io.EOF the line has no newline, and may be empty.
func readLine(in *bufio.Reader, buf []byte) ([]byte, error) {
	for {
		piece, err := in.ReadSlice('\n')
		buf = append(buf, piece...)
		if err != bufio.ErrBufferFull {
			return buf, err
		}
	}
}

// CheckSchema returns an error with a hint if the run has another schema than this gorun.
func (r *Run) CheckSchema() error {
	if r.Schema == Schema {
		return nil
	}
	writer := "the gorun that wrote it"
	if r.Tool.Version != "" {
		writer += ", version " + r.Tool.Version
	}
	return hint.With(fmt.Errorf("its schema is %q, but this gorun reads %q", r.Schema, Schema),
		"read it with "+writer+"; to compare it with runs of this gorun, measure it again")
}

// add takes the next line, and the error of its checksum.
func (rec *Recording) add(text []byte, unverified error) error {
	var line Line
	err := json.Unmarshal(text, &line)
	if line.Header != nil { // before the errors: another schema may have other types and no checksum
		if err := line.Header.CheckSchema(); err != nil {
			return err
		}
	}
	if unverified != nil {
		return hint.With(unverified, asWritten)
	}
	if err != nil {
		return hint.With(inWords(err), asWritten)
	}
	kinds := 0
	for _, is := range []bool{line.Header != nil, line.Sample != nil, line.Footer != nil} {
		if is {
			kinds++
		}
	}
	switch {
	case kinds != 1:
		err = fmt.Errorf("a line must be exactly one of header, sample and footer, but this one has %d of them", kinds)
	case rec.Run == nil && line.Header == nil:
		err = errors.New("it comes before the header")
	case line.Sample != nil:
		rec.Run.Samples = append(rec.Run.Samples, *line.Sample)
		rec.Ended = false
		return nil
	case line.Footer != nil:
		return rec.end(line.Footer)
	case rec.Run != nil:
		return hint.With(errors.New("a second header"), "a journal holds one run: split the file")
	case len(line.Header.Samples) > 0:
		err = errors.New("the header holds samples")
	default:
		rec.Run = line.Header
		rec.Run.Samples = []Sample{}
		return nil
	}
	return hint.With(err, asWritten)
}

const asWritten = "give a file that --out wrote, as it was written"

// end takes a footer. A run that is resumed after a footer writes another when it has taken samples.
func (rec *Recording) end(f *Footer) error {
	if last := rec.Footer(); last != nil && rec.Ended {
		return hint.With(errors.New("a second footer, without a sample between the two"), asWritten)
	}
	if have := len(rec.Run.Samples); f.Samples != have {
		err := fmt.Errorf("the footer counts %d samples, but %d come before it", f.Samples, have)
		return hint.With(err, "lines were lost or added after the run: use an unchanged copy of the file")
	}
	if had := len(rec.Run.Warnings); len(f.Warnings) < had || !slices.Equal(f.Warnings[:had], rec.Run.Warnings) {
		return hint.With(errors.New("the footer does not begin with the earlier warnings of the run"), asWritten)
	}
	rec.Footers, rec.Ended = append(rec.Footers, f), true
	rec.Run.Summary, rec.Run.Findings, rec.Run.Warnings = f.Summary, f.Findings, f.Warnings
	return nil
}
