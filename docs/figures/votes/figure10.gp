set terminal svg size 960,400 enhanced font 'Helvetica,13' background 'white'
set output 'figure10.svg'
set border 3 lw 1.2
set tics nomirror out
set grid lc rgb '#dddddd' lw 1
set multiplot layout 1,2 margins 0.07,0.97,0.17,0.88 spacing 0.10
set yrange [0:1.05]
set offsets 0.3,0.3,0,0
set key bottom left
set xlabel 'loss'
set title 'precision'
plot 'figure10.dat' index 0 using 1:3:4:xtic(2) with yerrorlines lw 2 pt 7 ps 0.6 lc rgb '#0072B2' title 'votes', 'figure10.dat' index 1 using 1:3:4:xtic(2) with yerrorlines lw 2 pt 7 ps 0.6 lc rgb '#D55E00' title 'integer', 'figure10.dat' index 2 using 1:3:4:xtic(2) with yerrorlines lw 2 pt 7 ps 0.6 lc rgb '#009E73' title 'binary', 'figure10.dat' index 3 using 1:3:4:xtic(2) with yerrorlines lw 2 pt 7 ps 0.6 lc rgb '#CC79A7' title 'evidence'
set title 'recall'
plot 'figure10.dat' index 0 using 1:5:6:xtic(2) with yerrorlines lw 2 pt 7 ps 0.6 lc rgb '#0072B2' title 'votes', 'figure10.dat' index 1 using 1:5:6:xtic(2) with yerrorlines lw 2 pt 7 ps 0.6 lc rgb '#D55E00' title 'integer', 'figure10.dat' index 2 using 1:5:6:xtic(2) with yerrorlines lw 2 pt 7 ps 0.6 lc rgb '#009E73' title 'binary', 'figure10.dat' index 3 using 1:5:6:xtic(2) with yerrorlines lw 2 pt 7 ps 0.6 lc rgb '#CC79A7' title 'evidence'
unset multiplot
