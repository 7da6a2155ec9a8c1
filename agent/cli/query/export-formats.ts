// The formats of `ubiring export`. They are in a file of their own because the command line needs
// them at every start and loads the code of `export` only when it runs.

/** The first is the default. */
export const exportFormats = ['jsonl', 'urls', 'graph'] as const;
export type ExportFormat = (typeof exportFormats)[number];
