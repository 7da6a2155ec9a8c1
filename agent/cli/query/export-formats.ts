// The formats of `ubiring export`, apart from its code, which the command line loads only when it is
// called for.

/** The first is the default. */
export const exportFormats = ['jsonl', 'urls', 'graph'] as const;
export type ExportFormat = (typeof exportFormats)[number];
