import type { Component } from 'svelte';
import BalancingDemo from './demos/BalancingDemo.svelte';
import CompositeDemo from './demos/CompositeDemo.svelte';
import ContentionDemo from './demos/ContentionDemo.svelte';
import DivergenceDemo from './demos/DivergenceDemo.svelte';
import GranularityDemo from './demos/GranularityDemo.svelte';
import HasanDemo from './demos/HasanDemo.svelte';
import ImbalanceDemo from './demos/ImbalanceDemo.svelte';
import KimDemo from './demos/KimDemo.svelte';
import OccupancyDemo from './demos/OccupancyDemo.svelte';
import SimulatorDemo from './demos/SimulatorDemo.svelte';
import SoftSaturationDemo from './demos/SoftSaturationDemo.svelte';

export interface Equation {
  /** KaTeX source. */
  readonly tex: string;
  /** What it says, in one sentence. */
  readonly text: string;
  /** Number in its source: `Eq. 7–11`; empty where the equation is ours. */
  readonly number?: string;
}

export interface ModelSymbol {
  readonly tex: string;
  readonly meaning: string;
  /** `1` for a ratio or count. */
  readonly unit: string;
}

export interface Source {
  readonly authors: string;
  readonly year: string;
  readonly title: string;
  readonly where: string;
  readonly doi?: string;
}

/** One page of the Models view. A model is added to the view by adding its page to `MODEL_PAGES`. */
export interface ModelPage {
  readonly id: string;
  readonly label: string;
  /** Heading in the list. */
  readonly group: 'Lockstep' | 'Device' | 'Whole' | 'Measured';
  /** The question it answers. */
  readonly question: string;
  readonly text: readonly string[];
  readonly sources: readonly Source[];
  readonly equations: readonly Equation[];
  readonly symbols: readonly ModelSymbol[];
  /** Where it holds, and where not. */
  readonly validity: readonly string[];
  /** Where the source disagrees with itself, and what is done about it. */
  readonly contradictions?: readonly string[];
  /** Reproduction tables that belong to it: the paper's short name and what its table's title matches. */
  readonly tables?: { readonly paper: string; readonly title?: RegExp };
  readonly demo?: Component;
}

const SWATMAN: Source = {
  authors: 'Swatman, Varbanescu, Krasznahorkay, Pimentel',
  year: '2022',
  title: 'Modelling Performance Loss due to Thread Imbalance in Stochastic Variable-Length SIMT Workloads',
  where: 'MASCOTS',
  doi: '10.1109/MASCOTS56607.2022.00026',
};
const HASAN: Source = {
  authors: 'Hasan, Chatterjee, Radhakrishnan, Antonio',
  year: '2014',
  title: 'Performance Prediction Model and Analysis for Compute-Intensive Tasks on GPUs',
  where: 'NPC',
  doi: '10.1007/978-3-662-44917-2_65',
};
const KIM: Source = {
  authors: 'Kim',
  year: 'undated',
  title: 'GPGPU Performance Modeling using Microbenchmarks',
  where: 'poster, Seoul National University',
};
const OURS = (what: string, doi?: string): Source => ({
  authors: 'Lockstep',
  year: '',
  title: what,
  where: '',
  ...(doi && { doi }),
});

export const MODEL_PAGES = [
  {
    id: 'imbalance',
    label: 'Imbalance',
    group: 'Lockstep',
    question: 'How much time do lanes spend waiting for the longest unit of their group?',
    text: [
      'Units that run in lockstep all take as long as the longest of them. The loss of a group is that time over the time its units would need one by one: 1 is no loss.',
      'Two averages of it are in use, and they answer different questions. The mean loss asks each group for its loss and averages the answers: a short group counts as much as a long one. The aggregate loss divides all the lockstep time by all the work: it is what a long-running launch pays, and what the prediction of times uses.',
    ],
    sources: [SWATMAN],
    equations: [
      {
        tex: 'H(w) = \\frac{n \\, \\max(w)}{\\sum_{i=1}^{n} w_i}',
        text: 'Loss of one group of n units.',
        number: 'Eq. 5',
      },
      {
        tex: '\\mathbb{E}[X_W(n)] = n \\int_0^\\infty \\sum_{a < A} \\bigl[ H_A(s) - H_a(s) \\bigr] \\, \\mathrm{d}s, \\qquad H_a(s) = \\Bigl( \\sum_{j \\le a} f(j) \\, e^{-js} \\Bigr)^{n}',
        text: 'Mean loss without the distribution: one over the sum is written as an integral, and the maximum factorises under it. Ours; the paper convolves.',
      },
      {
        tex: 'L_{\\mathrm{agg}}(n) = \\frac{\\mathbb{E}[W_{(n:n)}]}{\\mathbb{E}[W]} = \\frac{\\sum_{v \\ge 0} \\bigl( 1 - F(v)^n \\bigr)}{\\mathbb{E}[W]}',
        text: 'Aggregate loss: expected longest unit over expected unit.',
      },
    ],
    symbols: [
      { tex: 'W', meaning: 'length of a unit of work, a random number of iterations', unit: 'iterations' },
      { tex: 'f, F', meaning: 'probability of a length, and of at most that length', unit: '1' },
      { tex: 'n', meaning: 'units that run in lockstep', unit: '1' },
      { tex: 'A', meaning: 'largest length of the law', unit: 'iterations' },
      { tex: 'X_W(n)', meaning: 'loss of a group of n independent units', unit: '1' },
    ],
    validity: [
      'Units are independent draws of one law: neighbours of similar length lose less than it says, sorted ones far less.',
      'Every iteration costs the same, and lanes meet again after every unit.',
      'Infinite laws are cut where a millionth of the probability is left; the cut is reported.',
      'The samples behind the paper’s Figure 3 are not public, so that comparison cannot be repeated; those behind Figure 2 are, in part.',
    ],
    tables: { paper: 'swatman' },
    demo: ImbalanceDemo,
  },
  {
    id: 'granularity',
    label: 'Granularity',
    group: 'Lockstep',
    question: 'How many threads should share one unit?',
    text: [
      'Sharing a unit among threads leaves fewer units in a group, so less waiting; but part of each iteration stays serial, and the threads must combine their results. The lane cost puts both into one number, and its minimum is the choice.',
    ],
    sources: [SWATMAN, OURS('Cost of sharing a unit, after Amdahl (1967)', '10.1145/1465482.1465560')],
    equations: [
      { tex: 'n = \\omega / u', text: 'Threads that share a unit leave fewer units per group.' },
      {
        tex: '\\varphi(u) = \\frac{1 - \\sigma}{u} + \\sigma + \\kappa \\log_2 u',
        text: 'Time of an iteration shared by u threads, over that of one thread.',
      },
      {
        tex: 'C(u) = L(\\omega / u) \\cdot u \\, \\varphi(u)',
        text: 'Lane cost: lane iterations spent for each iteration of work.',
      },
    ],
    symbols: [
      { tex: 'u', meaning: 'threads that share one unit, a power of two', unit: '1' },
      { tex: '\\omega', meaning: 'lanes of a thread group', unit: '1' },
      { tex: '\\sigma', meaning: 'part of an iteration that does not speed up', unit: '1' },
      { tex: '\\kappa', meaning: 'cost of one cooperation step, in iterations', unit: '1' },
      { tex: 'L(n)', meaning: 'loss of a group of n units', unit: '1' },
    ],
    validity: [
      'The serial part does not depend on u: a loop with too few independent steps for u threads is not covered.',
      'Cooperation is a tree of log₂ u equal steps.',
      'Registers and memory per thread are taken to stay as they are.',
    ],
    demo: GranularityDemo,
  },
  {
    id: 'balancing',
    label: 'Balancing',
    group: 'Lockstep',
    question: 'What does ordering the units before the launch save?',
    text: [
      'Groups of like units wait less. Buckets draw each group from one part of the lengths; a window sort puts neighbours in order; a full sort is its limit; dynamic fetch hands a lane its next unit as soon as it is done. Each has a price in bytes moved, passes or atomics, which the prediction adds.',
    ],
    sources: [
      OURS('Window sort exactly by binomial order statistics; best buckets by dynamic programming'),
      {
        authors: 'Adinets, Merrill',
        year: '2022',
        title: 'Onesweep: a faster least significant digit radix sort for GPUs',
        where: 'arXiv:2206.01784',
      },
    ],
    equations: [
      {
        tex: '\\mathbb{E}[M_i] = \\sum_{x \\ge 0} \\Pr \\bigl( \\mathrm{Bin}(M, F(x)) < i \\, n \\bigr)',
        text: 'Expected longest unit of the i-th group of a sorted window of M units.',
      },
      {
        tex: 'L_k = \\frac{1}{\\mathbb{E}[W]} \\sum_{b=1}^{k} p_b \\, \\mathbb{E}\\bigl[ W^{(b)}_{(n:n)} \\bigr]',
        text: 'Aggregate loss with k buckets: each bucket has its own, narrower law.',
      },
    ],
    symbols: [
      { tex: 'M', meaning: 'units of a window', unit: '1' },
      { tex: 'k', meaning: 'number of buckets', unit: '1' },
      { tex: 'p_b', meaning: 'share of the units in bucket b', unit: '1' },
      { tex: 'W^{(b)}', meaning: 'length of a unit of bucket b', unit: 'iterations' },
    ],
    validity: [
      'Sorting and buckets need lengths that are known before the launch; dynamic fetch does not.',
      'Dynamic fetch is an approximation: units end independently of each other.',
      'Passes are taken to run at the full bandwidth of the memory: their price is a lower bound.',
    ],
    demo: BalancingDemo,
  },
  {
    id: 'divergence',
    label: 'Divergence stack',
    group: 'Lockstep',
    question: 'What does the reconvergence stack of older devices cost?',
    text: [
      'Before independent thread scheduling, a thread group kept the lanes that had left a loop on a stack. A few entries are fast; beyond them, chunks spill to memory and come back. Each divergent branch and each spill has a price in cycles.',
      'A token on the stack says which lanes wait (its mask), why (SYNC: to meet again, DIV: they left by a branch) and where they go on. The last instruction of a loop carries a pop-bit: it runs once for every token, and that is the extra work one can count.',
    ],
    sources: [
      {
        authors: 'Bialas, Strzelecki',
        year: '2015',
        title: 'Benchmarking the cost of thread divergence in CUDA',
        where: 'arXiv:1504.01650',
      },
    ],
    equations: [
      { tex: '\\Delta t = c_d \\, N_d + c_s \\, N_s', text: 'Cycles the stack adds to a run.' },
      { tex: '\\mathrm{pushes}_1(n) = n + 1', text: 'A single loop that n lanes leave one after another.' },
      {
        tex: '\\mathrm{pushes}_2(n) = \\tfrac{1}{2} n (65 - n) + 33',
        text: 'Two nested loops, as the paper measures them.',
      },
      {
        tex: 'N_s = \\max \\Bigl( 0, \\Bigl\\lceil \\frac{n + 1 - 16}{4} \\Bigr\\rceil \\Bigr)',
        text: 'Spills of the single loop: sixteen entries on chip, moved four at a time.',
      },
      {
        tex: '\\mathbb{E}[N_d] = \\sum_x \\bigl( 1 - (1 - f(x))^n \\bigr) - 1',
        text: 'Divergent branches when n lanes draw their lengths from a law: lanes of equal length leave together. Ours.',
      },
    ],
    symbols: [
      { tex: 'N_d, N_s', meaning: 'divergent branches; chunks spilled and loaded', unit: '1' },
      { tex: 'c_d', meaning: 'cost of a divergent branch: 32 on Kepler', unit: 'cycles' },
      { tex: 'c_s', meaning: 'cost of a spill and its load: 84 on Kepler', unit: 'cycles' },
      { tex: 'n', meaning: 'lanes that diverge', unit: '1' },
    ],
    validity: [
      'Kepler and Maxwell were measured. Pascal is taken to cost what Maxwell costs; before Kepler no costs were published.',
      'Devices with independent thread scheduling, Volta and later, keep no such stack and pay none of this. Their lanes still wait for each other: that is the imbalance loss.',
      'Loops that lanes leave at different times. Calls and switches push tokens of their own, which the emulator does not play.',
    ],
    contradictions: [
      'A divergent branch costs 26 cycles on Maxwell in the fit and 24 in the summary. The fit is used, the other is offered by name.',
      'The emulator is off by up to 76 cycles from the measured double loop in the paper’s own comparison, always at a spill: what a spill costs depends on the spills before it, which one constant cannot say.',
    ],
    tables: { paper: 'bialas' },
    demo: DivergenceDemo,
  },
  {
    id: 'occupancy',
    label: 'Occupancy',
    group: 'Device',
    question: 'How many blocks live on a multiprocessor at a time, and what keeps more out?',
    text: [
      'Each block takes slots, registers and shared memory, in the portions the hardware hands out. The scarcest sets the number of resident blocks. More of them hide latency, up to the knee; beyond it, occupancy buys nothing.',
    ],
    sources: [
      {
        authors: 'NVIDIA',
        year: '2025',
        title: 'cuda_occupancy.h, compute capabilities 3.5 to 12.1',
        where: 'CUDA Toolkit 13.0',
      },
      {
        authors: 'AMD',
        year: '2025',
        title: 'Register and LDS allocation of GCN, CDNA and RDNA',
        where: 'ISA guides; see the catalogue',
      },
    ],
    equations: [
      {
        tex: 'R = \\min \\Bigl( N_b, \\; \\Bigl\\lfloor \\frac{N_w}{W_b} \\Bigr\\rfloor, \\; \\Bigl\\lfloor \\frac{R_{\\mathrm{SM}}}{\\lceil r \\rceil W_b} \\Bigr\\rfloor, \\; \\Bigl\\lfloor \\frac{S_{\\mathrm{SM}}}{\\lceil s \\rceil} \\Bigr\\rfloor \\Bigr)',
        text: 'Resident blocks; the ceilings stand for the portions in which a device allocates, which differ by family.',
      },
      { tex: '\\mathrm{occupancy} = R \\, W_b / N_w', text: 'Resident thread groups over slots.' },
    ],
    symbols: [
      { tex: 'R', meaning: 'resident blocks of a multiprocessor', unit: '1' },
      { tex: 'W_b', meaning: 'thread groups of a block', unit: '1' },
      { tex: 'N_b, N_w', meaning: 'slots for blocks and for thread groups', unit: '1' },
      { tex: 'r, s', meaning: 'registers of a thread group; shared memory of a block', unit: '1, bytes' },
      {
        tex: 'R_{\\mathrm{SM}}, S_{\\mathrm{SM}}',
        meaning: 'registers and shared memory of a multiprocessor',
        unit: '1, bytes',
      },
    ],
    validity: [
      'NVIDIA: equal to the vendor’s own calculator for every compute capability from 3.5 to 12.1.',
      'AMD: by the published granularities. Scalar registers count only where a kernel states them.',
      'A device without known rules is held to its hard limits, without rounding.',
    ],
    demo: OccupancyDemo,
  },
  {
    id: 'hasan',
    label: 'Efficiency (Hasan)',
    group: 'Device',
    question: 'How does efficiency fall as blocks outnumber what is resident?',
    text: [
      'A published model of execution efficiency from the numbers of blocks and threads alone. It is kept as printed, and so is its disagreement with the table printed beside it: the equations are off by 7.9 points of efficiency on average.',
    ],
    sources: [HASAN],
    equations: [
      {
        tex: '\\xi_{rb} = \\max \\Bigl( 1, \\Bigl\\lceil \\frac{B}{\\rho_b \\, \\rho_{sm}} \\Bigr\\rceil \\Bigr) \\, \\tau',
        text: 'Time from the waves of resident blocks.',
        number: 'Eq. 1',
      },
      {
        tex: '\\xi_{rw} = \\frac{B \\, T}{\\rho_w \\, \\sigma_w \\, \\rho_{sm}} \\, \\tau',
        text: 'Time from the resident thread groups; no ceiling is printed.',
        number: 'Eq. 2',
      },
      {
        tex: '\\kappa = \\frac{\\tau}{\\xi_{rb} + \\xi_{rw}}',
        text: 'Execution efficiency; while all threads fit at once, the first term is τ.',
        number: 'Eq. 3',
      },
    ],
    symbols: [
      { tex: 'B, T', meaning: 'blocks, and threads of a block', unit: '1' },
      { tex: '\\rho_{sm}', meaning: 'multiprocessors', unit: '1' },
      { tex: '\\rho_b, \\rho_w', meaning: 'resident blocks and thread groups of a multiprocessor, at most', unit: '1' },
      { tex: '\\sigma_w', meaning: 'lanes of a thread group', unit: '1' },
      { tex: '\\tau', meaning: 'time of the launch when nothing waits', unit: 'ms' },
    ],
    validity: [
      'Compute-bound kernels with equal blocks, on the one device of the paper, a Kepler K20.',
      'Not used for predictions here; the soft-saturation waves describe the same table within 1.3 %.',
    ],
    contradictions: [
      'The paper states an error of 0.13 to 5.69 %. Its printed equations miss its printed table by 7.9 points of efficiency on average and 32 at most.',
      'The second equation prints no ceiling, although thread groups are whole; as printed, efficiency falls from the first thread on, where the table is flat.',
      'The caption of its Figure 2 gives the two axes each other’s range: no block has 1,248 threads.',
    ],
    tables: { paper: 'hasan', title: /as printed/ },
    demo: HasanDemo,
  },
  {
    id: 'kim',
    label: 'Scheduler (Kim)',
    group: 'Device',
    question: 'What does a launch cost in whole waves of blocks?',
    text: [
      'A structural model: a limit checker, a block scheduler that fills the slots wave by wave, state buffers that bound the slots, and functional units that set the time of a wave. Lockstep keeps its scheduler and replaces its functional units by a softer law.',
    ],
    sources: [KIM],
    equations: [
      {
        tex: 'b = \\lceil B / \\omega \\rceil, \\qquad g = \\lceil G / n_{mp} \\rceil',
        text: 'Thread groups of a block, and blocks of a multiprocessor.',
      },
      {
        tex: 'T(g, b) = \\Bigl\\lfloor \\frac{g}{N_{\\mathrm{slot}}} \\Bigr\\rfloor fu(b \\, N_{\\mathrm{slot}}) + fu \\bigl( b \\, (g \\bmod N_{\\mathrm{slot}}) \\bigr)',
        text: 'Full waves, then what is left.',
      },
      {
        tex: 'N_{\\mathrm{slot}} = \\min \\Bigl( N_1, \\Bigl\\lfloor \\frac{N_2}{b} \\Bigr\\rfloor, \\Bigl\\lfloor \\frac{S}{s} \\Bigr\\rfloor, \\Bigl\\lfloor \\frac{R_i}{r_i \\, b} \\Bigr\\rfloor \\Bigr)',
        text: 'State buffers: slots for blocks and thread groups, shared memory, each register file; s and r as the hardware hands them out.',
      },
      {
        tex: 'B \\le L_{TB}, \\quad B \\, G \\le L_{TG}, \\quad S \\le L_{SB}, \\quad r_i \\le L_{RT}, \\quad b \\, r_i \\le L_{RB}',
        text: 'Limit checker: a launch that breaks one is refused.',
      },
      {
        tex: 'fu(c) = \\max_u \\Bigl\\lceil \\frac{\\Sigma_u}{m_u \\, p} \\Bigr\\rceil \\Bigl\\lceil \\frac{c}{s_u} \\Bigr\\rceil',
        text: 'The slowest functional unit for c thread groups; brackets read as ceilings.',
      },
    ],
    symbols: [
      { tex: 'G, B', meaning: 'blocks of the grid, threads of a block', unit: '1' },
      { tex: 'n_{mp}', meaning: 'multiprocessors', unit: '1' },
      { tex: 'N_{\\mathrm{slot}}', meaning: 'blocks resident at once', unit: '1' },
      { tex: 'N_1, N_2', meaning: 'slots for blocks and for thread groups', unit: '1' },
      { tex: 'S, R_i', meaning: 'shared memory and registers of file i of a multiprocessor', unit: 'bytes, 1' },
      { tex: 'L', meaning: 'limits of a block, a grid and a thread', unit: '1' },
      { tex: '\\Sigma_u', meaning: 'cycles of unit u that the kernel needs', unit: 'cycles' },
      { tex: 'm_u, s_u, p', meaning: 'units of a kind, thread groups per issue, partitions', unit: '1' },
    ],
    validity: [
      'Equal blocks that start and end together; no latency that other thread groups could hide.',
      'The poster prints no numbers to compare with: the tables check what its formulas imply.',
      'Devices of the catalogue get two functional units, arithmetic and device memory; caches and clocks are not in it.',
    ],
    contradictions: [
      'The brackets of the functional units print as floors; a unit wider than what it is given would then take no time at all. They are read as ceilings.',
      'Shared memory and registers are divided by the smallest allocation, although a block may need several of them. What is divided by here is the allocation that holds the block.',
    ],
    tables: { paper: 'kim' },
    demo: KimDemo,
  },
  {
    id: 'soft-saturation',
    label: 'Soft saturation',
    group: 'Device',
    question: 'How fast does a multiprocessor go with w active thread groups?',
    text: [
      'With few thread groups an iteration takes its latency, whatever their number. With many, the multiprocessor issues for each in turn and time grows with them. The knee between the two is soft. Four numbers describe a kernel on a device; they are derived from data sheets, or fitted to a measured grid of launches.',
    ],
    sources: [OURS('Law of the rate; waves after Kim’s block scheduler, data of Hasan and others'), HASAN],
    equations: [
      {
        tex: 'fu(w) = \\Bigl( \\tau^p + \\bigl( c \\, q \\lceil w / q \\rceil \\bigr)^p \\Bigr)^{1/p}',
        text: 'Cycles in which each of w active thread groups advances by one iteration.',
      },
      { tex: 'w_{\\mathrm{knee}} = \\tau / c', text: 'From here on, issue sets the pace.' },
    ],
    symbols: [
      { tex: 'w', meaning: 'active thread groups of a multiprocessor', unit: '1' },
      { tex: '\\tau', meaning: 'latency of one iteration executed alone', unit: 'cycles' },
      { tex: 'c', meaning: 'issue cost of one iteration of one thread group', unit: 'cycles' },
      { tex: 'q', meaning: 'schedulers, served in whole rounds', unit: '1' },
      { tex: 'p', meaning: 'softness of the knee; infinite is a sharp one', unit: '1' },
    ],
    validity: [
      'One kernel at a time, whose iterations are alike.',
      'Caches shared between thread groups are not in it: more residency never hurts here.',
      'Derived τ assumes no parallelism between instructions; a fit or a critical path in the profile corrects that.',
    ],
    tables: { paper: 'hasan', title: /soft-saturation/ },
    demo: SoftSaturationDemo,
  },
  {
    id: 'contention',
    label: 'Memory contention',
    group: 'Device',
    question: 'What does uneven work cost cores that share one memory?',
    text: [
      'Cores with little work end early and leave the bandwidth to the others, but one core alone cannot use it all. Imbalance then costs less than the longest core suggests under contention, and more than none. Fewer cores can be faster.',
    ],
    sources: [
      {
        authors: 'Langguth, Cai, Trotter',
        year: 'undated',
        title: 'Modelling Load Imbalance in Shared Memory Multicore Systems',
        where: 'slides, Simula',
      },
    ],
    equations: [
      { tex: 'K = \\lceil \\rho / \\beta \\rceil', text: 'Cores that use the whole bandwidth.' },
      {
        tex: 'T = \\frac{\\sum_{i > K} M_i + K M_K}{\\rho} + \\frac{M_1 - M_K}{\\beta}',
        text: 'Two phases: all of the bandwidth, then the longest core at its own.',
      },
      {
        tex: 'T = \\sum_{i=1}^{P} \\frac{i \\, (M_i - M_{i+1})}{\\mathrm{BW}_i}',
        text: 'Staircase: while i cores are active, each moves an even share of what i cores get.',
      },
      {
        tex: 'T_{\\mathrm{tab}} = \\frac{\\sum M - (M_1 - M_K)}{\\rho} + \\frac{M_1 - M_K}{\\beta}',
        text: 'What the printed table of triangular work was computed with.',
      },
      {
        tex: 'T_{\\mathrm{full}} = M_1 P / \\rho, \\quad T_{\\mathrm{none}} = M_1 / \\beta, \\quad T_{\\mathrm{even}} = \\textstyle \\sum M / \\rho',
        text: 'The simpler bounds around it.',
      },
    ],
    symbols: [
      { tex: 'M_1 \\ge M_2 \\ge \\dots', meaning: 'bytes each core moves, largest first', unit: 'bytes' },
      { tex: '\\beta, \\rho', meaning: 'bandwidth of one core, and of all', unit: 'GB/s' },
      { tex: '\\mathrm{BW}_i', meaning: 'bandwidth of i active cores together', unit: 'GB/s' },
      { tex: 'P', meaning: 'cores', unit: '1' },
    ],
    validity: [
      'Memory-bound loops on multicore CPUs; bandwidth shared evenly by the active cores.',
      'The bandwidth of i cores is taken as min(iβ, ρ) unless it was measured; on that curve staircase and two-phase are the same.',
      'One memory: cores on different sockets with memories of their own are not covered.',
    ],
    contradictions: [
      'The printed column of the triangular workload does not follow the printed formula: it counts the work above the K-th core of cores 2 to K in the first phase. Both are offered by name; the tables use the one that gives the printed numbers.',
      'For the Epyc 7302P the slides list K = 5, where ρ/β rounds up to 4. The printed bandwidth follows the one, its printed error and share of the first phase the other.',
    ],
    tables: { paper: 'langguth' },
    demo: ContentionDemo,
  },
  {
    id: 'composite',
    label: 'Composite prediction',
    group: 'Whole',
    question: 'How long does a design take on a device?',
    text: [
      'Everything else meets here. All resident thread groups of a multiprocessor advance at one rate, so time can be counted in iterations: in that clock each slot is a renewal process of block depths, whatever the speeds. The number of active thread groups along it gives the rate, and the integral of the rate is the time.',
    ],
    sources: [OURS('Renewal of block depths in virtual time, judged by an event simulation')],
    equations: [
      {
        tex: 'T = \\int_0^{\\infty} t \\bigl( w(v) \\bigr) \\, \\mathrm{d}v',
        text: 'Time of a launch: the rate along virtual time.',
      },
      { tex: '\\Pr(B > v) = 1 - F(v)^{\\, n W_b}', text: 'Depth of a block: the longest of all its units.' },
      {
        tex: 'w(v) = R \\, W_b \\, S(v) \\qquad \\text{(one wave)}',
        text: 'Active thread groups when all blocks start together; its variance is binomial.',
      },
      {
        tex: 'T \\approx \\Bigl( \\frac{G}{M R} \\, \\mathbb{E}[B] - \\mathbb{E}[B_{\\mathrm{res}}] \\Bigr) \\mathbb{E}[t(w)] + T_{\\mathrm{drain}}',
        text: 'Many waves: a steady state, then a drain.',
      },
    ],
    symbols: [
      { tex: 'v', meaning: 'virtual time', unit: 'iterations' },
      { tex: 't(w)', meaning: 'cycles of an iteration with w active thread groups', unit: 'cycles' },
      {
        tex: 'B, B_{\\mathrm{res}}',
        meaning: 'depth of a block, and what is left of it at a random moment',
        unit: 'iterations',
      },
      { tex: 'S(v)', meaning: 'probability that a group still runs at v', unit: '1' },
      { tex: 'G, M, R, W_b', meaning: 'blocks, multiprocessors, resident blocks, thread groups of a block', unit: '1' },
    ],
    validity: [
      'Blocks go to free slots in order, and a slot is free when the last thread group of its block ends.',
      'Its error is stated as a band: designs closer than that are ties, not a ranking.',
      'No caches, no clock changes, no other work on the device: measure before trusting absolute times.',
    ],
    demo: CompositeDemo,
  },
  {
    id: 'simulator',
    label: 'Simulator',
    group: 'Whole',
    question: 'What does a launch do, block by block?',
    text: [
      'The judge of the composite prediction. It plays a launch event by event: blocks are dispatched in order to free slots, the resident thread groups of a multiprocessor share its pace, and a slot is free again only when the last group of its block has ended.',
      'Nothing in it is averaged: depths are drawn, and the time of a launch is itself a random number. So it says what the prediction cannot, how far single launches scatter; and it costs milliseconds where the prediction costs less than one of them.',
    ],
    sources: [
      OURS('Event simulation of a device in the virtual time of each multiprocessor'),
      {
        authors: 'Blackman, Vigna',
        year: '2021',
        title: 'Scrambled linear pseudorandom number generators (the streams of random numbers)',
        where: 'ACM Transactions on Mathematical Software 47',
        doi: '10.1145/3460772',
      },
    ],
    equations: [
      {
        tex: '\\frac{\\mathrm{d} v_m}{\\mathrm{d} t} = \\frac{1}{t(w_m)}',
        text: 'A multiprocessor’s own clock, in iterations: with w active groups, one iteration of all of them takes t(w) cycles.',
      },
      {
        tex: 'v_{\\mathrm{end}} = v_{\\mathrm{start}} + D, \\qquad \\Pr(D > v) = 1 - F(v)^{\\, n}',
        text: 'In that clock a group ends D iterations after it started, whatever the others do: between two ends of blocks a multiprocessor is on its own.',
      },
      {
        tex: 'v_{\\mathrm{free}} = \\max_{i \\le W_b} v_{\\mathrm{end}, i}, \\qquad T = \\max_m t_{\\mathrm{end}, m}',
        text: 'A slot is free when the last group of its block ends; the launch takes until the last group of all.',
      },
      {
        tex: 'T_{\\mathrm{ideal}} = \\max \\Bigl( 1, \\frac{G}{M R} \\Bigr) \\, \\mathbb{E}[W] \\; t \\bigl( W_b \\min(R, \\lceil G / M \\rceil) \\bigr)',
        text: 'The ideal drawn beside it: no lane waits for another, and no slot that could be used is ever empty.',
      },
    ],
    symbols: [
      { tex: 'v_m', meaning: 'virtual time of multiprocessor m', unit: 'iterations' },
      { tex: 'w_m', meaning: 'its active thread groups', unit: '1' },
      { tex: 't(w)', meaning: 'cycles of an iteration with w active thread groups', unit: 'cycles' },
      { tex: 'D', meaning: 'depth of a thread group: its longest unit', unit: 'iterations' },
      { tex: 'n, F', meaning: 'units of a thread group, and the law of their lengths', unit: '1' },
      { tex: 'G, M, R, W_b', meaning: 'blocks, multiprocessors, resident blocks, thread groups of a block', unit: '1' },
    ],
    validity: [
      'Slots that free at the same instant are all free before any is filled; they are filled one per multiprocessor in turn. Work without imbalance therefore runs in whole waves, dealt evenly.',
      'Dispatch takes no time here. Caches, clocks and other work on the device are not played.',
      'With heavy tails few launches prove nothing: the rare long unit may not have come yet. The interval of the mean says how well it is known.',
    ],
    demo: SimulatorDemo,
  },
  {
    id: 'measuring',
    label: 'Measuring',
    group: 'Measured',
    question: 'What is measured, and how sure is a measured time?',
    text: [
      'What is measured of a design is a stand-in for its kernel, the unit loop: the same units, the same layout of threads, blocks and slots, and an iteration made of the instructions, serial part and dependent loads that the study states. Everything the prediction counts is in it; what the study does not say of the real kernel is not. A kernel of your own is measured by importing its times.',
      'Each design is launched a few times to warm up, then as often as was asked for. Times of launches are skewed: most agree, a few are disturbed and none is ever faster than the device. So the median stands for a design, and its interval comes from the order of the repeats alone, without assuming a law. Nothing is thrown away: outliers are counted and named, and a median does not move for a few of them.',
      'The result of every unit is compared with that of the CPU. A design with a wrong result has no time.',
    ],
    sources: [
      OURS('The unit loop and its order of units, the same for CUDA and WebGPU'),
      {
        authors: 'Hoefler, Belli',
        year: '2015',
        title: 'Scientific Benchmarking of Parallel Computing Systems',
        where: 'SC',
        doi: '10.1145/2807591.2807644',
      },
      {
        authors: 'David, Nagaraja',
        year: '2003',
        title: 'Order Statistics, 3rd edition, section 7.1 (the interval of the median)',
        where: 'Wiley',
        doi: '10.1002/0471722162',
      },
      {
        authors: 'Iglewicz, Hoaglin',
        year: '1993',
        title: 'How to Detect and Handle Outliers',
        where: 'ASQC Quality Press',
      },
      {
        authors: 'Mann',
        year: '1945',
        title: 'Nonparametric Tests Against Trend',
        where: 'Econometrica 13',
        doi: '10.2307/1907187',
      },
      {
        authors: 'Sen',
        year: '1968',
        title: 'Estimates of the Regression Coefficient Based on Kendall’s Tau',
        where: 'Journal of the American Statistical Association 63',
        doi: '10.1080/01621459.1968.10480934',
      },
    ],
    equations: [
      {
        tex: 'x_0 = \\mathrm{mix}(i + 1), \\qquad x_{k+1} = \\mathrm{serial} \\Bigl( \\mathrm{loads} \\bigl( x_k \\oplus \\bigoplus_{j=1}^{P} \\mathrm{mix}(x_k + j \\varphi) \\bigr) \\Bigr)',
        text: 'One iteration of unit i: P steps that the u threads of a unit share and combine by log₂ u exchanges, then dependent loads, then steps that all of them do. The result does not depend on the design, so it can be checked.',
      },
      {
        tex: '\\Pr \\bigl( T_{(l)} \\le m \\le T_{(r - l + 1)} \\bigr) \\ge 1 - 2 \\sum_{k=0}^{l-1} \\binom{r}{k} 2^{-r} \\ge 0.95',
        text: 'Interval of the median m of r repeats: how many of them fall below it is a toss of r coins. Six repeats are the fewest that have one.',
        number: 'David and Nagaraja, 7.1',
      },
      {
        tex: '\\lvert T_i - m \\rvert > \\max \\bigl( 3.5 \\cdot 1.4826 \\cdot \\mathrm{MAD}, \\; 0.01 \\, m \\bigr)',
        text: 'Outlier: far from the median in units of the median absolute deviation, and by 1 % or more.',
        number: 'Iglewicz and Hoaglin',
      },
      {
        tex: 'S = \\sum_{i < j} \\mathrm{sgn}(T_j - T_i)',
        text: 'Trend: beyond chance where independent repeats would give so large an S less than once in a hundred times.',
        number: 'Mann 1945',
      },
      {
        tex: '\\delta = (r - 1) \\; \\operatorname*{median}_{i < j} \\frac{T_j - T_i}{j - i} \\Big/ m',
        text: 'Drift from the first repeat to the last: reported where there is a trend and δ is 1 % or more.',
        number: 'Sen 1968',
      },
    ],
    symbols: [
      { tex: 'T_i, T_{(i)}', meaning: 'time of repeat i, and the i-th smallest of all', unit: 'ns' },
      { tex: 'm', meaning: 'median of the repeats', unit: 'ns' },
      { tex: 'r', meaning: 'repeats, without warm-ups', unit: '1' },
      { tex: 'x_k', meaning: 'state of a unit after k iterations, a 32-bit word', unit: '1' },
      { tex: '\\varphi', meaning: 'the word 9e3779b9, which spreads the steps', unit: '1' },
      { tex: 'P, u', meaning: 'parallel steps of an iteration, and threads that share a unit', unit: '1' },
      { tex: '\\mathrm{MAD}', meaning: 'median absolute deviation from the median', unit: 'ns' },
    ],
    validity: [
      'The interval covers what repeats show: a device that is slow throughout is not told from a slow design.',
      'Repeats that depend on each other, as while a clock falls, make the interval too narrow. Drift says so.',
      'The unit loop needs fewer registers than most kernels. CUDA reserves shared memory until no more blocks are resident than predicted; WebGPU cannot.',
      'A launch and its kernel are timed. Putting the units in order beforehand is not, though predictions count it.',
      'A ranking shows a time only on the row of the very device it was measured on.',
    ],
  },
  {
    id: 'agreement',
    label: 'Agreement, calibration',
    group: 'Measured',
    question: 'How far can the predictions be trusted, and what can measurements put right?',
    text: [
      'A tuner must find the fast designs; being right about milliseconds is second. So agreement is judged by order first: rank correlations, and the regret of measuring only what the model likes best. Errors of the times are stated with and without one common factor, which a wrong clock or kernel profile would explain.',
      'Regret alone flatters where all designs are alike. Beside it stands how many designs one would have to measure at random to do as well, computed exactly from the measured times.',
      'Calibration fits what the study does not know of its kernel on this device: latency and issue cost of an iteration, the softness of the knee, serial fraction, cost of cooperation, setup of a unit and overhead of a launch. What the measured designs cannot tell keeps its value and is marked so.',
    ],
    sources: [
      {
        authors: 'Spearman',
        year: '1904',
        title: 'The Proof and Measurement of Association between Two Things',
        where: 'American Journal of Psychology 15(1), 72–101',
        doi: '10.2307/1412159',
      },
      {
        authors: 'Kendall',
        year: '1945',
        title: 'The Treatment of Ties in Ranking Problems',
        where: 'Biometrika 33',
        doi: '10.1093/biomet/33.3.239',
      },
      {
        authors: 'Efron',
        year: '1979',
        title: 'Bootstrap Methods: Another Look at the Jackknife (intervals of all figures, by resampling designs)',
        where: 'Annals of Statistics 7',
        doi: '10.1214/aos/1176344552',
      },
      {
        authors: 'Kelley',
        year: '1935',
        title: 'An Unbiased Correlation Ratio Measure',
        where: 'Proceedings of the National Academy of Sciences 21',
        doi: '10.1073/pnas.21.9.554',
      },
      {
        authors: 'Huber',
        year: '1981',
        title: 'Robust Statistics',
        where: 'Wiley',
        doi: '10.1002/0471725250',
      },
    ],
    equations: [
      {
        tex: '\\rho = \\mathrm{corr} \\bigl( \\mathrm{rank}(\\hat T), \\mathrm{rank}(T) \\bigr)',
        text: 'Rank correlation: 1 is the same order.',
        number: 'Spearman 1904',
      },
      {
        tex: '\\tau_b = \\frac{C - D}{\\sqrt{(\\Pi - \\Pi_{\\hat T})(\\Pi - \\Pi_T)}}',
        text: 'Asks of pairs of designs which of the two is faster; 1 is the same order.',
        number: 'Kendall 1945',
      },
      {
        tex: '\\mathrm{regret}(k) = \\frac{\\min_{i \\in \\mathrm{first}\\,k} T_i}{\\min_i T_i} - 1',
        text: 'What is lost by measuring only the model’s first k designs. Where predictions are equal their order is open, and the mean over it is taken.',
      },
      {
        tex: '\\mathbb{E} \\bigl[ \\min \\text{ of } q \\bigr] = \\sum_{i=1}^{N-q+1} T_{(i)} \\binom{N - i}{q - 1} \\Big/ \\binom{N}{q}',
        text: 'Best of q designs drawn at random from the N measured ones. The random equivalent of k is the least q whose expected best is as good as the model’s first k.',
      },
      {
        tex: 'r_i = \\ln \\frac{T_i}{s \\, \\hat T_i}, \\qquad s = \\operatorname{median}_i \\frac{T_i}{\\hat T_i}',
        text: 'Residual of a design, after one common scale.',
      },
      {
        tex: '\\varepsilon^2 = 1 - \\frac{\\mathrm{SS}_{\\mathrm{within}} / (N - g)}{\\mathrm{SS}_{\\mathrm{all}} / (N - 1)}',
        text: 'Share of the residuals’ variance that an axis with g values explains beyond chance: where the model errs.',
        number: 'Kelley 1935',
      },
      {
        tex: 'J(\\theta) = \\sum_i \\frac{\\varrho(q_i)}{1 + (e_i / \\sigma)^2}, \\qquad q_i = \\ln \\frac{\\hat T_i(\\theta)}{T_i}',
        text: 'Calibration makes J least. Times that were measured less surely count less.',
      },
      {
        tex: '\\varrho(q) = \\begin{cases} q^2 / 2 & \\lvert q \\rvert \\le h = 1.345 \\, \\sigma \\\\ h \\, ( \\lvert q \\rvert - h / 2 ) & \\text{beyond} \\end{cases}',
        text: 'Huber’s loss: a few designs that the model cannot describe do not bend the rest.',
        number: 'Huber 1981',
      },
      {
        tex: 'J(\\theta_j \\text{ as before}) - J(\\hat\\theta) \\le \\tfrac{1}{2} \\, \\chi^2_{1;\\,0.95} \\, \\hat\\sigma^2 = 1.92 \\, \\hat\\sigma^2',
        text: 'A parameter whose standard error is too wide is held at the value it had, where that costs no more than this; else only a bound on it is known.',
      },
    ],
    symbols: [
      { tex: 'T, \\hat T', meaning: 'measured and predicted time of a design', unit: 'ms' },
      { tex: 'C, D', meaning: 'pairs of designs in the same order, and in opposite order', unit: '1' },
      { tex: '\\Pi, \\Pi_T', meaning: 'all pairs, and those tied in T', unit: '1' },
      { tex: 'N', meaning: 'measured designs', unit: '1' },
      { tex: '\\theta', meaning: 'what is fitted: c, τ, p, serial fraction, cooperation, overhead, setup', unit: '' },
      {
        tex: '\\sigma, \\hat\\sigma',
        meaning: 'deviation of the q, from their median size, and under the loss',
        unit: '1',
      },
      { tex: 'e_i', meaning: 'standard error of a measured time over it', unit: '1' },
      { tex: 'g', meaning: 'values of an axis', unit: '1' },
    ],
    validity: [
      'Latency and issue cost scale all times together. They are told apart only by designs with few and with many active thread groups; among saturated ones latency stays as it was.',
      'The softness of the knee shows only near the knee.',
      'With one number of threads per unit nothing is said of sharing; with two, serial fraction and cooperation cost cannot be told apart, and only the first is fitted.',
      'The overhead of a launch shows in the shortest launches, the setup of a unit where units are short.',
      'Schedulers are taken from the device and never fitted. Divergent branches come from the divergent-loops suite, shared bandwidth from the contention suite.',
      'The error to trust is that on designs a fit had not seen. The error on its own designs is always flattering.',
      'Figures are of the designs that were measured. Those a model ranks first are alike, and correlations among them are low even where it is right: measure a spread to judge the model, the first ones to find the best.',
    ],
  },
] as const satisfies readonly ModelPage[];

export type ModelPageId = (typeof MODEL_PAGES)[number]['id'];
