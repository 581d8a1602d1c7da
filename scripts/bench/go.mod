module fslease/scripts/bench

go 1.26.0

require (
	fslease v0.0.0
	github.com/mattn/go-sqlite3 v1.14.53
	golang.org/x/sys v0.50.0
)

require github.com/fsnotify/fsnotify v1.10.1 // indirect

replace fslease => ../..
