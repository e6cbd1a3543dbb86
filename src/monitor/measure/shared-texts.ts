/** A generation ends when this many texts are in it. */
const generationSize = 100_000;

/**
 * Gives one copy of equal strings, so that what many objects have is in memory once. What was not asked for lately is
 * forgotten: names of the past do not pile up.
 */
export function createSharedTexts(): (text: string) => string {
  let young = new Map<string, string>();
  let old = new Map<string, string>();
  return (text) => {
    const known = young.get(text);
    if (known !== undefined) return known;
    const shared = old.get(text) ?? text;
    if (young.size >= generationSize) {
      old = young;
      young = new Map();
    }
    young.set(shared, shared);
    return shared;
  };
}
