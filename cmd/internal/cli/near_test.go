package cli

import "testing"

func TestDistance(t *testing.T) {
	for pair, want := range map[[2]string]int{
		{"", ""}: 0, {"ls", "ls"}: 0, {"", "ls"}: 2, {"sohw", "show"}: 1, {"aquire", "acquire"}: 1, {"realese", "release"}: 2, {"list", "ls"}: 2, {"gc", "help"}: 4,
	} {
		if d, back := distance(pair[0], pair[1]), distance(pair[1], pair[0]); d != want || back != want {
			t.Errorf("%q: %d and %d, want %d", pair, d, back, want)
		}
	}
}

// A name is proposed only if it is near: who means something else is not led astray.
func TestNear(t *testing.T) {
	names := (&sorter{}).commands()
	for word, want := range map[string]string{
		"aquire": "acquire", "sohw": "show", "lss": "ls", "rnu": "run", "waitt": "wait", "tickets": "ticket", "Run": "run",
		"frobnicate": "", "rm": "", "x": "", "": "", "status": "",
	} {
		if got := near(word, names); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}
