package hdf5

import (
	"fmt"
	"slices"
	"strings"

	"doubletake/ingest/fault"
)

// maxHops bounds the soft links followed for one path.
const maxHops = 64

// Dataset returns the dataset at a path, following soft links: for tests of files
// whose layout is known.
func (f *File) Dataset(path string) (*Dataset, error) {
	hops := 0
	o, err := f.lookup(f.root, path, &hops)
	if err != nil {
		return nil, err
	}

	d, ok := o.(*Dataset)
	if !ok {
		return nil, &fault.Error{Found: fmt.Sprintf("%s is no dataset", path)}
	}

	return d, nil
}

func (f *File) lookup(from *Group, path string, hops *int) (any, error) {
	if strings.HasPrefix(path, "/") {
		from = f.root
	}

	var at any = from
	for rest := path; rest != ""; {
		var name string
		name, rest, _ = strings.Cut(rest, "/")
		if name == "" || name == "." {
			continue
		}

		g, ok := at.(*Group)
		if !ok {
			return nil, &fault.Error{Found: fmt.Sprintf("no object %s: the part before %q is no group", path, name)}
		}

		i := slices.IndexFunc(g.Links, func(l Link) bool { return l.Name == name })
		if i < 0 {
			return nil, &fault.Error{Found: fmt.Sprintf("no object %s: %s has no %q", path, g.Path, name)}
		}

		switch l := g.Links[i]; l.Kind {
		case HardLink:
			at = f.objects[l.addr]

		case SoftLink:
			if *hops++; *hops > maxHops {
				return nil, &fault.Error{Found: fmt.Sprintf("soft links on the way to %s lead in a circle", path)}
			}

			var err error
			if at, err = f.lookup(g, l.Target, hops); err != nil {
				return nil, err
			}

		default:
			return nil, &fault.Error{
				Place: join(g.Path, name), Found: fmt.Sprintf("%s to %q", l.Kind, l.Target),
				Err: errUnsupported,
			}
		}
	}

	return at, nil
}
