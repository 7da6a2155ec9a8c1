// Texts in the stored reason of a robots.txt that redirects to a file of another host. The reason
// is sent to other agents, and code reads it again: such a redirect is not a failure of the host
// itself, and `explain` shows the target.

/** Precedes the URL. No error code contains a space. */
export const REDIRECTED = 'redirected to ';
/** Follows the URL while the rules are not yet known. */
export const OWNER_IS_ASKED = ', whose owner is asked';
