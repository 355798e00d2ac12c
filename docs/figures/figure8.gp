set terminal svg size 960,480 enhanced font 'Helvetica,13' background 'white'
set output 'figure8.svg'
set border 3 lw 1.2
set tics nomirror out
set grid lc rgb '#dddddd' lw 1
set multiplot layout 1,2 margins 0.09,0.97,0.37,0.91 spacing 0.12
set ylabel 's until recall = precision = 1'
set logscale y
set yrange [0.1:120]
set key at screen 0.5,0.12 center maxrows 3 samplen 3
set label 1 'runs end at 20 s' at graph 0.02, first 25 font ',10' tc rgb '#666666'
set arrow 1 from graph 0, first 20 to graph 1, first 20 nohead dt 3 lc rgb '#666666'
set title 'load 70 %'
set xlabel 'loss rate, %'
set xrange [0.7:4.3]
plot 'figure8.dat' index 0 using 1:2:3 with yerrorlines lw 2 pt 7 ps 0.8 lc rgb '#0072B2' title 'silent-drops, 1 fault', 'figure8.dat' index 1 using 1:2:3 with yerrorlines lw 2 pt 5 ps 0.8 lc rgb '#D55E00' title 'silent-drops, 2 faults', 'figure8.dat' index 2 using 1:2:3 with yerrorlines lw 2 pt 9 ps 0.8 lc rgb '#009E73' title 'silent-drops, 4 faults', 'figure8.dat' index 3 using 1:2:3 with yerrorlines lw 1.5 dt (8,5) pt 6 ps 0.8 lc rgb '#0072B2' title 'max-coverage, 1 fault', 'figure8.dat' index 4 using 1:2:3 with yerrorlines lw 1.5 dt (8,5) pt 4 ps 0.8 lc rgb '#D55E00' title 'max-coverage, 2 faults', 'figure8.dat' index 5 using 1:2:3 with yerrorlines lw 1.5 dt (8,5) pt 8 ps 0.8 lc rgb '#009E73' title 'max-coverage, 4 faults', 'figure8.dat' index 12 using 1:2 with points pt 2 ps 1.3 lw 2 lc rgb '#0072B2' title 'paper, 1 fault', 'figure8.dat' index 13 using 1:2 with points pt 2 ps 1.3 lw 2 lc rgb '#D55E00' title 'paper, 2 faults', 'figure8.dat' index 14 using 1:2 with points pt 2 ps 1.3 lw 2 lc rgb '#009E73' title 'paper, 4 faults'
unset key
set title '1 % loss'
set xlabel 'load, %'
set xrange [25:95]
plot 'figure8.dat' index 6 using 1:2:3 with yerrorlines lw 2 pt 7 ps 0.8 lc rgb '#0072B2' title 'silent-drops, 1 fault', 'figure8.dat' index 7 using 1:2:3 with yerrorlines lw 2 pt 5 ps 0.8 lc rgb '#D55E00' title 'silent-drops, 2 faults', 'figure8.dat' index 8 using 1:2:3 with yerrorlines lw 2 pt 9 ps 0.8 lc rgb '#009E73' title 'silent-drops, 4 faults', 'figure8.dat' index 9 using 1:2:3 with yerrorlines lw 1.5 dt (8,5) pt 6 ps 0.8 lc rgb '#0072B2' title 'max-coverage, 1 fault', 'figure8.dat' index 10 using 1:2:3 with yerrorlines lw 1.5 dt (8,5) pt 4 ps 0.8 lc rgb '#D55E00' title 'max-coverage, 2 faults', 'figure8.dat' index 11 using 1:2:3 with yerrorlines lw 1.5 dt (8,5) pt 8 ps 0.8 lc rgb '#009E73' title 'max-coverage, 4 faults'
unset key
unset multiplot
