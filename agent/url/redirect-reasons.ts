// The words by which the reason of a robots.txt names the URL that it leads to, where that is another
// host's file. They are stored with the answer and told to other agents, and they are read again: by
// the visits, to which such a file is no failure of the host itself, and by `explain`. Written here
// alone, where everybody may know them.

/** Stands before the URL; no error code has a blank. */
export const REDIRECTED = 'redirected to ';
/** Stands behind it while the rules are not known yet. */
export const OWNER_IS_ASKED = ', whose owner is asked';
