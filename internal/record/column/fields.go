package column

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/record/result"
)

// Of returns the columns of the figures F, in the order of its fields. The tags of a field describe its column:
//
//	json:"ns_per_op"              the name
//	figure:"ns,lower,csv=5"      the unit, then the other attributes of a Column that apply: lower or higher, hidden, verbose,
//	                              repeats, csv=N, rank=N, key=TEXT, bench=TEXT
//	label:"time of an operation"  Column.Label; and so group:"…" and words:"-1=F,0=off"
//	is:"The mean time."           Column.Meaning
//
// A field is a number, a text, a bool, or a map of these, which has a column for each key: the column's name, "_", and the
// key. A nil pointer, "", and the zero value of a field with omitempty are absent; so is every figure for which F has a
// method Has(column string) bool that returns false.
//
// The fields of an embedded struct are treated as fields of F. The fields of any other struct are too, but their names
// begin with the name of the struct and "_", or with the struct's tag prefix:"…". The attributes of a struct apply to all
// of its fields that do not have their own, and its meaning replaces %s in theirs. Of two fields with the same name, the
// first has the column.
//
// A field with figure:"-" has no column, and a slice never has one. Of panics if another field has no meaning or another
// type, or if a tag is wrong: columns are variables of packages, so this cannot be overlooked.
func Of[F any]() List {
	return of(Column{own: true}, func(s *result.Sample) *F {
		f, _ := result.Typed[F](s)
		return f
	})
}

// of returns the columns of the fields of a part of a sample, which is nil where a sample lacks it. They have the attributes of whole.
func of[F any](whole Column, part func(*result.Sample) *F) List {
	w := walk{figures: func(s *result.Sample) any {
		if f := part(s); f != nil {
			return f
		}
		return nil
	}}
	figures := reflect.TypeFor[F]()
	w.all = make(List, 0, 2*figures.NumField())
	w.fields(figures, nil, whole, "")
	return w.all
}

// kinds are the kinds of fields that have columns.
var kinds = []reflect.Kind{reflect.Int, reflect.Uint64, reflect.Float64, reflect.String, reflect.Bool, reflect.Map}

// walk collects the columns of the fields of a type.
type walk struct {
	figures func(*result.Sample) any // a pointer to them; nil: a sample does not have them
	all     List
}

// fields adds the columns of the fields of a struct type. at is the index of the struct in F, whole has its attributes, and
// prefix begins the names of its columns.
func (w *walk) fields(of reflect.Type, at []int, whole Column, prefix string) {
	for field := range of.Fields() {
		typ := field.Type
		if typ.Kind() == reflect.Pointer {
			typ = typ.Elem()
		}
		if field.Tag.Get("figure") == "-" || typ.Kind() == reflect.Slice {
			continue
		}
		c := whole
		if err := c.read(field.Tag); err != nil {
			panic(fmt.Sprintf("%s.%s: %v", of, field.Name, err))
		}
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		index := append(slices.Clone(at), field.Index...)
		if typ.Kind() == reflect.Struct {
			inner, given := field.Tag.Lookup("prefix")
			if !given && !field.Anonymous {
				inner = name + "_"
			}
			w.fields(typ, index, c, prefix+inner)
			continue
		}
		c.Name = prefix + name
		if w.has(c.Name) {
			continue
		}
		if name == "" || c.Meaning == "" || !field.IsExported() || !slices.Contains(kinds, typ.Kind()) {
			panic(fmt.Sprintf("%s.%s: a figure has a name in JSON, a meaning, and one of the types %v", of, field.Name, kinds))
		}
		value := func(s *result.Sample) (none reflect.Value) {
			figures := w.figures(s)
			if has, ok := figures.(interface{ Has(column string) bool }); figures == nil || ok && !has.Has(c.Name) {
				return none
			}
			v, err := reflect.ValueOf(figures).Elem().FieldByIndexErr(index)
			if err != nil || strings.Contains(options, "omitempty") && v.IsZero() {
				return none
			}
			return v
		}
		c.of = value
		if typ.Kind() == reflect.Map {
			c.Hidden = true
			c.of = func(*result.Sample) (none reflect.Value) { return none }
			c.each = func(s *result.Sample) map[string]reflect.Value {
				values := map[string]reflect.Value{}
				if v := value(s); v.IsValid() {
					for key, figure := range v.Seq2() {
						values[fmt.Sprintf("%s_%v", c.Name, key)] = figure
					}
				}
				return values
			}
		}
		w.all = append(w.all, c)
	}
}

// has reports whether there is a column with this name. It copies no column, because the columns of all packages are made at each start.
func (w *walk) has(name string) bool {
	for i := range w.all {
		if w.all[i].Name == name {
			return true
		}
	}
	return false
}

// read sets the attributes that are in the tags of a field. The others stay as they are.
func (c *Column) read(tag reflect.StructTag) (err error) {
	unit, attributes, _ := strings.Cut(tag.Get("figure"), ",")
	if unit != "" {
		c.Unit = Unit(unit)
	}
	if !slices.Contains(allUnits, c.Unit) {
		return fmt.Errorf("there is no unit %q", unit)
	}
	for attribute := range strings.SplitSeq(attributes, ",") {
		name, value, _ := strings.Cut(attribute, "=")
		switch name {
		case "":
		case string(Lower), string(Higher):
			c.Better = Direction(name)
		case "hidden":
			c.Hidden = true
		case "verbose":
			c.Verbose = true
		case "repeats":
			c.Repeats = true
		case "csv":
			c.CSV, err = strconv.Atoi(value)
		case "rank":
			c.Rank, err = strconv.Atoi(value)
		case "key":
			c.Key = value
		case "bench":
			c.Bench = value
		default:
			err = fmt.Errorf("there is no attribute %q", name)
		}
		if err != nil {
			return err
		}
	}
	c.Label = cmp.Or(tag.Get("label"), c.Label)
	c.Group = cmp.Or(tag.Get("group"), c.Group)
	if words := tag.Get("words"); words != "" {
		c.ValueNames = map[string]string{}
		for word := range strings.SplitSeq(words, ",") {
			value, word, _ := strings.Cut(word, "=")
			c.ValueNames[value] = word
		}
	}
	c.Meaning = strings.ReplaceAll(tag.Get("is"), "%s", c.Meaning)
	return nil
}
