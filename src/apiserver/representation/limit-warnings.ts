const maxTotal = 4 * 1_024;
const maxItem = 256;

/**
 * Warnings go into headers, and clients give up on an answer whose headers are too long. Each is said once; when all
 * of them together are too long, each is cut, and those that still do not fit are left out, as upstream does.
 */
export function limitWarnings(warnings: readonly string[]): readonly string[] {
  const distinct = [...new Set(warnings)].filter(Boolean);
  if (distinct.reduce((sum, { length }) => sum + length, 0) <= maxTotal) return distinct;
  const kept: string[] = [];
  let written = 0;
  for (const warning of distinct) {
    if (written >= maxTotal) break;
    const cut = warning.slice(0, maxItem);
    kept.push(cut);
    written += cut.length;
  }
  return kept;
}
