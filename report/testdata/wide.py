# Writes wide.txt: one line "first last" (hexadecimal) for each range of assigned
# characters that occupy two columns: East_Asian_Width W or F of Python's own
# Unicode tables, ranges joined over code points that are not assigned.
# usage: python3 wide.py > wide.txt
import unicodedata

ranges, start, last = [], None, None
for c in range(0x110000):
    if unicodedata.category(chr(c)) in ("Cn", "Co", "Cs"):
        continue
    if unicodedata.east_asian_width(chr(c)) in "WF":
        if start is None:
            start = c
        last = c
    elif start is not None:
        ranges.append((start, last))
        start = None
if start is not None:
    ranges.append((start, last))
for a, b in ranges:
    print("%X %X" % (a, b))
