package goproton

// debts lists the folders whose text has not been rewritten yet, each with the retired words that it still has. The table
// only shrinks: the test fails when a folder has lost a word that is listed here, so that the entry is deleted and the word
// does not come back.
var debts = map[string][]string{
	"cupti":                      {"becomes", "nobody", "tells", "told"},
	"cupti/abicheck":             {"gets on"},
	"cupti/stub":                 {"becomes", "nobody", "stranger", "tells", "told", "whoever"},
	"docs":                       {"gets on", "nobody", "whoever"},
	"internal/cubin":             {"told"},
	"internal/hotpath":           {"nobody"},
	"cmd/proton/internal/replay": {"stranger"},
	"profiler":                   {"beside", "nobody", "settle", "stranger", "told"},
	"profiler/aggregate":         {"becomes", "beside", "loose", "nobody", "settle", "stranger", "told", "whoever"},
	"profiler/launchkinds":       {"nobody"},
	"viewer":                     {"becomes", "beside", "hand", "nobody", "tells", "told", "twin", "whoever"},
}
