// What is published about UbiCrawler, as the last column of the tables of `paper.ts`: the summary of
// the paper, its result without faults, and what this project's design says of its holes. The
// paper's other figures were measured on the Web of 2002 and are not repeated from memory.

/** Boldi, Codenotti, Santini, Vigna, Software: Practice and Experience 34 (2004), 711-726. */
export const source = 'UbiCrawler (Boldi et al., SPE 34, 2004)';

export const claims = {
  /** The paper, evaluation. */
  noFaults: 'coverage 1, overlap 0',
  /** The paper, summary; and the frontier of an agent that crashed is lost. */
  crash: 'graceful degradation; frontier lost',
  /** Page recovery asks the next agents before a page is fetched again, but nothing is leased. */
  suspicion: 'politeness may break',
  /** The paper, summary: linear scalability. */
  speed: 'constant (linear scalability)',
} as const;
