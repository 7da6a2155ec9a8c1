// A command line as commander is to read it. SQL may begin with a comment, `-- …`, which looks like
// an option and is none: such a statement goes to the end, behind the `--` that ends all options.

/** @param argv - as node gives it: two words for the program, then the command and its words */
export function wordsOf(argv: readonly string[]): string[] {
  const [command] = argv.slice(2);
  if (command !== 'query' || argv.includes('--')) return [...argv];
  // No option of ours has white space in its name, and every comment before a statement has.
  const at = argv.findIndex((word, k) => k > 2 && /^--[^=]*\s/.test(word));
  if (at < 0 || argv[at - 1] === '--data') return [...argv];
  return [...argv.slice(0, at), ...argv.slice(at + 1), '--', argv[at]!];
}
