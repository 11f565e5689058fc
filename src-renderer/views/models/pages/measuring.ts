import { rows, type PageContent } from '../page.ts';

export const measuring: PageContent = {
  group: 'Measured',
  question: 'What is measured, and how sure is a measured time?',
  text: [
    'The measurement of a design runs a substitute for its kernel, the unit loop. The loop has the same units, the same layout of threads, blocks and slots, and an iteration made of the instructions, the serial part and the dependent loads that the study states. It contains everything that the prediction counts, but not what the study leaves out of the real kernel. A kernel of your own is measured by lockstep bench --kernel, and a program of your own by --exec.',
    'Each design is launched a few times to warm up, then as often as asked. Launch times are skewed: most agree, a few are disturbed, and none is faster than the device allows. So the median stands for a design. Its interval follows from the order of the repeats alone, without assuming a law. No repeat is discarded: outliers are counted and named, and a few of them do not move a median.',
    'The result of every unit is compared with the result on the CPU. A design with a wrong result has no time.',
  ],
  equations: rows`
    x_0 = \mathrm{mix}(i + 1), \qquad x_{k+1} = \mathrm{serial} \Bigl( \mathrm{loads} \bigl( x_k \oplus \bigoplus_{j=1}^{P} \mathrm{mix}(x_k + j \varphi) \bigr) \Bigr) :: One iteration of unit i: P steps that the u threads of a unit share and combine by log₂ u exchanges, then dependent loads, then steps that all threads do. The result does not depend on the design, so it can be checked.
    \Pr \bigl( T_{(l)} \le m \le T_{(r - l + 1)} \bigr) \ge 1 - 2 \sum_{k=0}^{l-1} \binom{r}{k} 2^{-r} \ge 0.95 :: Interval of the median m of r repeats: the number of repeats below it has the distribution of r tosses of a coin. At least six repeats are needed. :: David and Nagaraja, 7.1
    \lvert T_i - m \rvert > \max \bigl( 3.5 \cdot 1.4826 \cdot \mathrm{MAD}, \; 0.01 \, m \bigr) :: Outlier: a repeat that is far from the median, in units of the median absolute deviation, and by at least 1 %. :: Iglewicz and Hoaglin
    S = \sum_{i < j} \mathrm{sgn}(T_j - T_i) :: Trend: reported if independent repeats would give an S this large in less than one of a hundred cases. :: Mann 1945
    \delta = (r - 1) \; \operatorname*{median}_{i < j} \frac{T_j - T_i}{j - i} \Big/ m :: Drift from the first repeat to the last: reported where there is a trend and δ is 1 % or more. :: Sen 1968
  `,
  symbols: rows`
    T_i, T_{(i)} :: time of repeat i, and the i-th smallest of all :: ns
    m :: median of the repeats :: ns
    r :: repeats, without warm-ups
    x_k :: state of a unit after k iterations, a 32-bit word
    \varphi :: the word 9e3779b9, which spreads the steps
    P, u :: parallel steps of an iteration, and threads that share a unit
    \mathrm{MAD} :: median absolute deviation from the median :: ns
  `,
  validity: [
    'The interval covers what repeats show. It cannot distinguish a device that is slow throughout from a slow design.',
    'Repeats that depend on each other, for example while a clock falls, make the interval too narrow. Drift is then reported.',
    'The unit loop needs fewer registers than most kernels. With CUDA, it reserves shared memory until no more blocks are resident than predicted. With WebGPU, it cannot.',
    'The launch and its kernel are timed. Ordering the units beforehand is not timed, though predictions count it.',
    'A ranking shows a time only on the row of the device on which it was measured.',
  ],
  sources: rows`
    Lockstep. The unit loop and its order of units, the same for CUDA and WebGPU.
    Hoefler, Belli (2015). Scientific Benchmarking of Parallel Computing Systems. SC. :: 10.1145/2807591.2807644
    David, Nagaraja (2003). Order Statistics, 3rd edition, section 7.1 (the interval of the median). Wiley. :: 10.1002/0471722162
    Iglewicz, Hoaglin (1993). How to Detect and Handle Outliers. ASQC Quality Press.
    Mann (1945). Nonparametric Tests Against Trend. Econometrica 13. :: 10.2307/1907187
    Sen (1968). Estimates of the Regression Coefficient Based on Kendall’s Tau. Journal of the American Statistical Association 63. :: 10.1080/01621459.1968.10480934
  `,
};
