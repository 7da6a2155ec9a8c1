// Prepares the command line for commander. SQL may begin with a comment, `-- …`, which looks like
// an option. Such a statement is moved to the end, behind the `--` that ends all options.

/** @param argv - `process.argv`: two entries for the program, then the command and its arguments */
export function wordsOf(argv: readonly string[]): string[] {
  const [command] = argv.slice(2);
  if (command !== 'query' || argv.includes('--')) return [...argv];
  // A comment before a statement contains white space; the name of an option does not.
  const at = argv.findIndex((arg, k) => k > 2 && /^--[^=]*\s/.test(arg));
  if (at < 0 || argv[at - 1] === '--data') return [...argv];
  return [...argv.slice(0, at), ...argv.slice(at + 1), '--', argv[at]!];
}
