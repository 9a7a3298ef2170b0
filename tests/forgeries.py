"""What a forger does to the manifest and the arrays of a release."""


def changed(*path, to):
    def change(manifest, arrays):
        place = manifest
        for key in path[:-1]:
            place = place[key]
        if to is KeyError:
            del place[path[-1]]
        else:
            place[path[-1]] = to(place[path[-1]]) if callable(to) else to

    return change


def array(name, change):
    def spoil(manifest, arrays):
        if change is KeyError:
            del arrays[name]
        else:
            arrays[name] = change(arrays[name])

    return spoil
