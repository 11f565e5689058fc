import { rows, type PageContent } from '../page.ts';

export const agreement: PageContent = {
  group: 'Measured',
  question: 'How far can predictions be trusted, and what can measurements correct?',
  text: [
    'A tuner must find the fast designs. Exact milliseconds come second. So agreement is judged first by order: by rank correlations, and by the regret of measuring only the designs that the model ranks first. Errors of the times are stated with and without one common factor, which a wrong clock or kernel profile would explain.',
    'Regret alone looks good if all designs are alike. So the random equivalent is shown beside it: the number of designs that would have to be measured at random to find a design as fast. It is computed exactly from the measured times.',
    'Calibration fits what the study does not know of its kernel on this device: latency and issue cost of an iteration, softness of the knee, serial fraction, cost of cooperation, set-up of a unit and overhead of a launch. A parameter that the measured designs do not determine keeps its value, and a mark says so.',
  ],
  equations: rows`
    \rho = \mathrm{corr} \bigl( \mathrm{rank}(\hat T), \mathrm{rank}(T) \bigr) :: Rank correlation: 1 is the same order. :: Spearman 1904
    \tau_b = \frac{C - D}{\sqrt{(\Pi - \Pi_{\hat T})(\Pi - \Pi_T)}} :: Compares pairs of designs by which of the two is faster; 1 is the same order. :: Kendall 1945
    \mathrm{regret}(k) = \frac{\min_{i \in \mathrm{first}\,k} T_i}{\min_i T_i} - 1 :: What is lost by measuring only the model’s first k designs. The order of designs with equal predictions is undefined, so the mean over all their orders is taken.
    \mathbb{E} \bigl[ \min \text{ of } q \bigr] = \sum_{i=1}^{N-q+1} T_{(i)} \binom{N - i}{q - 1} \Big/ \binom{N}{q} :: Best of q designs drawn at random from the N measured ones. The random equivalent of k is the smallest q whose expected best is as good as the model’s first k.
    r_i = \ln \frac{T_i}{s \, \hat T_i}, \qquad s = \operatorname{median}_i \frac{T_i}{\hat T_i} :: Residual of a design, after one common scale.
    \varepsilon^2 = 1 - \frac{\mathrm{SS}_{\mathrm{within}} / (N - g)}{\mathrm{SS}_{\mathrm{all}} / (N - 1)} :: Share of the residuals’ variance that an axis with g values explains beyond chance: it shows where the model errs. :: Kelley 1935
    J(\theta) = \sum_i \frac{\varrho(q_i)}{1 + (e_i / \sigma)^2}, \qquad q_i = \ln \frac{\hat T_i(\theta)}{T_i} :: Calibration minimises J. Times measured with a larger error count less.
    \varrho(q) = \begin{cases} q^2 / 2 & \lvert q \rvert \le h = 1.345 \, \sigma \\ h \, ( \lvert q \rvert - h / 2 ) & \text{beyond} \end{cases} :: Huber’s loss: a few designs that the model cannot describe do not distort the fit of the others. :: Huber 1981
    J(\theta_j \text{ as before}) - J(\hat\theta) \le \tfrac{1}{2} \, \chi^2_{1;\,0.95} \, \hat\sigma^2 = 1.92 \, \hat\sigma^2 :: A parameter with a large standard error keeps its earlier value if that raises J by no more than this. Otherwise only a limit of the parameter is known.
  `,
  symbols: rows`
    T, \hat T :: measured and predicted time of a design :: ms
    C, D :: pairs of designs in the same order, and in opposite order
    \Pi, \Pi_T :: all pairs, and those tied in T
    N :: measured designs
    \theta :: what is fitted: c, τ, p, serial fraction, cooperation, overhead, set-up
    \sigma, \hat\sigma :: spread of the q, estimated from the median of their sizes, and by Huber’s loss
    e_i :: relative standard error of a measured time
    g :: values of an axis
  `,
  validity: [
    'Latency and issue cost scale all times together. They are separated only by measurements of designs with few and with many active thread groups. If all designs are saturated, latency keeps its value.',
    'Only designs near the knee show how soft it is.',
    'If all designs have the same threads per unit, the measurements show nothing about sharing. With two values, serial fraction and cooperation cost cannot be separated, and only the serial fraction is fitted.',
    'The overhead of a launch shows in the shortest launches. The set-up of a unit shows in launches of short units.',
    'The number of schedulers comes from the device and is never fitted. The cost of divergent branches comes from the divergent-loops suite, shared bandwidth from the contention suite.',
    'Rely on the error on designs that a fit had not seen. The error on the designs of the fit itself is too small.',
    'The figures describe the measured designs. Designs that a model ranks first are alike, and correlations among them are low even if the model is right. To judge the model, measure designs from best to worst; to find the best design, measure the first designs.',
  ],
  sources: rows`
    Spearman (1904). The Proof and Measurement of Association between Two Things. American Journal of Psychology 15(1), 72–101. :: 10.2307/1412159
    Kendall (1945). The Treatment of Ties in Ranking Problems. Biometrika 33. :: 10.1093/biomet/33.3.239
    Efron (1979). Bootstrap Methods: Another Look at the Jackknife (intervals of all figures, by resampling designs). Annals of Statistics 7. :: 10.1214/aos/1176344552
    Kelley (1935). An Unbiased Correlation Ratio Measure. Proceedings of the National Academy of Sciences 21. :: 10.1073/pnas.21.9.554
    Huber (1981). Robust Statistics. Wiley. :: 10.1002/0471725250
  `,
};
