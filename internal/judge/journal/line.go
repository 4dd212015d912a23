package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"

	"gorun/internal/base/hint"
	"gorun/internal/base/lazy"
	"gorun/internal/record/result"
)

// Marshal returns a line of a journal with its checksum and its end. The checksum is the member "crc32": the CRC-32 of gzip, as
// eight digits, of the line without that member and without its end. Bash, sed, gzip and od compute the checksum of line 3:
//
//	printf %s "$(sed -n '3{s/,"crc32":"[^"]*"}$/}/p}' RUN.jsonl)" | gzip | tail -c 8 | od -A n -t x4 -N 4 --endian=little
func Marshal(line result.Line) ([]byte, error) {
	text, err := json.Marshal(line)
	if err != nil {
		return nil, err
	}
	return sealed(hint.Escape(text)), nil
}

// sealed returns the JSON of a line with its checksum and its end.
func sealed(text []byte) []byte {
	sum := crc32.ChecksumIEEE(text)
	return fmt.Appendf(text[:len(text)-1], `,"crc32":"%08x"}`+"\n", sum)
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
