// Package jsonl writes and reads files of lines that each hold a JSON object and its checksum: the journals of runs, and the visits of
// a fleet. What is cut off at the end of a file, as of a program that was killed, is left out.
package jsonl

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"gorun/internal/base/hint"
	"gorun/internal/files/input"
)

// The text of a checksum, which has the same length in every line.
const (
	sumBegin = `,"crc32":"`
	sumEnd   = `"}`
	sumLen   = len(sumBegin + "01234567" + sumEnd)
)

// Marshal returns a line with its checksum and its end. The checksum is the member "crc32": the CRC-32 of gzip, as
// eight digits, of the line without that member and without its end. Bash, sed, gzip and od compute the checksum of line 3:
//
//	printf %s "$(sed -n '3{s/,"crc32":"[^"]*"}$/}/p}' RUN.jsonl)" | gzip | tail -c 8 | od -A n -t x4 -N 4 --endian=little
func Marshal(line any) ([]byte, error) {
	text, err := json.Marshal(line)
	if err != nil {
		return nil, err
	}
	return seal(hint.Escape(text)), nil
}

// seal returns the JSON of a line with its checksum and its end.
func seal(text []byte) []byte {
	sum := crc32.ChecksumIEEE(text)
	return fmt.Appendf(text[:len(text)-1], sumBegin+"%08x"+sumEnd+"\n", sum)
}

// Sealed reports whether a line, without its end, ends with a checksum.
func Sealed(line []byte) bool {
	_, _, sealed := split(line)
	return sealed
}

// split returns a line without its checksum and what closes it, and the checksum.
func split(line []byte) (body, sum []byte, sealed bool) {
	at := len(line) - sumLen
	if at < 0 {
		return nil, nil, false
	}
	sum, begins := bytes.CutPrefix(line[at:], []byte(sumBegin))
	sum, ends := bytes.CutSuffix(sum, []byte(sumEnd))
	for _, digit := range sum {
		ends = ends && ('0' <= digit && digit <= '9' || 'a' <= digit && digit <= 'f')
	}
	return line[:at], sum, begins && ends
}

var errUnsealed = errors.New("it has no checksum")

// open returns the text of a line, without its end, as it was before it got its checksum. An error says why the text is not certain.
func open(line []byte) ([]byte, error) {
	body, has, sealed := split(line)
	if !sealed {
		return line, errUnsealed
	}
	sum := crc32.Update(crc32.ChecksumIEEE(body), crc32.IEEETable, []byte("}"))
	if want := hex.AppendEncode(nil, binary.BigEndian.AppendUint32(nil, sum)); !bytes.Equal(want, has) {
		return line, fmt.Errorf("its checksum is %s, but that of its text is %s", has, want)
	}
	return append(body, '}'), nil
}

// End is how a file ends.
type End struct {
	Whole  int64  // bytes of the whole lines
	Seal   []byte // the last bytes of the last whole line, with its checksum
	Torn   bool   // a broken or incomplete last line was left out
	Broken error  // why the last line is broken; nil: it is whole, or incomplete
}

// Read gives each whole line to add, with its number, and without its checksum and its end. unsealed is an error if the line has no
// checksum, and otherwise nil. The text is valid until add returns. An error names the line.
func Read(in *bufio.Reader, add func(number int, text []byte, unsealed error) error) (end End, err error) {
	for number := 1; ; number++ {
		line, err := input.ReadLine(in) // without its end: the last line, which may be empty
		if errors.Is(err, input.ErrLongLine) {
			return end, fmt.Errorf("line %d %w", number, err)
		}
		if err != nil && err != io.EOF {
			return end, err
		}
		if len(line) == 0 {
			return end, nil
		}
		if end.Broken != nil {
			return end, end.Broken
		}
		if end.Torn = err == io.EOF; end.Torn {
			return end, nil
		}
		size := int64(len(line))
		text, unsealed := open(line[:size-1])
		if unsealed != nil && !(unsealed == errUnsealed && json.Valid(text)) {
			end.Broken, end.Torn = fmt.Errorf("line %d is broken: %w", number, unsealed), true
			continue
		}
		if err := add(number, text, unsealed); err != nil {
			return end, fmt.Errorf("line %d: %w", number, err)
		}
		end.Whole += size
		end.Seal = append(end.Seal[:0], line[max(0, len(line)-sumLen):]...)
	}
}
