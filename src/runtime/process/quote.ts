/** A word as a shell takes it, whatever is in it. */
export function quote(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}
