/** What stands for every value beyond the limit. */
export const otherValue = "other";

/** Annotations can be long; nobody reads more of one in a table of series. */
const longestValue = 128;

/**
 * Lets the first `limit` different values of a label through and folds all later ones into `other`: what pods' authors
 * write freely must not decide how many series there are.
 */
export interface BoundedValues {
  admit(value: string): string;
}

export function createBoundedValues(limit: number): BoundedValues {
  const shown = new Map<string, string>();
  return {
    admit(value) {
      const known = shown.get(value);
      if (known !== undefined) return known;
      if (shown.size >= limit) return otherValue;
      const text = presentable(value);
      shown.set(value, text);
      return text;
    },
  };
}

/** No longer than can be read, and without halves of characters: a scraper refuses the whole page for one. */
export function presentable(value: string): string {
  return Buffer.from(value.slice(0, longestValue)).toString();
}
