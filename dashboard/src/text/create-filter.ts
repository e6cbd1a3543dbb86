/** Creates a predicate for texts that contain every word of the filter: `shop web` matches `shop/web-0`. */
export function createFilter(filter: string): (text: string) => boolean {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  return (text) => {
    if (words.length === 0) return true;
    const lower = text.toLowerCase();
    return words.every((word) => lower.includes(word));
  };
}
