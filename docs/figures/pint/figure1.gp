set terminal svg size 960,480 enhanced font 'Helvetica,13' background 'white'
set output 'figure1.svg'
set border 3 lw 1.2
set tics nomirror out
set grid lc rgb '#dddddd' lw 1
set key outside right
plot 'figure1.dat' index 0 using 1:2:3 with yerrorlines lw 2 pt 7 ps 0.6 lc rgb '#0072B2' title '0.3', 'figure1.dat' index 1 using 1:2:3 with yerrorlines lw 2 pt 7 ps 0.6 lc rgb '#D55E00' title '0.7'
