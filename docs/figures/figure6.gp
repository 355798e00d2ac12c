set terminal svg size 960,400 enhanced font 'Helvetica,13' background 'white'
set output 'figure6.svg'
set border 3 lw 1.2
set tics nomirror out
set grid lc rgb '#dddddd' lw 1
set style data histograms
set style histogram errorbars gap 1.5 lw 1.5
set style fill solid 0.85 border -1
set boxwidth 0.9
set ylabel 'MB'
set yrange [0:*]
set xlabel 'path of the flow (100 MB, packets sprayed)'
set key top left
plot 'figure6.dat' using 2:3:xtic(sprintf('Path %d', $1)) lc rgb '#0072B2' title 'balanced', 'figure6.dat' using 4:5 lc rgb '#D55E00' title 'imbalanced'
