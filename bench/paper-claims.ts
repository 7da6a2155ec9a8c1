// The claims in the last column of the tables of `paper.ts`: from the summary of the paper, its
// result without faults, and known weaknesses of UbiCrawler. Figures that the paper measured on the
// Web of 2002 are left out.

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
