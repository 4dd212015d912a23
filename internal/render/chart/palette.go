package chart

import "slices"

// Palette names the colours of a heat map.
type Palette struct {
	Name   string
	Shades [len(Shades)]shade // from the least figure to the greatest
}

// Palettes are all, the default first.
var Palettes = [...]Palette{
	{"viridis", Shades},
	// The longer, the redder: the Reds of ColorBrewer (Cynthia Brewer), with one shade more. The lightness only falls.
	{"red", [len(Shades)]shade{
		{231, "#fff5f0", "black"},
		{224, "#fee5d9", "black"},
		{217, "#fdd0bc", "black"},
		{216, "#fcbba1", "black"},
		{209, "#fc9272", "black"},
		{203, "#fb6a4a", "black"},
		{196, "#ef3b2c", "white"},
		{160, "#cb181d", "white"},
		{124, "#a50f15", "white"},
		{88, "#67000d", "white"},
	}},
}

// PaletteNames returns the names of all palettes.
func PaletteNames() (names []string) {
	for _, p := range Palettes {
		names = append(names, p.Name)
	}
	return names
}

// PaletteOf returns the palette of a name; the default if there is none.
func PaletteOf(name string) Palette {
	return Palettes[max(0, slices.Index(PaletteNames(), name))]
}
