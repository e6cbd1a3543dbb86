/** One word of a command line for a POSIX shell, whatever is in it. */
export function quoteShell(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}
