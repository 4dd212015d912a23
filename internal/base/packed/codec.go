package packed

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"sync"
	"unsafe"
)

// Packer is a type that encodes itself, because it has more than its fields.
type Packer interface {
	Pack(e *Encoder)
	Unpack(d *Decoder)
}

// Encoder appends encoded values.
type Encoder struct {
	data  []byte
	words []string
	apart bool // a text was encoded that is not among the words
	ids   map[string]uint64
}

// Decoder reads encoded values.
type Decoder struct {
	data   []byte
	words  []string
	floats []float64 // room for what pointers of a value point to
	counts []uint64
	see    func(text string) // is given each text that is not among the words; nil: nobody looks
}

// codec encodes and decodes one type. encode writes the zero value too.
type codec struct {
	zero   func(p unsafe.Pointer) bool
	encode func(e *Encoder, p unsafe.Pointer)
	decode func(d *Decoder, p unsafe.Pointer) // into a zero value
}

var codecs sync.Map // of reflect.Type

// codecOf returns the codec of a type. It panics on a type that cannot be encoded: which types are encoded is known when the program is
// built.
func codecOf(t reflect.Type) *codec {
	if c, known := codecs.Load(t); known {
		return c.(*codec)
	}
	c, _ := codecs.LoadOrStore(t, codecFor(t))
	return c.(*codec)
}

func codecFor(t reflect.Type) *codec {
	if reflect.PointerTo(t).Implements(reflect.TypeFor[Packer]()) {
		packer := func(p unsafe.Pointer) Packer { return reflect.NewAt(t, p).Interface().(Packer) }
		return &codec{
			zero:   func(p unsafe.Pointer) bool { return reflect.NewAt(t, p).Elem().IsZero() },
			encode: func(e *Encoder, p unsafe.Pointer) { packer(p).Pack(e) },
			decode: func(d *Decoder, p unsafe.Pointer) { packer(p).Unpack(d) },
		}
	}
	switch t.Kind() {
	case reflect.Bool:
		return scalar((*Encoder).Bool, (*Decoder).Bool)
	case reflect.Int:
		return scalar(func(e *Encoder, v int) { e.Uint(zigzag(int64(v))) }, func(d *Decoder) int { return int(unzigzag(d.Uint())) })
	case reflect.Uint64:
		return scalar((*Encoder).Uint, (*Decoder).Uint)
	case reflect.Float64:
		c := scalar((*Encoder).float, (*Decoder).float)
		c.zero = func(p unsafe.Pointer) bool { return *(*uint64)(p) == 0 } // −0 is not
		return c
	case reflect.String:
		return scalar((*Encoder).Text, (*Decoder).Text)
	case reflect.Pointer:
		return pointerTo(t.Elem())
	case reflect.Slice:
		return sliceOf(t)
	case reflect.Map:
		return mapOf(t)
	case reflect.Struct:
		return structOf(t)
	}
	panic(fmt.Sprintf("a %v cannot be packed", t))
}

// scalar returns the codec of a type without parts.
func scalar[V comparable](encode func(*Encoder, V), decode func(*Decoder) V) *codec {
	return &codec{
		zero:   func(p unsafe.Pointer) bool { return *(*V)(p) == *new(V) },
		encode: func(e *Encoder, p unsafe.Pointer) { encode(e, *(*V)(p)) },
		decode: func(d *Decoder, p unsafe.Pointer) { *(*V)(p) = decode(d) },
	}
}

// pointerTo returns the codec of pointers that are not nil: only fields of structs can be nil.
func pointerTo(t reflect.Type) *codec {
	of := codecOf(t)
	c := &codec{
		zero:   func(p unsafe.Pointer) bool { return *(*unsafe.Pointer)(p) == nil },
		encode: func(e *Encoder, p unsafe.Pointer) { of.encode(e, *(*unsafe.Pointer)(p)) },
	}
	switch t.Kind() {
	case reflect.Float64:
		c.decode = func(d *Decoder, p unsafe.Pointer) { *(**float64)(p) = next(&d.floats, d.float()) }
	case reflect.Uint64:
		c.decode = func(d *Decoder, p unsafe.Pointer) { *(**uint64)(p) = next(&d.counts, d.Uint()) }
	default:
		c.decode = func(d *Decoder, p unsafe.Pointer) {
			v := reflect.New(t).UnsafePointer()
			of.decode(d, v)
			*(*unsafe.Pointer)(p) = v
		}
	}
	return c
}

// next returns a pointer to a value in a room that is allocated for several.
func next[V any](room *[]V, v V) *V {
	if len(*room) == cap(*room) {
		*room = make([]V, 0, 12)
	}
	*room = append(*room, v)
	return &(*room)[len(*room)-1]
}

func sliceOf(t reflect.Type) *codec {
	of, size, empty := codecOf(t.Elem()), t.Elem().Size(), reflect.MakeSlice(t, 0, 0)
	return &codec{
		zero: func(p unsafe.Pointer) bool { return *(*unsafe.Pointer)(p) == nil }, // its first word: an empty slice is not nil
		encode: func(e *Encoder, p unsafe.Pointer) {
			n := reflect.NewAt(t, p).Elem().Len()
			e.Uint(uint64(n))
			for i := range n {
				of.encode(e, unsafe.Add(*(*unsafe.Pointer)(p), uintptr(i)*size))
			}
		},
		decode: func(d *Decoder, p unsafe.Pointer) {
			n := int(d.Uint())
			all := empty
			if n > 0 {
				all = reflect.MakeSlice(t, n, n)
			}
			reflect.NewAt(t, p).Elem().Set(all)
			for i := range n {
				of.decode(d, unsafe.Add(*(*unsafe.Pointer)(p), uintptr(i)*size))
			}
		},
	}
}

func mapOf(t reflect.Type) *codec {
	key, value := codecOf(t.Key()), codecOf(t.Elem())
	return &codec{
		zero: func(p unsafe.Pointer) bool { return *(*unsafe.Pointer)(p) == nil },
		encode: func(e *Encoder, p unsafe.Pointer) {
			m := reflect.NewAt(t, p).Elem()
			e.Uint(uint64(m.Len()))
			k, v := reflect.New(t.Key()), reflect.New(t.Elem())
			for from := m.MapRange(); from.Next(); {
				k.Elem().SetIterKey(from)
				v.Elem().SetIterValue(from)
				key.encode(e, k.UnsafePointer())
				value.encode(e, v.UnsafePointer())
			}
		},
		decode: func(d *Decoder, p unsafe.Pointer) {
			m := reflect.MakeMap(t)
			for range d.Uint() {
				k, v := reflect.New(t.Key()), reflect.New(t.Elem())
				key.decode(d, k.UnsafePointer())
				value.decode(d, v.UnsafePointer())
				m.SetMapIndex(k.Elem(), v.Elem())
			}
			reflect.NewAt(t, p).Elem().Set(m)
		},
	}
}

// structOf returns a codec that writes a bit for each field, which is 0 for a zero value, and then the other fields. The fields of a
// struct in a struct are fields of the outer one.
func structOf(t reflect.Type) *codec {
	type field struct {
		*codec
		at uintptr
	}
	var fields []field
	var add func(t reflect.Type, at uintptr)
	add = func(t reflect.Type, at uintptr) {
		for f := range t.Fields() {
			if f.Type.Kind() == reflect.Struct && !reflect.PointerTo(f.Type).Implements(reflect.TypeFor[Packer]()) {
				add(f.Type, at+f.Offset)
			} else {
				fields = append(fields, field{codecOf(f.Type), at + f.Offset})
			}
		}
	}
	add(t, 0)
	return &codec{
		zero: func(p unsafe.Pointer) bool {
			for _, f := range fields {
				if !f.zero(unsafe.Add(p, f.at)) {
					return false
				}
			}
			return true
		},
		encode: func(e *Encoder, p unsafe.Pointer) {
			start := len(e.data)
			e.data = append(e.data, make([]byte, (len(fields)+7)/8)...)
			for i, f := range fields {
				if at := unsafe.Add(p, f.at); !f.zero(at) {
					e.data[start+i/8] |= 1 << (i % 8)
					f.encode(e, at)
				}
			}
		},
		decode: func(d *Decoder, p unsafe.Pointer) {
			set := d.bytes((len(fields) + 7) / 8)
			for i, f := range fields {
				if set[i/8]&(1<<(i%8)) != 0 {
					f.decode(d, unsafe.Add(p, f.at))
				}
			}
		},
	}
}

// types are those of values that were encoded by Any. They are as many as types of the program.
var types struct {
	sync.RWMutex
	all []reflect.Type
	ids map[reflect.Type]uint64
}

// Any encodes what a pointer points to, with its type.
func (e *Encoder) Any(pointer any) {
	v := reflect.ValueOf(pointer)
	t := v.Type().Elem()
	types.RLock()
	id, known := types.ids[t]
	types.RUnlock()
	if !known {
		types.Lock()
		if id, known = types.ids[t]; !known {
			id = uint64(len(types.all))
			if types.ids == nil {
				types.ids = map[reflect.Type]uint64{}
			}
			types.all, types.ids[t] = append(types.all, t), id
		}
		types.Unlock()
	}
	e.Uint(id)
	codecOf(t).encode(e, v.UnsafePointer())
}

// Any decodes what Encoder.Any has encoded, and returns a pointer to it.
func (d *Decoder) Any() any {
	id := d.Uint()
	types.RLock()
	t := types.all[id]
	types.RUnlock()
	v := reflect.New(t)
	codecOf(t).decode(d, v.UnsafePointer())
	return v.Interface()
}

// Uint encodes a number: the smaller, the shorter.
func (e *Encoder) Uint(v uint64) { e.data = binary.AppendUvarint(e.data, v) }

// Uint decodes a number.
func (d *Decoder) Uint() uint64 {
	v, n := binary.Uvarint(d.data)
	d.data = d.data[n:]
	return v
}

// maxWords bounds the words that are kept once for all values. A text that comes later is kept in each value that has it.
const maxWords = 1024

// Text encodes a text.
func (e *Encoder) Text(v string) {
	id, known := e.ids[v]
	if !known && len(e.words) < maxWords {
		id, known = uint64(len(e.words)), true
		e.words, e.ids[v] = append(e.words, v), id
	}
	if known {
		e.Uint(id << 1)
		return
	}
	e.Uint(uint64(len(v))<<1 | 1)
	e.data, e.apart = append(e.data, v...), true
}

// Text decodes a text.
func (d *Decoder) Text() string {
	v := d.Uint()
	if v&1 == 0 {
		return d.words[v>>1]
	}
	return string(d.seen(d.bytes(int(v >> 1))))
}

func (d *Decoder) seen(text []byte) []byte {
	if d.see != nil {
		d.see(string(text))
	}
	return text
}

// Bytes encodes bytes that no other value has.
func (e *Encoder) Bytes(v []byte) {
	e.Uint(uint64(len(v)))
	e.data, e.apart = append(e.data, v...), e.apart || len(v) > 0
}

// Bytes decodes bytes. They belong to the list, and must not be changed.
func (d *Decoder) Bytes() []byte { return d.seen(d.bytes(int(d.Uint()))) }

// float encodes whole nanoseconds, billionths of any unit and small whole numbers in a few bytes, and others in nine.
func (e *Encoder) float(v float64) {
	if n := math.Round(v * 1e9); math.Abs(n) < 1<<53 && math.Float64bits(float64(int64(n))/1e9) == math.Float64bits(v) {
		e.Uint(zigzag(int64(n)) << 1)
		return
	}
	e.data = append(e.data, 1)
	e.data = binary.LittleEndian.AppendUint64(e.data, math.Float64bits(v))
}

func (d *Decoder) float() float64 {
	if d.data[0] != 1 {
		return float64(unzigzag(d.Uint()>>1)) / 1e9
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(d.bytes(9)[1:]))
}

func zigzag(v int64) uint64 { return uint64(v<<1 ^ v>>63) }

func unzigzag(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }

// Bool encodes a truth value.
func (e *Encoder) Bool(v bool) {
	if v {
		e.Uint(1)
	} else {
		e.Uint(0)
	}
}

// Bool decodes a truth value.
func (d *Decoder) Bool() bool { return d.Uint() != 0 }

// bytes reads the next n bytes.
func (d *Decoder) bytes(n int) []byte {
	some := d.data[:n:n]
	d.data = d.data[n:]
	return some
}
