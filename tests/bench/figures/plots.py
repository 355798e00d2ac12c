# SPDX-License-Identifier: Apache-2.0
"""Data files, tables and gnuplot scripts of the paper's figures."""
import os
import shutil
import subprocess

COLOURS = ("#0072B2", "#D55E00", "#009E73")     # for eyes that do not tell all colours apart
HEAD = """set terminal svg size 960,{height} enhanced font 'Helvetica,13' background 'white'
set output '{name}.svg'
set border 3 lw 1.2
set tics nomirror out
set grid lc rgb '#dddddd' lw 1
"""


def data(out, name, blocks):
    """blocks: (comment, rows)"""
    with open(os.path.join(out, name + ".dat"), "w", encoding="utf-8") as f:
        for comment, rows in blocks:
            f.write(f"# {comment}\n" + "".join(" ".join(f"{v:g}" if isinstance(v, float) else str(v)
                                                        for v in row) + "\n" for row in rows)
                    + "\n\n")


def plot(out, name, text, height=400):
    with open(os.path.join(out, name + ".gp"), "w", encoding="utf-8") as f:
        f.write(HEAD.format(name=name, height=height) + text + "\n")
    if shutil.which("gnuplot"):
        subprocess.run(["gnuplot", name + ".gp"], cwd=out, check=True)


def table(out, name, head, body):
    with open(os.path.join(out, name + ".md"), "w", encoding="utf-8") as f:
        for row in (head, ["---"] * len(head), *body):
            f.write("| " + " | ".join(row) + " |\n")


def lines(file, index, columns, title, colour, more=""):
    return (f"'{file}' index {index} using {columns} with {more or 'lines lw 2.5'} lc rgb "
            f"'{colour}' title '{title}'")


def with_errors(file, index, x, colour, title, y=2, dashes="", style="lines lw 2.5"):
    """a line in a band of its standard error"""
    return (f"'{file}' index {index} using {x}:(${y}-${y + 1}):(${y}+${y + 1}) with filledcurves "
            f"fs transparent solid 0.18 noborder "
            f"lc rgb '{colour}' notitle, " + lines(file, index, f"{x}:{y}", title, colour,
                                                   f"{style} {dashes}"))


def figure5(out, blocks):
    data(out, "figure5", blocks)
    f = "figure5.dat"
    plot(out, "figure5", "set multiplot layout 1,2 margins 0.09,0.97,0.17,0.88 spacing 0.12\nset "
         "yrange [0:1]\nset ylabel 'CDF'\n"
         "set xlabel 'imbalance rate λ, %'\nset xrange [0:100]\nset key bottom right\nset title "
         "'Rate of two links in 5 s, for 10 min'\nplot "
         + with_errors(f, 0, 1, COLOURS[1], "hash by size, at 1 MB") + ", "
         + with_errors(f, 1, 1, COLOURS[0], "fair hash")
         + "\nset xlabel 'flow size, bytes'\nset logscale x\nset format x '10^{%L}'\nset xrange "
         "[1000:1e8]\nset key top left Left reverse samplen 2 font ',11'\n"
         "set arrow 1 from 1e6,0 to 1e6,1 nohead dt 3 lc rgb '#666666'\nset title 'Flow sizes on "
         "the two links, hash by size'\nplot "
         + lines(f, 2, "1:2:3", "link 1 (9-17)", COLOURS[1], "yerrorlines lw 2 pt 7 ps 0.5") + ", "
         + lines(f, 3, "1:2:3", "link 2 (9-18)", COLOURS[0],
                 "yerrorlines lw 2 pt 5 ps 0.5") + "\nunset multiplot")


def figure6(out, rows):
    data(out, "figure6", [("path, balanced MB, error, imbalanced MB, error, switches", rows)])
    f = "figure6.dat"
    plot(out, "figure6", "set style data histograms\nset style histogram errorbars gap 1.5 lw 1.5\n"
         "set style fill solid 0.85 border -1\n"
         "set boxwidth 0.9\nset ylabel 'MB'\nset yrange [0:*]\nset xlabel 'path of the flow (100 "
         "MB, packets sprayed)'\nset key top left\n"
         f"plot '{f}' using 2:3:xtic(sprintf('Path %d', $1)) lc rgb '{COLOURS[0]}' title "
         f"'balanced', "
         f"'{f}' using 4:5 lc rgb '{COLOURS[1]}' title 'imbalanced'")


def figure7(out, blocks, faults):
    data(out, "figure7", blocks)
    parts = []
    for title, column in (("Recall", 2), ("Precision", 4)):
        curves = [with_errors("figure7.dat", method * len(faults) + i, 1, COLOURS[i],
                              f"{name}, {n} fault{'s' if n > 1 else ''}", column,
                              "" if not method else "dt (8,5)")
                  for method, name in enumerate(("silent-drops", "max-coverage"))
                  for i, n in enumerate(faults)]
        parts.append(f"set title '{title}'\nset ylabel '{title.lower()}'\nplot "
                     + ", ".join(curves))
        parts.append("unset key")
    plot(out, "figure7", "set multiplot layout 1,2 margins 0.09,0.97,0.34,0.91 spacing 0.12\nset "
         "xlabel 'time, s'\nset logscale x\n"
         f"set xrange [0.2:{blocks[0][1][-1][0]:g}]\n" "set yrange [0:1.05]\nset key at screen 0.5,"
         "0.10 center maxrows 2 samplen 3\n" + "\n".join(parts)
         + "\nunset multiplot", 440)


def figure8(out, blocks, faults, seconds):
    data(out, "figure8", blocks)
    n, f, parts = len(faults), "figure8.dat", []
    for title, x, first in (("load 70 %", "loss rate, %", 0), ("1 % loss", "load, %", 2 * n)):
        curves = []
        for method, (name, style, point) in enumerate(
            (("silent-drops", "yerrorlines lw 2", (7, 5, 9)),
             ("max-coverage", "yerrorlines lw 1.5 dt (8,5)", (6, 4, 8)))):
            curves += [lines(f, first + method * n + i, "1:2:3",
                             f"{name}, {k} fault{'s' if k > 1 else ''}", COLOURS[i],
                             f"{style} pt {point[i]} ps 0.8") for i, k in enumerate(faults)]
        if not first:
            curves += [lines(f, 4 * n + i, "1:2", f"paper, {k} fault{'s' if k > 1 else ''}",
                             COLOURS[i], "points pt 2 ps 1.3 lw 2")
                       for i, k in enumerate(faults)]
        parts.append(f"set title '{title}'\nset xlabel '{x}'\nset xrange "
                     f"{'[0.7:4.3]' if not first else '[25:95]'}\nplot " + ", ".join(curves))
        parts.append("unset key")
    plot(out, "figure8", "set multiplot layout 1,2 margins 0.09,0.97,0.37,0.91 spacing 0.12\nset "
         "ylabel 's until recall = precision = 1'\n"
         f"set logscale y\nset yrange [0.1:120]\nset key at screen 0.5,0.12 center maxrows 3 "
         f"samplen 3\n"
         f"set label 1 'runs end at {seconds:g} s' at graph 0.02, first {seconds * 1.25:g} font ',"
         f"10' tc rgb '#666666'\n"
         f"set arrow 1 from graph 0, first {seconds:g} to graph 1, first {seconds:g} nohead dt 3 "
         f"lc rgb '#666666'\n"
         + "\n".join(parts) + "\nunset multiplot", 480)
