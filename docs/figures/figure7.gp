set terminal svg size 960,440 enhanced font 'Helvetica,13' background 'white'
set output 'figure7.svg'
set border 3 lw 1.2
set tics nomirror out
set grid lc rgb '#dddddd' lw 1
set multiplot layout 1,2 margins 0.09,0.97,0.34,0.91 spacing 0.12
set xlabel 'time, s'
set logscale x
set xrange [0.2:20]
set yrange [0:1.05]
set key at screen 0.5,0.10 center maxrows 2 samplen 3
set title 'Recall'
set ylabel 'recall'
plot 'figure7.dat' index 0 using 1:($2-$3):($2+$3) with filledcurves fs transparent solid 0.18 noborder lc rgb '#0072B2' notitle, 'figure7.dat' index 0 using 1:2 with lines lw 2.5  lc rgb '#0072B2' title 'silent-drops, 1 fault', 'figure7.dat' index 1 using 1:($2-$3):($2+$3) with filledcurves fs transparent solid 0.18 noborder lc rgb '#D55E00' notitle, 'figure7.dat' index 1 using 1:2 with lines lw 2.5  lc rgb '#D55E00' title 'silent-drops, 2 faults', 'figure7.dat' index 2 using 1:($2-$3):($2+$3) with filledcurves fs transparent solid 0.18 noborder lc rgb '#009E73' notitle, 'figure7.dat' index 2 using 1:2 with lines lw 2.5  lc rgb '#009E73' title 'silent-drops, 4 faults', 'figure7.dat' index 3 using 1:($2-$3):($2+$3) with filledcurves fs transparent solid 0.18 noborder lc rgb '#0072B2' notitle, 'figure7.dat' index 3 using 1:2 with lines lw 2.5 dt (8,5) lc rgb '#0072B2' title 'max-coverage, 1 fault', 'figure7.dat' index 4 using 1:($2-$3):($2+$3) with filledcurves fs transparent solid 0.18 noborder lc rgb '#D55E00' notitle, 'figure7.dat' index 4 using 1:2 with lines lw 2.5 dt (8,5) lc rgb '#D55E00' title 'max-coverage, 2 faults', 'figure7.dat' index 5 using 1:($2-$3):($2+$3) with filledcurves fs transparent solid 0.18 noborder lc rgb '#009E73' notitle, 'figure7.dat' index 5 using 1:2 with lines lw 2.5 dt (8,5) lc rgb '#009E73' title 'max-coverage, 4 faults'
unset key
set title 'Precision'
set ylabel 'precision'
plot 'figure7.dat' index 0 using 1:($4-$5):($4+$5) with filledcurves fs transparent solid 0.18 noborder lc rgb '#0072B2' notitle, 'figure7.dat' index 0 using 1:4 with lines lw 2.5  lc rgb '#0072B2' title 'silent-drops, 1 fault', 'figure7.dat' index 1 using 1:($4-$5):($4+$5) with filledcurves fs transparent solid 0.18 noborder lc rgb '#D55E00' notitle, 'figure7.dat' index 1 using 1:4 with lines lw 2.5  lc rgb '#D55E00' title 'silent-drops, 2 faults', 'figure7.dat' index 2 using 1:($4-$5):($4+$5) with filledcurves fs transparent solid 0.18 noborder lc rgb '#009E73' notitle, 'figure7.dat' index 2 using 1:4 with lines lw 2.5  lc rgb '#009E73' title 'silent-drops, 4 faults', 'figure7.dat' index 3 using 1:($4-$5):($4+$5) with filledcurves fs transparent solid 0.18 noborder lc rgb '#0072B2' notitle, 'figure7.dat' index 3 using 1:4 with lines lw 2.5 dt (8,5) lc rgb '#0072B2' title 'max-coverage, 1 fault', 'figure7.dat' index 4 using 1:($4-$5):($4+$5) with filledcurves fs transparent solid 0.18 noborder lc rgb '#D55E00' notitle, 'figure7.dat' index 4 using 1:4 with lines lw 2.5 dt (8,5) lc rgb '#D55E00' title 'max-coverage, 2 faults', 'figure7.dat' index 5 using 1:($4-$5):($4+$5) with filledcurves fs transparent solid 0.18 noborder lc rgb '#009E73' notitle, 'figure7.dat' index 5 using 1:4 with lines lw 2.5 dt (8,5) lc rgb '#009E73' title 'max-coverage, 4 faults'
unset key
unset multiplot
