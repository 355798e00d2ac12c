set terminal svg size 960,400 enhanced font 'Helvetica,13' background 'white'
set output 'figure5.svg'
set border 3 lw 1.2
set tics nomirror out
set grid lc rgb '#dddddd' lw 1
set multiplot layout 1,2 margins 0.09,0.97,0.17,0.88 spacing 0.12
set yrange [0:1]
set ylabel 'CDF'
set xlabel 'imbalance rate λ, %'
set xrange [0:100]
set key bottom right
set title 'Rate of two links in 5 s, for 10 min'
plot 'figure5.dat' index 0 using 1:($2-$3):($2+$3) with filledcurves fs transparent solid 0.18 noborder lc rgb '#D55E00' notitle, 'figure5.dat' index 0 using 1:2 with lines lw 2.5  lc rgb '#D55E00' title 'hash by size, at 1 MB', 'figure5.dat' index 1 using 1:($2-$3):($2+$3) with filledcurves fs transparent solid 0.18 noborder lc rgb '#0072B2' notitle, 'figure5.dat' index 1 using 1:2 with lines lw 2.5  lc rgb '#0072B2' title 'fair hash'
set xlabel 'flow size, bytes'
set logscale x
set format x '10^{%L}'
set xrange [1000:1e8]
set key top left Left reverse samplen 2 font ',11'
set arrow 1 from 1e6,0 to 1e6,1 nohead dt 3 lc rgb '#666666'
set title 'Flow sizes on the two links, hash by size'
plot 'figure5.dat' index 2 using 1:2:3 with yerrorlines lw 2 pt 7 ps 0.5 lc rgb '#D55E00' title 'link 1 (9-17)', 'figure5.dat' index 3 using 1:2:3 with yerrorlines lw 2 pt 5 ps 0.5 lc rgb '#0072B2' title 'link 2 (9-18)'
unset multiplot
