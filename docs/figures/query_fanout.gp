set terminal svg size 900,420 background 'white'
set output 'query_fanout.svg'
set multiplot layout 1,2
set key below maxrows 2
set grid
set xlabel 'hosts'
set ylabel 'ms'
set logscale y
set yrange [*:*]
set title 'measured: all hosts on two cores, wall'
plot 'query_fanout.dat' index 0 using 1:2 with linespoints title 'topFlows direct', 'query_fanout.dat' index 1 using 1:2 with linespoints title 'topFlows tree', 'query_fanout.dat' index 2 using 1:2 with linespoints title 'flowSizes direct', 'query_fanout.dat' index 3 using 1:2 with linespoints title 'flowSizes tree'
set logscale x
set title 'model: a machine to each host'
plot 'query_fanout.dat' index 4 using 1:2 with linespoints title 'topFlows direct', 'query_fanout.dat' index 4 using 1:3 with linespoints title 'topFlows tree', 'query_fanout.dat' index 5 using 1:2 with linespoints title 'flowSizes direct', 'query_fanout.dat' index 5 using 1:3 with linespoints title 'flowSizes tree'
unset multiplot
