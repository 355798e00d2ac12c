# SPDX-License-Identifier: Apache-2.0
"""What a terminal shows after some output: as much of an xterm as ncurses asks of it."""
import re

TOKEN = re.compile(
    r"\x1b\[([?>]?)([0-9;]*)([@A-Za-z])|\x1b[()][0B]|\x1b[=>78]|\x1b(M)|([\r\n\b])|([^\x1b\r\n\b])")


class Grid:
    def __init__(self, rows, columns):
        self.rows, self.columns = rows, columns
        self.outside = []           # where something was put beyond the edge
        self.last = " "
        self.clear()

    def clear(self):
        self.cells = [[" "] * self.columns for _ in range(self.rows)]
        self.y = self.x = 0
        self.top, self.bottom = 0, self.rows - 1

    def lines(self):
        return ["".join(line).rstrip() for line in self.cells]

    def put(self, char):
        if self.x < self.columns and self.y < self.rows:
            self.cells[self.y][self.x] = char
        else:
            self.outside.append((self.y, self.x, char))
        self.last = char
        self.x += 1

    def scroll(self, by):
        for _ in range(abs(by)):
            if by > 0:
                del self.cells[self.top]
                self.cells.insert(self.bottom, [" "] * self.columns)
            else:
                del self.cells[self.bottom]
                self.cells.insert(self.top, [" "] * self.columns)

    def insert_lines(self, n):
        top, self.top = self.top, self.y
        self.scroll(n)
        self.top = top

    def erase(self, y, start, end):
        self.cells[y][start:end] = [" "] * (end - start)

    def erase_all(self, how):
        if how in (0, 2):
            for y in range(self.y + 1 if how == 0 else 0, self.rows):
                self.erase(y, 0, self.columns)
        if how in (1, 2):
            for y in range(self.y):
                self.erase(y, 0, self.columns)
        self.erase_line(how)

    def erase_line(self, how):
        self.erase(self.y, 0 if how else self.x, self.columns if how != 1 else self.x + 1)

    def shift(self, n):
        """characters put in (n > 0) or taken out at the cursor"""
        line = self.cells[self.y]
        if n > 0:
            line[self.x:self.x] = [" "] * n
            del line[self.columns:]
        else:
            del line[self.x:self.x - n]
            line += [" "] * (self.columns - len(line))

    def go(self, y, x):
        self.y, self.x = max(0, min(y, self.rows - 1)), max(0, min(x, self.columns - 1))

    def sequence(self, numbers, kind):
        n = numbers[0] if numbers and numbers[0] is not None else None
        one = n or 1
        y, x = self.y, min(self.x, self.columns - 1)
        if kind == "H":
            if one > self.rows or len(numbers) > 1 and (numbers[1] or 1) > self.columns:
                self.outside.append((one, numbers))
            self.go(one - 1, (numbers[1] or 1) - 1 if len(numbers) > 1 else 0)
        elif kind == "r":
            self.top, self.bottom = (one - 1, (numbers[1] or self.rows)
                                     - 1) if len(numbers) > 1 else (0, self.rows - 1)
            self.go(0, 0)
        elif kind == "b":
            for _ in range(one):
                self.put(self.last)
        else:
            {"A": lambda: self.go(y - one, x), "B": lambda: self.go(
                y + one, x), "C": lambda: self.go(y, x + one), "D": lambda: self.go(y, x - one),
             "d": lambda: self.go(one - 1, x), "G": lambda: self.go(y, one - 1),
             "K": lambda: self.erase_line(n or 0), "J": lambda: self.erase_all(n or 0),
             "P": lambda: self.shift(-one), "@": lambda: self.shift(one), "X": lambda: self.erase(
                 y, x, min(x + one, self.columns)),
             "L": lambda: self.insert_lines(-one), "M": lambda: self.insert_lines(
                 one), "S": lambda: self.scroll(one), "T": lambda: self.scroll(-one),
            }.get(kind, lambda: None)()

    def feed(self, text):
        for match in TOKEN.finditer(text):
            private, numbers, kind, reverse, control, char = match.groups()
            if kind and not private:
                self.sequence([int(n) if n else None for n in numbers.split(";")], kind)
            elif reverse:
                self.scroll(-1) if self.y == self.top else self.go(self.y - 1, self.x)
            elif control == "\r":
                self.x = 0
            elif control == "\n":
                self.scroll(1) if self.y == self.bottom else self.go(self.y + 1, self.x)
            elif control:
                self.x = max(0, min(self.x, self.columns) - 1)
            elif char:
                self.put(char)
